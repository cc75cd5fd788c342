-- Propose tasks to their sites. Answers one digit a task: 1 new, 0 known, 2 over the quota of its site, 3 known by a
-- claim that may be taken back.
--
-- ARGV: are strays checked (0, 1); quota or ''; interval and burst of a new site;
--       then for each site: its name; the front of the line of a task over quota; how many tasks;
--         a task: identity hash, place ("priority" or "priority due"), tail;
--       then '' and for each URL that admission refused: identity hash, counter.
-- Answers -1 when there are strays that the caller did not look for.

local checked, quota, interval, burst = take(), tonumber(take()), take(), take()
if checked == '0' and call('HEXISTS', KEYS[1], 'strays') == 1 then return -1 end

local known = names('k')
local has_claims = call('EXISTS', base .. 'p') == 1
local answers = {}

local function place_of(place)
  local priority = tonumber(place)
  if priority then return priority, 0 end
  local blank = string.find(place, ' ', 1, true)
  return tonumber(string.sub(place, 1, blank - 1)), tonumber(string.sub(place, blank + 1))
end

local site = take()
while site ~= '' do
  local line, tasks = take(), tonumber(take())
  local s
  for _ = 1, tasks do
    local hash, place, tail = take(), take(), take()
    local answer = '0'
    if learn(known, hash) then
      s = s or load_or_make(site, interval, burst)
      local priority, due = place_of(place)
      if quota and s[ADMITTED] >= quota then
        keep_line(hash, line .. struct.pack('>dd', priority, due) .. cmsgpack.pack(0) .. tail)
        count('s:site_quota', 1)
        answer = '2'
      else
        s[ADMITTED] = s[ADMITTED] + 1
        owe(site, s, priority, due, next_sequence(s) .. tail)
        answer = '1'
      end
    elseif has_claims and call('SISMEMBER', base .. 'p', hash) == 1 then
      answer = '3'
    end
    answers[#answers + 1] = answer
  end
  if s then save(site, s) end
  site = take()
end

local hash = take()
while hash do
  local counter = take()
  if learn(known, hash) then count(counter, 1) end
  hash = take()
end

write_counts()
return table.concat(answers)
