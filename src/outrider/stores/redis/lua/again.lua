-- Owe URLs a visit again that are known and not owed. There is no index of what is owed: the queue of each site is
-- looked through, once for all its URLs.
--
-- ARGV: is everything meant that has ended (1), or only what was fetched (0); how many tasks a site may owe, since
--       more are not looked through; how many may be looked through in one call; names of the query's fields that do
--       not tell URLs apart, with blanks between them, and whether their order does (1) or not (0);
--       interval and burst of a new site;
--       then for each site: its name; its details, when it may come back to life, or ''; how many files were looked
--         through, their names; how many URLs;
--         a URL: identity hash, marks, text, priority, due, tail.
-- Marks are what the caller found out elsewhere: x it is a stray, p its pointer leads nowhere, f it is owed in a file.
--
-- Answers for each site {one digit a URL, ...}: 1 owed now, 0 left alone, 3 another site's queue has or had it: look there.
-- Or, where nothing was written, the same digit for every URL:
--   2 the site is set aside: its numbers and details follow
--   4 files are to be looked through first: queue, segment, ...
--   5 enough for one call: ask again

local has_ended, most_owed, most_looked = take() == '1', tonumber(take()), tonumber(take())
take_spelling()
local interval, burst = take(), take()

local function is_marked_as(task, mark)
  return string.find(task.marks, mark, 1, true)
end

local looked = 0

-- Which of the wanted (key -> place) does the site owe? Places.
local function owed_among(wanted, site, s)
  local owed = {}
  local place_of = searched_for(wanted, site)
  local function look(item)
    local place = place_of(item)
    if place then owed[place] = true end
  end
  local held = shown(site)
  for i = 3, #held, 3 do look(held[i]) end
  for i = PRIORITIES, #s do
    local name = s[i] .. ':' .. site
    for _, item in ipairs(call('LRANGE', base .. 'q:' .. name, 0, -1)) do look(item) end
    for _, item in ipairs(call('ZRANGE', base .. 'w:' .. name, 0, -1)) do look(item) end
    if HEAD then
      for _, item in ipairs(call('LRANGE', base .. 't:' .. name, 0, -1)) do look(item) end
    end
  end
  return owed
end

local function files_to_look_through(site, s, known_files)
  local found = {}
  for i = PRIORITIES, HEAD and #s or 0 do
    local name = s[i] .. ':' .. site
    for _, segment in ipairs(call('LRANGE', base .. 'f:' .. name, 0, -1)) do
      if not known_files[string.match(segment, '^%S+')] then
        found[#found + 1], found[#found + 2] = name, segment
      end
    end
  end
  return found
end

-- Of a URL that is known by its hash only nobody can tell how it ended: as fetched if any was, else as an alias, else
-- as one that admission refused.

local counted = call('HMGET', KEYS[1], 'fetched', 'alias')
local left = {fetched = tonumber(counted[1] or 0), alias = tonumber(counted[2] or 0)}

local function largest_refusal()
  local largest, most = 'fetched', 0
  local all = call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do
    local name = all[i]
    local is_refusal = string.sub(name, 1, 2) == 's:' and name ~= 's:site_unreachable' and name ~= 's:site_quota'
    local n = is_refusal and tonumber(all[i + 1]) + (changes[name] or 0) or 0
    if n > most then largest, most = name, n end
  end
  return largest
end

local function uncount(task)
  local line = task.line
  if line then
    local front = cmsgpack.unpack(string.sub(line, 11, 10 + struct.unpack('>H', line, 9)))
    count((front[1] == 'skipped' and 's' or 'd') .. (front[2] and ':' .. front[2] or ''), -1)
    return
  end
  local counter = 'fetched'
  local is_sure = is_marked_as(task, 'x') or is_marked_as(task, 'p')
  if not is_sure and left.fetched <= 0 then
    counter = left.alias > 0 and 'alias' or largest_refusal()
  end
  if left[counter] then left[counter] = left[counter] - 1 end
  count(counter, -1)
end

local known = names('k')

-- 1: it is known, and has ended unless it is in the queue. `line` is what there is to tell of it.
local function standing(task)
  local is_stray = is_marked_as(task, 'x')
  if not is_stray and not knows(known, task.hash) then return '0' end
  if call('SISMEMBER', base .. 'p', task.hash) == 1 then return '0' end
  local line = call('HGET', base .. 'e', task.hash)
  if line and string.sub(line, 1, 2) == '\255@' then
    if not is_marked_as(task, 'p') then return '3' end
  elseif line then
    if not has_ended then return '0' end
    task.line = line
  elseif not has_ended and not is_stray and left.fetched <= 0 then
    return '0'
  end
  return '1'
end

local function same(digit, tasks, extras)
  table.insert(extras, 1, string.rep(digit, #tasks))
  return extras
end

local function again(site, details, known_files, tasks)
  local digits, wanted = {}, {}
  for place, task in ipairs(tasks) do
    digits[place] = standing(task)
    if digits[place] == '1' then wanted[key_of(task.text)] = place end
  end
  if not next(wanted) then return {table.concat(digits)} end
  local s = load(site)
  local owed, is_coming_back = {}, false
  if s then
    local queued = s[PENDING] + s[WAITING]
    if queued > most_owed then return same('0', tasks, {}) end
    if has_ended and is_aside(s) then
      if details == '' then return same('2', tasks, {cmsgpack.pack(s), call('HGET', base .. 'd', site) or ''}) end
      is_coming_back = true
    end
    local files = files_to_look_through(site, s, known_files)
    if #files > 0 then return same('4', tasks, files) end
    if looked > 0 and looked + queued > most_looked then return same('5', tasks, {}) end
    looked = looked + queued
    owed = owed_among(wanted, site, s)
  else
    s = load_or_make(site, interval, burst)
  end
  if is_coming_back then
    set_aside(site, s, false)
    write_details(site, details, '')
  end
  for place, task in ipairs(tasks) do
    if digits[place] == '1' then
      if owed[place] or is_marked_as(task, 'f') then
        -- With a site that was set aside all that it owes comes back.
        digits[place] = is_coming_back and '1' or '0'
      else
        uncount(task)
        call('HDEL', base .. 'e', task.hash)
        owe(site, s, tonumber(task.priority), tonumber(task.due), next_sequence(s) .. task.tail)
      end
    end
  end
  save(site, s)
  return {table.concat(digits)}
end

local function take_tasks(n)
  local tasks = {}
  for i = 1, n do
    local hash, marks, text, priority, due, tail = take(), take(), take(), take(), take(), take()
    tasks[i] = {hash = hash, marks = marks, text = text, priority = priority, due = due, tail = tail}
  end
  return tasks
end

local answer = {}
local site = take()
while site do
  local details, known_files = take(), {}
  for _ = 1, tonumber(take()) do known_files[take()] = true end
  answer[#answer + 1] = again(site, details, known_files, take_tasks(tonumber(take())))
  site = take()
end

write_counts()
return answer
