-- Which queues of these sites must be filled from files before so many tasks can be shown? Changes nothing.
--
-- ARGV: tasks; names of sites. Answers for each such queue: {queue, how many items it wants, segment, ...}.
-- A segment is "file offset items", of what has not been read yet.

local tasks = tonumber(take())
local least, enough = math.max(tasks, math.floor(HEAD / 2)), math.max(tasks, HEAD)
local answer = {}

local function look(name)
  local length, files = call('LLEN', base .. 'q:' .. name), base .. 'f:' .. name
  if length >= least or call('EXISTS', files) == 0 then return end
  local wants, got, at = enough - length, 0, 0
  local found = {name, wants}
  while got < wants do
    local segment = call('LINDEX', files, at)
    if not segment then break end
    at = at + 1
    found[#found + 1] = segment
    got = got + tonumber(string.match(segment, '%d+$'))
  end
  answer[#answer + 1] = found
end

local site = take()
while site do
  local s = load(site)
  if s and s[PENDING] > 0 then
    for i = PRIORITIES, #s do look(s[i] .. ':' .. site) end
  end
  site = take()
end
return answer
