-- Hold sites longer, or give them back unvisited: their reserved slot stays spent.
--
-- ARGV: now or ''; seconds, or '' to give back; then for each lease: site, token.
-- Answers: the new deadline or ''; one digit a lease: 1 held, 0 lost.

local now, seconds = moment(take()), tonumber(take())
local answers = {}
local site = take()
while site do
  local token = tonumber(take())
  local s = load(site)
  local is_held = s and s[DEADLINE] ~= 0 and s[TOKEN] == token
  if is_held then
    if seconds then
      s[DEADLINE] = now + seconds
    else
      give_back(site, s, shown(site))
    end
    save(site, s)
  end
  answers[#answers + 1] = is_held and '1' or '0'
  site = take()
end

write_counts()
return {seconds and exact(now + seconds) or '', table.concat(answers)}
