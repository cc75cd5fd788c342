-- Which queues are too long, and what of them belongs in a file? Takes the hints away; they come again with the next task.
--
-- ARGV: how many queues at most; how many items of each. Answers for each: {queue, item, ...}.

local queues, most = tonumber(take()), tonumber(take())
local answer = {}
for _, name in ipairs(call('SPOP', base .. 'l', queues)) do
  local list, from = base .. 'q:' .. name, HEAD
  if call('EXISTS', base .. 'f:' .. name) == 1 then list, from = base .. 't:' .. name, 0 end
  local found = call('LRANGE', list, from, from + most - 1)
  table.insert(found, 1, name)
  answer[#answer + 1] = found
end
return answer
