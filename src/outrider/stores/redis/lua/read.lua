-- What does a site owe? All of it, shown or not, in no order. Changes nothing.
--
-- ARGV: names of sites. Answers for each: {numbers or '', details or '', robots or '', priority, due, item, ...}.
-- Where queues spill to files, a segment is one of the items, and its due is ''.

local answer = {}
local site = take()
while site do
  local packed = call('HGET', base .. 's', site)
  local read = {packed or '', call('HGET', base .. 'd', site) or '', call('HGET', base .. 'o', site) or ''}
  local function note(priority, due, item)
    read[#read + 1], read[#read + 2], read[#read + 3] = exact(priority), exact(due), item
  end
  if packed then
    local s = cmsgpack.unpack(packed)
    local held = shown(site)
    for i = 1, #held, 3 do note(held[i], held[i + 1], held[i + 2]) end
    for i = PRIORITIES, #s do
      if HEAD then
        local name = s[i] .. ':' .. site
        for _, segment in ipairs(call('LRANGE', base .. 'f:' .. name, 0, -1)) do
          read[#read + 1], read[#read + 2], read[#read + 3] = exact(s[i]), '', segment
        end
        for _, item in ipairs(call('LRANGE', base .. 't:' .. name, 0, -1)) do note(s[i], 0, item) end
      end
      for _, item in ipairs(call('LRANGE', base .. 'q:' .. s[i] .. ':' .. site, 0, -1)) do note(s[i], 0, item) end
      local later = call('ZRANGE', base .. 'w:' .. s[i] .. ':' .. site, 0, -1, 'WITHSCORES')
      for j = 1, #later, 2 do note(s[i], tonumber(later[j + 1]), later[j]) end
    end
  end
  answer[#answer + 1] = read
  site = take()
end
return answer
