-- These items are in a file now: put its name in their place. What came behind them meanwhile goes behind the file.
--
-- ARGV: queue; segment; how many items; the first and the last of them.
-- Answers 1, or 0 when they do not stand together as they did: then nothing is changed, and the file is worth nothing.
-- The middle of a list never changes, so that the first and the last at their distance are proof of all between.

local name, segment, items, first, last = take(), take(), tonumber(take()), take(), take()
local head, files, tail = base .. 'q:' .. name, base .. 'f:' .. name, base .. 't:' .. name
local is_behind_files = call('EXISTS', files) == 1
local list = is_behind_files and tail or head
local at = call('LPOS', list, first)
if not at or call('LINDEX', list, at + items - 1) ~= last then return 0 end
if is_behind_files and at > 0 then return 0 end

call('RPUSH', files, segment)
if is_behind_files then
  call('LTRIM', tail, items, -1)
else
  for _, item in ipairs(call('LRANGE', head, at + items, -1)) do call('RPUSH', tail, item) end
  if at > 0 then call('LTRIM', head, 0, at - 1) else call('DEL', head) end
end
if call('LLEN', tail) > HEAD then call('SADD', base .. 'l', name) end
return 1
