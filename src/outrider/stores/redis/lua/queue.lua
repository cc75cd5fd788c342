-- What is in a queue? This file stands in front of its acts. All its keys share the slot of the list itself, KEYS[1]:
--
--   crawler_queue                list    entries that wait, the oldest first; other programs RPUSH here
--   {crawler_queue}:lent         zset    id of a lending -> when it runs out
--   {crawler_queue}:lent:<id>    list    the entries that were lent
--
-- Every lending has an id of its own, drawn by who takes. A batch that is lent again gets a new one, so that a late word
-- about the old one meets nothing.

local queue = KEYS[1]
local lent = '{' .. queue .. '}:lent'
-- As many arguments as unpack() may safely make at once.
local AT_ONCE = 1000

local function append(key, entries, first, last)
  for from = first, last, AT_ONCE do
    call('RPUSH', key, unpack(entries, from, math.min(from + AT_ONCE - 1, last)))
  end
end

-- Batches are few: as many as there are takers.
local function size()
  local entries = call('LLEN', queue)
  for _, id in ipairs(call('ZRANGE', lent, 0, -1)) do
    entries = entries + call('LLEN', lent .. ':' .. id)
  end
  return entries
end
