-- Lend a batch: one that ran out, whole, before new entries. ARGV: now, or '' for the server's clock; seconds; how many
-- at most; the id of this lending. Answers its entries.

local now = moment(ARGV[1])
local seconds, most, id = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local batch = lent .. ':' .. id

local overdue = call('ZRANGEBYSCORE', lent, '-inf', now, 'LIMIT', 0, 1)[1]
while overdue do
  call('ZREM', lent, overdue)
  -- Nothing is there when somebody deleted the batch by hand.
  if call('EXISTS', lent .. ':' .. overdue) == 1 then
    call('RENAME', lent .. ':' .. overdue, batch)
    call('ZADD', lent, now + seconds, id)
    return call('LRANGE', batch, 0, -1)
  end
  overdue = call('ZRANGEBYSCORE', lent, '-inf', now, 'LIMIT', 0, 1)[1]
end

local entries = call('LPOP', queue, most) or {}
if #entries > 0 then
  append(batch, entries, 1, #entries)
  call('ZADD', lent, now + seconds, id)
end
return entries
