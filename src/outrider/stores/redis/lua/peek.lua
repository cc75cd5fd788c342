-- Whose turn is it here? Changes nothing.
--
-- ARGV: now or ''; how many sites at most.
-- Answers: now; when the first site of the bucket is ready or ''; then for each ready site: name, since when, and, when
-- a lease on it ran out: {numbers, details or '', robots or '', shown priority, due, item, ...}, otherwise {}.

local now, most = moment(take()), take()
local answer = {exact(now), head_of_ready()}
local ready = call('ZRANGEBYSCORE', base .. 'r', '-inf', exact(now), 'WITHSCORES', 'LIMIT', 0, most)
for i = 1, #ready, 2 do
  local site = ready[i]
  local packed = call('HGET', base .. 's', site)
  local s = cmsgpack.unpack(packed)
  local expired = {}
  if s[DEADLINE] ~= 0 then
    expired = {packed, call('HGET', base .. 'd', site) or '', call('HGET', base .. 'o', site) or ''}
    for _, value in ipairs(shown(site)) do
      expired[#expired + 1] = type(value) == 'number' and exact(value) or value
    end
  end
  answer[#answer + 1] = {site, ready[i + 1], expired}
end
return answer
