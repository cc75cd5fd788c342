-- Which URLs are known? All of them by their hash, exactly, in about nine bytes.
--
--   <bucket>:k:<i>          set     identity hashes as whole numbers; x:<i> in the same way
--
-- Sets that stay small enough (512) to be kept as sorted arrays of 8-byte numbers. Their number grows with the data, one
-- at a time (linear hashing): on average FULL in each, at most twice that before its split.

local FULL = 200

local function names(family)
  local got = call('HMGET', KEYS[1], family .. ':known', family .. ':sets')
  local sets, half = tonumber(got[2] or 1), 1
  while half * 2 <= sets do half = half * 2 end
  return {family = family, key = base .. family .. ':', known = tonumber(got[1] or 0), sets = sets, half = half}
end

local function set_of(known, hash)
  local i = tonumber(string.sub(hash, -9)) % (known.half * 2)
  if i >= known.sets then i = i - known.half end
  return known.key .. i
end

local function split(known)
  local old, new = known.key .. (known.sets - known.half), known.key .. known.sets
  local stay, go = {}, {}
  for _, hash in ipairs(call('SMEMBERS', old)) do
    local i = tonumber(string.sub(hash, -9)) % (known.half * 2)
    local side = i == known.sets and go or stay
    side[#side + 1] = hash
  end
  call('DEL', old)
  if #stay > 0 then call('SADD', old, unpack(stay)) end
  if #go > 0 then call('SADD', new, unpack(go)) end
  known.sets = known.sets + 1
  if known.sets == known.half * 2 then known.half = known.sets end
  count(known.family .. ':sets', known.sets == 2 and 2 or 1)
end

local function knows(known, hash)
  return call('SISMEMBER', set_of(known, hash), hash) == 1
end

-- True when it was new.
local function learn(known, hash)
  if call('SADD', set_of(known, hash), hash) == 0 then return false end
  known.known = known.known + 1
  count(known.family .. ':known', 1)
  if known.known > FULL * known.sets then split(known) end
  return true
end

-- A claim is known from the first, and its name among p says that it may be taken back.

local function claim(known, hash)
  if not learn(known, hash) then return false end
  call('SADD', base .. 'p', hash)
  return true
end

local function keep_claim(_, hash)
  call('SREM', base .. 'p', hash)
end

local function drop_claim(known, hash)
  call('SREM', base .. 'p', hash)
  if call('SREM', set_of(known, hash), hash) == 1 then
    known.known = known.known - 1
    count(known.family .. ':known', -1)
  end
end
