-- Add to the end. ARGV: how long the queue may be, or '' for any length; the entries. Answers how many were added.

local last = #ARGV
if ARGV[1] ~= '' then
  last = math.min(last, 1 + tonumber(ARGV[1]) - size())
end
append(queue, ARGV, 2, last)
return math.max(last - 1, 0)
