-- Take names of this bucket for pages whose queue is in another one; or let go of them, when their lease was lost.
-- A name that is taken counts as fetched here; `settle` takes that back when the page is owed on.
--
-- Until its account was written, a name may be let go again, and nobody may rely on its being known (see `add`).
--
-- ARGV, for each name: sign; identity hash; the site whose queue holds the page, or ''. The signs:
--   + taken for good, ? taken for an account that is still to be written, = that was written, - that was refused.
-- Answers one digit a name: 1 it was free, 0 it was known.

local known = names('k')
local answers = {}
local sign = take()
while sign do
  local hash, holder = take(), take()
  local is_free = false
  if sign == '=' then
    keep_claim(known, hash)
  elseif sign == '-' then
    drop_claim(known, hash)
    count('fetched', -1)
    call('HDEL', base .. 'e', hash)
  else
    if sign == '+' then is_free = learn(known, hash) else is_free = claim(known, hash) end
    if is_free then count('fetched', 1) end
    if is_free and holder ~= '' then call('HSET', base .. 'e', hash, '\255@' .. holder) end
  end
  answers[#answers + 1] = is_free and '1' or '0'
  sign = take()
end

write_counts()
return table.concat(answers)
