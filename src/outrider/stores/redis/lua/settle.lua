-- Write what was learned under a lease, or what its running out means.
--
-- ARGV, for each account: site; token; deadline that must still stand or ''; not_before; full_at; interval and burst
-- or ''; aside (0, 1) or ''; keep (0, 1); details; robots or ''; how many ends; an end is one of
--   e sequence counter name               ended without a line; under the new name, if that is free
--   l sequence counter hash line          ended with a line
--   o sequence priority due item name item_by_that_name      owed on, in the same way
--   r sequence item                       still shown, with other counts
-- A name is an identity hash of this bucket, '' for none, '!' for one that was claimed in another bucket.
-- Answers one digit an account: 1 written, 0 refused.

local known = names('k')
local LENGTH = {e = 4, l = 5, o = 7, r = 3}

local function take_ends(n)
  local ends = {}
  for i = 1, n do
    local kind = take()
    local step = {kind}
    for j = 2, LENGTH[kind] do step[j] = take() end
    ends[i] = step
  end
  return ends
end

local function sequence_of(item)
  local _, sequence = cmsgpack.unpack_one(item)
  return sequence
end

-- True when the page goes on under its new name: the asked one stays behind as an alias.
local function is_renamed(name)
  if name == '!' then
    count('alias', 1)
    count('fetched', -1)
    return true
  end
  if name == '' or not learn(known, name) then return false end
  count('alias', 1)
  return true
end

local function finish(site, s, step, due)
  count_owed(s, due, -1)
  if step[1] == 'e' then
    is_renamed(step[4])
    count(step[3], 1)
  elseif step[1] == 'l' then
    keep_line(step[4], step[5])
    count(step[3], 1)
  else
    owe(site, s, tonumber(step[3]), tonumber(step[4]), is_renamed(step[6]) and step[7] or step[5])
  end
end

local function settle_tasks(site, s, tasks, ends)
  local by_sequence = {}
  for i = 1, #tasks, 3 do by_sequence[sequence_of(tasks[i + 2])] = i end
  for _, step in ipairs(ends) do
    local i = by_sequence[tonumber(step[2])]
    if i and step[1] == 'r' then
      tasks[i + 2] = step[3]
    elseif i then
      by_sequence[tonumber(step[2])] = nil
      finish(site, s, step, tasks[i + 1])
      tasks[i] = false
    end
  end
  local left = {}
  for i = 1, #tasks, 3 do
    if tasks[i] then
      left[#left + 1], left[#left + 2], left[#left + 3] = tasks[i], tasks[i + 1], tasks[i + 2]
    end
  end
  return left
end

local answers = {}
local site = take()
while site do
  local token, guard = tonumber(take()), take()
  local not_before, full_at, interval, burst = tonumber(take()), tonumber(take()), take(), take()
  local aside, keep, details, robots = take(), take() == '1', take(), take()
  local ends = take_ends(tonumber(take()))
  local s = load(site)
  local is_held = s and s[DEADLINE] ~= 0 and s[TOKEN] == token
  if is_held and (guard == '' or s[DEADLINE] == tonumber(guard)) then
    local left = settle_tasks(site, s, shown(site), ends)
    s[NOT_BEFORE] = math.max(s[NOT_BEFORE], not_before)
    s[FULL_AT] = math.max(s[FULL_AT], full_at)
    if interval ~= '' then
      s[INTERVAL], s[BURST] = tonumber(interval), tonumber(burst)
      set_aside(site, s, aside == '1')
      write_details(site, details, robots)
    end
    if keep and not is_aside(s) then
      call('SET', base .. 'h:' .. site, cmsgpack.pack(left))
    else
      give_back(site, s, left)
    end
    save(site, s)
    answers[#answers + 1] = '1'
  else
    if guard == '' then count('stale', 1) end
    answers[#answers + 1] = '0'
  end
  site = take()
end

write_counts()
return table.concat(answers)
