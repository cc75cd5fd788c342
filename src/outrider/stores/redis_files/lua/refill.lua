-- Back from files: these items come next in the queue, and so much of its segments has been read.
--
-- ARGV: queue; the segment that must still be the first; how many segments are read to their end; what is left of the one
-- after them, or ''; items.
-- Answers 0 when somebody else was here before: then nothing is changed; 1; or 2 when no segment is left.

local name, first, finished, rest = take(), take(), tonumber(take()), take()
local head, files, tail = base .. 'q:' .. name, base .. 'f:' .. name, base .. 't:' .. name
if call('LINDEX', files, 0) ~= first then return 0 end

-- Taking away comes first: a script that began so may end on a full server too, and what it adds is soon visited.
for _ = 1, finished do call('LPOP', files) end
if rest ~= '' then
  call('LPOP', files)
  call('LPUSH', files, rest)
end
local item = take()
while item do
  call('RPUSH', head, item)
  item = take()
end
if call('EXISTS', files) == 1 then return 1 end

for _, later in ipairs(call('LRANGE', tail, 0, -1)) do call('RPUSH', head, later) end
call('DEL', tail)
if call('LLEN', head) > 2 * HEAD then call('SADD', base .. 'l', name) end
return 2
