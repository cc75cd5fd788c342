-- Is this item the URL that somebody looks for? For acts that look through queues, since there is no index of what is owed.
--
-- ARGV, where `take_spelling` is called: names of the query's fields that do not tell URLs apart, with blanks between
-- them, and whether their order does (1) or not (0).

local fields, is_ordered = '', true
local dropped = {}

local function take_spelling()
  fields, is_ordered = take(), take() == '1'
  for name in string.gmatch(fields, '%S+') do dropped[name] = true end
end

-- What two spellings of one URL have in common, as `Identity.key` has it; only ever compared with others made here.

local function normal(hex)
  local char = string.char(tonumber(hex, 16))
  return string.find(char, '^[A-Za-z0-9%-%._~]$') and char or '%' .. string.upper(hex)
end

local function normal_query(key, cut)
  local kept = {}
  for field in string.gmatch(string.sub(key, cut + 1) .. '&', '([^&]*)&') do
    local name = string.match(field, '^[^=]*')
    if fields == '' or not (dropped[name] or string.sub(name, 1, 4) == 'utm_') then
      kept[#kept + 1] = {text = field, place = #kept, order = is_ordered and '' or redis.sha1hex(name)}
    end
  end
  -- Any order will do, if only it is the same each time: names would sort by the server's locale.
  table.sort(kept, function(a, b)
    if a.order == b.order then return a.place < b.place end
    return a.order < b.order
  end)
  for i, field in ipairs(kept) do kept[i] = field.text end
  return string.sub(key, 1, cut - 1) .. (#kept > 0 and '?' .. table.concat(kept, '&') or '')
end

local function key_of(text)
  if string.find(text, '%', 1, true) and not string.find(string.gsub(text, '%%%x%x', ''), '%', 1, true) then
    text = string.gsub(text, '%%(%x%x)', normal)
  end
  if fields == '' and is_ordered then return text end
  local cut = string.find(text, '?', 1, true)
  return cut and normal_query(text, cut) or text
end

-- The URL of an item: `packing.py` says how it is written.
local SCHEMES = {[0] = 'http://', 'https://'}
local FLAGS_AT = {[0xcc] = 4, [0xcd] = 5, [0xce] = 7, [0xcf] = 11}
local WHOLE = 6

local function url_of(item, site, at, flags)
  local host = bit.band(flags, 6)
  if host == WHOLE then
    local front = string.byte(item, at + 1) < 0xa0 and 1 or 3
    local _, url = cmsgpack.unpack_one(item, at + front)
    return url
  end
  local scheme, name, path = SCHEMES[flags % 2], site, at + 2
  if host == 2 then
    name = 'www.' .. site
  elseif host == 4 then
    local length = string.byte(item, path)
    name, path = string.sub(item, path + 1, path + length), path + 1 + length
  end
  if bit.band(flags, 64) ~= 0 then
    path = path + 2 + 256 * string.byte(item, path) + string.byte(item, path + 1)
  end
  return scheme .. name .. string.sub(item, path)
end

-- The last bytes of the wanted, as many as all of them have behind their hosts.
local function endings_of(wanted)
  local length, endings = 8, {}
  for key in pairs(wanted) do length = math.min(length, #string.match(key, '^%a+://[^/]*(.*)$')) end
  for key in pairs(wanted) do endings[string.sub(key, -length)] = true end
  return length, endings
end

-- A function that tells the place of an item among the wanted (key -> place), or nil. Nearly all that is looked at is
-- something else: what has but one spelling, and another ending, is passed over before anything is made of it.
local function searched_for(wanted, site)
  local length, endings = endings_of(wanted)
  local is_plain = fields == '' and is_ordered
  local byte, find, sub = string.byte, string.find, string.sub
  return function(item)
    local at = FLAGS_AT[byte(item)] or 3
    local flags = byte(item, at)
    if flags % 8 < WHOLE and not endings[sub(item, -length)] and not find(item, '%', 1, true)
      and (is_plain or not find(item, '?', 1, true)) then
      return nil
    end
    return wanted[key_of(url_of(item, site, at, flags))]
  end
end
