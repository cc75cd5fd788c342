-- Back from files: these items come next in the queue, and so much of its segments has been read.
--
-- ARGV: queue; how many segments were read, and which: they must still be the first; what is left of the last one, or '';
-- items.
-- Answers 0 when somebody else was here before: then nothing is changed; 1; or 2 when no segment is left.

local name, read = take(), tonumber(take())
local head, files = base .. 'q:' .. name, base .. 'f:' .. name
for i = 1, read do
  if call('LINDEX', files, i - 1) ~= take() then return 0 end
end
local rest = take()

-- Taking away comes first: a script that began so may end on a full server too, and what it adds is soon visited.
for _ = 1, read do call('LPOP', files) end
if rest ~= '' then call('LPUSH', files, rest) end
local item = take()
while item do
  call('RPUSH', head, item)
  item = take()
end
return join_tail(name) and 2 or 1
