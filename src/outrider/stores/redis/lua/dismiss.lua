-- End what is owed, or could be revived, as skipped and for good. There is no index of what is owed: the queue of each
-- site is looked through until all its URLs have been found.
--
-- ARGV: how many tasks may be looked through in one call; the spelling of URLs (see `urls.lua`); what the ledger is to say;
--       then for each site: its name; how many segments of its queues were looked through;
--         a segment: queue, segment, what takes its place or '', how many of the URLs it holds: identity hash, item, ...;
--         how many URLs;
--         a URL: identity hash, marks, text, reason.
-- Marks are what the caller found out elsewhere: x it is a stray, h its name is another site's.
--
-- Answers for each site {one digit a URL, the sites where those with a 3 are to be looked for, the segments that were
-- replaced}: 1 ended now, 0 left alone, 3 another site's queue has or had it.
-- Or, where nothing was written, the same digit for every URL:
--   4 segments are to be looked through first: queue, segment, ...
--   5 enough for one call: ask again

local most_looked = tonumber(take())
take_spelling()
local detail = take()
local CHUNK = 500
local known = names('k')
local looked = 0

local function is_marked_as(task, mark)
  return string.find(task.marks, mark, 1, true)
end

local function front_of(line)
  return cmsgpack.unpack(string.sub(line, 11, 10 + struct.unpack('>H', line, 9)))
end

-- As `packing.py` has it, with the mark that it is for good. Written by hand, since a table has no place for nothing.
local function write_line(task, site, status, visits, rest)
  local pack = cmsgpack.pack
  local front = string.char(0x97) .. pack('skipped') .. pack(task.reason) .. pack(detail)
    .. (status and pack(status) or '\192') .. pack(visits) .. pack(site) .. pack(true)
  keep_line(task.hash, struct.pack('>H', #front) .. front .. rest)
  count('s:' .. task.reason, 1)
end

-- 1: it has a line that could be revived. q: unless it is in the queue, there is nothing to do.
local function standing(task)
  if not (is_marked_as(task, 'x') or is_marked_as(task, 'h') or knows(known, task.hash)) then return '0' end
  local line = call('HGET', base .. 'e', task.hash)
  if not line then return 'q' end
  if string.sub(line, 1, 2) == '\255@' then
    if is_marked_as(task, 'h') then return 'q' end
    task.holder = string.sub(line, 3)
    return '3'
  end
  task.line, task.front = line, front_of(line)
  return task.front[7] and '0' or '1'
end

-- Where in the queue are they? Of the wanted (key -> place) those that were found, by place, and how many are left.
local function search(wanted, left, site, s)
  local found = {}
  local place_of = searched_for(wanted, site)
  local function look(item, spot)
    local place = place_of(item)
    if place and not found[place] then
      spot.item = item
      found[place] = spot
      left = left - 1
    end
  end
  local function look_through(list, priority)
    local from = 0
    while left > 0 do
      local items = call('LRANGE', list, from, from + CHUNK - 1)
      for i, item in ipairs(items) do
        if place_of(item) then look(item, {list = list, at = from + i - 1, priority = priority, due = 0}) end
      end
      looked = looked + #items
      if #items < CHUNK then return end
      from = from + CHUNK
    end
  end
  local held = shown(site)
  for i = 1, #held, 3 do look(held[i + 2], {held = i, priority = held[i], due = held[i + 1]}) end
  for i = PRIORITIES, #s do
    local priority, name = s[i], s[i] .. ':' .. site
    look_through(base .. 'q:' .. name, priority)
    if HEAD then look_through(base .. 't:' .. name, priority) end
    local later = left > 0 and call('ZRANGE', base .. 'w:' .. name, 0, -1, 'WITHSCORES') or {}
    for j = 1, #later, 2 do
      look(later[j], {later = base .. 'w:' .. name, priority = priority, due = tonumber(later[j + 1])})
    end
    looked = looked + #later / 2
  end
  return found, left
end

local function take_from_lists(spots)
  local lists = {}
  for _, spot in pairs(spots) do
    if spot.list then
      -- No item is empty: what is, is taken out afterwards, all at once.
      call('LSET', spot.list, spot.at, '')
      lists[spot.list] = true
    elseif spot.later then
      call('ZREM', spot.later, spot.item)
    end
  end
  for list in pairs(lists) do call('LREM', list, 0, '') end
end

local function take_from_shown(site, spots)
  local gone = {}
  for _, spot in pairs(spots) do
    if spot.held then gone[spot.held] = true end
  end
  if not next(gone) then return end
  local held, left = shown(site), {}
  for i = 1, #held, 3 do
    if not gone[i] then
      left[#left + 1], left[#left + 2], left[#left + 3] = held[i], held[i + 1], held[i + 2]
    end
  end
  call('SET', base .. 'h:' .. site, cmsgpack.pack(left))
end

-- What can be taken out of segments: only where all that a segment would lose is still looked for, and it still stands.
local function search_files(segments, missing, found)
  local replaced, left = {}, 0
  for place in pairs(missing) do left = left + 1 end
  for _, segment in ipairs(segments) do
    local is_whole = next(segment.lost) ~= nil
    for hash in pairs(segment.lost) do
      is_whole = is_whole and missing[hash] ~= nil
    end
    if is_whole and call('LPOS', base .. 'f:' .. segment.queue, segment.text) then
      replaced[#replaced + 1] = segment
      for hash, item in pairs(segment.lost) do
        local priority = tonumber(string.match(segment.queue, '^(%-?%d+):'))
        found[missing[hash]] = {item = item, priority = priority, due = 0}
        missing[hash] = nil
        left = left - 1
      end
    end
  end
  return replaced, left
end

local function unknown_segments(segments, site, s)
  local seen, found = {}, {}
  for _, segment in ipairs(segments) do seen[segment.queue .. ' ' .. segment.text] = true end
  for i = PRIORITIES, HEAD and #s or 0 do
    local name = s[i] .. ':' .. site
    for _, text in ipairs(call('LRANGE', base .. 'f:' .. name, 0, -1)) do
      if not seen[name .. ' ' .. text] then found[#found + 1], found[#found + 2] = name, text end
    end
  end
  return found
end

local function replace_segments(replaced)
  for _, segment in ipairs(replaced) do
    local files = base .. 'f:' .. segment.queue
    if segment.new ~= '' then
      call('LSET', files, call('LPOS', files, segment.text), segment.new)
    else
      call('LREM', files, 1, segment.text)
      join_tail(segment.queue)
    end
  end
end

local function same(digit, tasks, extras)
  table.insert(extras, 1, string.rep(digit, #tasks))
  return extras
end

local function dismiss(site, segments, tasks)
  local digits, wanted, hashes, left = {}, {}, {}, 0
  for place, task in ipairs(tasks) do
    digits[place] = standing(task)
    if digits[place] == 'q' then
      wanted[key_of(task.text)], hashes[place], left = place, task.hash, left + 1
      digits[place] = '0'
    end
  end
  local s, found, replaced = left > 0 and load(site), {}, {}
  if s then
    if looked > most_looked then return same('5', tasks, {}) end
    found, left = search(wanted, left, site, s)
    if HEAD and left > 0 then
      local missing = {}
      for place, hash in pairs(hashes) do
        if not found[place] then missing[hash] = place end
      end
      replaced, left = search_files(segments, missing, found)
      local files = left > 0 and unknown_segments(segments, site, s) or {}
      if #files > 0 then return same('4', tasks, files) end
    end
    take_from_lists(found)
    take_from_shown(site, found)
    replace_segments(replaced)
    for place, spot in pairs(found) do
      count_owed(s, spot.due, -1)
      write_line(tasks[place], site, nil, 0, struct.pack('>dd', spot.priority, spot.due) .. spot.item)
      digits[place] = '1'
    end
    save(site, s)
  end
  local holders, texts = {}, {}
  for place, task in ipairs(tasks) do
    if digits[place] == '3' then holders[#holders + 1] = task.holder end
    if digits[place] == '1' and task.line then
      local front = task.front
      count((front[1] == 'skipped' and 's' or 'd') .. (front[2] and ':' .. front[2] or ''), -1)
      write_line(task, front[6], front[4], front[5], string.sub(task.line, 11 + struct.unpack('>H', task.line, 9)))
    end
  end
  for i, segment in ipairs(replaced) do texts[i] = segment.text end
  return {table.concat(digits), holders, texts}
end

local function take_segments(n)
  local segments = {}
  for i = 1, n do
    local queue, text, new = take(), take(), take()
    local segment = {queue = queue, text = text, new = new, lost = {}}
    for _ = 1, tonumber(take()) do
      local hash = take()
      segment.lost[hash] = take()
    end
    segments[i] = segment
  end
  return segments
end

local function take_tasks(n)
  local tasks = {}
  for i = 1, n do
    local hash, marks, text, reason = take(), take(), take(), take()
    tasks[i] = {hash = hash, marks = marks, text = text, reason = reason}
  end
  return tasks
end

local answer = {}
local site = take()
while site do
  local segments = take_segments(tonumber(take()))
  answer[#answer + 1] = dismiss(site, segments, take_tasks(tonumber(take())))
  site = take()
end

write_counts()
return answer
