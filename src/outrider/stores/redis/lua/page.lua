-- Some of what sites owe, in the order in which it is lent, behind a given place. Changes nothing.
--
-- ARGV: how many tasks at most; which of them (p: due at once, w: put off, '': all); then for each site its name and the
-- place: priority, due, sequence; or '', '', '' for its beginning.
-- Answers for each site until there are enough: {numbers or '', was it cut off there (0, 1), {shown priority, due, item,
-- ...}, {priority, due, item, ...}}. What is shown is given whole, wherever its place is. Where queues spill to files, a
-- segment is one of the items, its due is '', and it may come before the place.
--
-- Queues are sorted by the number of their items, whatever comes and goes at their ends, so that a place in one is found
-- by a few looks into it.

local left, which = tonumber(take()), take()

local function number_of(item)
  local _, number = cmsgpack.unpack_one(item)
  return number
end

-- The first index, of those from `low` up to below `high`, whose number is larger: `at` tells the number at an index.
local function behind(number, low, high, at)
  local is_guess = true
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_guess then
      local first, last = at(low), at(high - 1)
      if first > number then return low end
      if last <= number then return high end
      middle = low + math.floor((number - first) / (last - first) * (high - 1 - low))
    end
    if at(middle) <= number then low = middle + 1 else high = middle end
    is_guess = not is_guess
  end
  return low
end

local function read(flat, site, priority, place)
  local name = priority .. ':' .. site
  local here = place and place.priority == priority

  local function list(letter)
    local key = base .. letter .. name
    local from = 0
    if here then
      from = behind(place.number, 0, call('LLEN', key), function (i) return number_of(call('LINDEX', key, i)) end)
    end
    for _, item in ipairs(left > 0 and call('LRANGE', key, from, from + left - 1) or {}) do
      flat[#flat + 1], flat[#flat + 2], flat[#flat + 3] = exact(priority), '0', item
      left = left - 1
    end
  end

  local function later()
    local key = base .. 'w:' .. name
    local from = 0
    if here and place.due > 0 then
      local due = exact(place.due)
      from = behind(place.number, call('ZCOUNT', key, '-inf', '(' .. due), call('ZCOUNT', key, '-inf', due),
        function (i) return number_of(call('ZRANGE', key, i, i)[1]) end)
    end
    local found = left > 0 and call('ZRANGE', key, from, from + left - 1, 'WITHSCORES') or {}
    for i = 1, #found, 2 do
      flat[#flat + 1], flat[#flat + 2], flat[#flat + 3] = exact(priority), found[i + 1], found[i]
      left = left - 1
    end
  end

  if which ~= 'w' and not (here and place.due > 0) then
    list('q:')
    if HEAD and left > 0 then
      for _, segment in ipairs(call('LRANGE', base .. 'f:' .. name, 0, -1)) do
        flat[#flat + 1], flat[#flat + 2], flat[#flat + 3] = exact(priority), '', segment
      end
      list('t:')
    end
  end
  if which ~= 'p' and left > 0 then later() end
end

local answer = {}
local site = take()
while site and left > 0 do
  local priority, due, number = take(), take(), take()
  local place = priority ~= '' and {priority = tonumber(priority), due = tonumber(due), number = tonumber(number)}
  local packed = call('HGET', base .. 's', site)
  local held, flat = {}, {}
  if packed then
    for i, value in ipairs(shown(site)) do held[i] = type(value) == 'number' and exact(value) or value end
    local s = cmsgpack.unpack(packed)
    for i = PRIORITIES, #s do
      if left > 0 and not (place and s[i] > place.priority) then read(flat, site, s[i], place) end
    end
  end
  answer[#answer + 1] = {packed or '', left > 0 and 0 or 1, held, flat}
  site = take()
end
return answer
