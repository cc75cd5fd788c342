-- Owe ended tasks a visit again.
--
-- ARGV: interval and burst of a new site; then for each
--   a set-aside site: S site details
--   a line:           L site hash counter priority due tail
--   the same, of a page that has its name from another site of the bucket, where a pointer is left: P ...
-- Answers how many tasks are owed again; a site or a line that somebody else has revived meanwhile counts nothing.

local interval, burst = take(), take()
local revived = 0
local kind = take()
while kind do
  local site = take()
  local s = load_or_make(site, interval, burst)
  if kind == 'S' then
    local details = take()
    if is_aside(s) then
      set_aside(site, s, false)
      write_details(site, details, '')
      revived = revived + s[PENDING] + s[WAITING]
    end
  else
    local hash, counter, priority, due, tail = take(), take(), tonumber(take()), tonumber(take()), take()
    if call('HDEL', base .. 'e', hash) == 1 then
      count(counter, -1)
      owe(site, s, priority, due, next_sequence(s) .. tail)
      if kind == 'P' then call('HSET', base .. 'e', hash, '\255@' .. site) end
      revived = revived + 1
    end
  end
  save(site, s)
  kind = take()
end

write_counts()
return revived
