-- Which identity hashes are known? Changes nothing.
--
-- ARGV: family: k for URLs of this bucket's sites, x for strays; then hashes. Answers one digit each.

local known = names(take())
local answers = {}
local hash = take()
while hash do
  answers[#answers + 1] = knows(known, hash) and '1' or '0'
  hash = take()
end
return table.concat(answers)
