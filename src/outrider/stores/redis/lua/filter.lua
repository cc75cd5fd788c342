-- Which URLs are known? By a Bloom filter, in about two bytes each: what is known is found again for sure, and of what is
-- new a small part is taken for known, and lost.
--
--   <bucket>:k:<layer>:<part>   string  bits of our own filter; x:<layer>:<part> in the same way
--   <bucket>:k:filter           module  the same, where the server has a Bloom filter itself
--
-- BLOOM says how many URLs of this bucket its filter is meant for, at which error, and whether it is the server's own. Our
-- own grows by layers: each is for twice as many as the one before at half its error, so that even a bucket with far more
-- URLs than were foreseen loses less than twice the error. A layer is made whole, of parts that the server can hold in one
-- string and move in one piece: a key has at most 512 MB.
--
-- Nothing can be taken out of a filter. What is claimed (p) is therefore put in only once its account was written.

-- All bits of a URL are in one block, which is read at once: a call for each bit would take most of the time.

local BLOCK = 4096 -- bits
local PART = 16383 -- blocks: with its header such a string just fits into 8 MB
local UNEVEN = 1.02 -- some blocks get more than their share, and so many bits make up for it

local function layer_of(number)
  local urls, wrong = BLOOM.capacity * 2 ^ number, BLOOM.error / 2 ^ number
  local bits = -urls * math.log(wrong) / math.log(2) ^ 2
  local probes = math.max(1, math.floor(-math.log(wrong) / math.log(2) + 0.5))
  return {number = number, blocks = math.ceil(bits * UNEVEN / BLOCK), probes = probes}
end

local function key_of(known, layer, part)
  return known.key .. layer.number .. ':' .. part
end

local function names(family)
  local got = call('HMGET', KEYS[1], family .. ':known', family .. ':sets')
  local known = {family = family, key = base .. family .. ':', known = tonumber(got[1] or 0), layers = {}}
  for number = 1, tonumber(got[2] or 0) do known.layers[number] = layer_of(number - 1) end
  known.has_claims = family == 'k' and call('EXISTS', base .. 'p') == 1
  return known
end

-- Where a hash has its bits: the key, the block there, and the places in it, which three numbers of the hash tell.
local function places_of(known, layer, hash)
  local low, high = tonumber(string.sub(hash, -9)), tonumber(string.sub(hash, 1, -10)) or 0
  local rest = math.floor(low / BLOCK)
  local block = (math.floor(high / BLOCK) * 1000003 + rest) % layer.blocks
  local part = math.floor(block / PART)
  local at, step, turn, places = low % BLOCK, high % BLOCK, rest % BLOCK, {}
  for probe = 1, layer.probes do
    places[probe] = at
    at, step = (at + step) % BLOCK, (step + turn) % BLOCK
  end
  return key_of(known, layer, part), block - part * PART, places
end

local MASKS = {[0] = 128, 64, 32, 16, 8, 4, 2, 1}

local function is_in(known, layer, hash)
  local key, block, places = places_of(known, layer, hash)
  local bytes = call('GETRANGE', key, block * BLOCK / 8, (block + 1) * BLOCK / 8 - 1)
  for _, at in ipairs(places) do
    local bits = string.byte(bytes, math.floor(at / 8) + 1)
    if bit.band(bits, MASKS[at % 8]) == 0 then return false end
  end
  return true
end

local function set_bits(known, layer, hash)
  local key, block, places = places_of(known, layer, hash)
  local words = {'BITFIELD', key}
  for _, at in ipairs(places) do
    local n = #words
    words[n + 1], words[n + 2], words[n + 3], words[n + 4] = 'SET', 'u1', exact(block * BLOCK + at), '1'
  end
  call(unpack(words))
end

local function make_layer(known)
  local layer = layer_of(#known.layers)
  for part = 0, math.floor((layer.blocks - 1) / PART) do
    local blocks = math.min(PART, layer.blocks - part * PART)
    call('SETBIT', key_of(known, layer, part), blocks * BLOCK - 1, 0)
  end
  table.insert(known.layers, layer)
  count(known.family .. ':sets', 1)
end

local function has(known, hash)
  if BLOOM.has_module then return call('BF.EXISTS', known.key .. 'filter', hash) == 1 end
  for number = #known.layers, 1, -1 do
    if is_in(known, known.layers[number], hash) then return true end
  end
  return false
end

local function put(known, hash)
  if BLOOM.has_module then
    local key = known.key .. 'filter'
    -- One that the server would make by itself has its own idea of size and error (H2-17).
    if call('EXISTS', key) == 0 then call('BF.RESERVE', key, exact(BLOOM.error), exact(BLOOM.capacity)) end
    call('BF.ADD', key, hash)
    return
  end
  if known.known >= BLOOM.capacity * (2 ^ #known.layers - 1) then make_layer(known) end
  set_bits(known, known.layers[#known.layers], hash)
end

local function knows(known, hash)
  return known.has_claims and call('SISMEMBER', base .. 'p', hash) == 1 or has(known, hash)
end

local function note(known, by)
  known.known = known.known + by
  count(known.family .. ':known', by)
end

-- True when it was new.
local function learn(known, hash)
  if knows(known, hash) then return false end
  put(known, hash)
  note(known, 1)
  return true
end

local function claim(known, hash)
  if knows(known, hash) then return false end
  call('SADD', base .. 'p', hash)
  known.has_claims = true
  note(known, 1)
  return true
end

local function keep_claim(known, hash)
  if call('SREM', base .. 'p', hash) == 1 then put(known, hash) end
end

local function drop_claim(known, hash)
  if call('SREM', base .. 'p', hash) == 1 then note(known, -1) end
end
