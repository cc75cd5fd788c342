-- What all acts on a list share that other programs use as well, KEYS[1]. This file stands in front of them.

local call = redis.call

local kind = call('TYPE', KEYS[1]).ok
if kind ~= 'list' and kind ~= 'none' then
  return redis.error_reply('WRONGTYPE the key ' .. KEYS[1] .. ' holds a ' .. kind .. '; expected a list')
end

-- As given, or by the server's clock.
local function moment(given)
  if given ~= '' then return tonumber(given) end
  local time = call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1e6
end
