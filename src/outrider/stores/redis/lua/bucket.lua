-- What is in a bucket? This file stands in front of every act of the folder, with `known.lua` or `filter.lua` between.
--
-- A bucket is a set of sites. All its keys share the hash tag {prefix:n}, so that a script may touch any of them, on one
-- server and on a cluster. KEYS[1] is always <bucket>:c, and the other names are made from it:
--
--   <bucket>:c              hash    counters: k:known and k:sets, x:known and x:sets, strays, sites, leased, stale,
--                                   serial, pending, waiting, fetched, alias, s:<reason> (skipped), d:<reason> (dead);
--                                   and mark: which store this is
--   <bucket>:k:…                    identity hashes of all URLs of the bucket's sites (see `known.lua`, `filter.lua`)
--   <bucket>:x:…                    strays: identity hashes that were restored without their URL, so without a site
--   <bucket>:p              set     names that were claimed for an account that may still be refused
--   <bucket>:s              hash    site -> the numbers that are decided with here, packed (see the fields below)
--   <bucket>:d              hash    site -> what only its holder needs; opaque here, absent until the first visit
--   <bucket>:o              hash    site -> its robots.txt files; opaque here, and apart because they are large
--   <bucket>:r              zset    site -> when it may next be lent; absent when it owes nothing or must be left alone
--   <bucket>:a              set     sites that are set aside
--   <bucket>:q:<prio>:<site> list   tasks that are due at once, first come first
--   <bucket>:w:<prio>:<site> zset   tasks that were put off, by the moment at which they are due
--   <bucket>:f:<prio>:<site> list   only where queues spill to files: segments that come after the tasks of q, in order
--   <bucket>:t:<prio>:<site> list   tasks that came after those segments; there is none without f
--   <bucket>:l              set     "<prio>:<site>" of queues that have grown too long; a hint, made again by the next task
--   <bucket>:h:<site>       string  what the holder of the site is shown, packed: priority, due, item, priority, ...
--   <bucket>:e              hash    identity hash -> line of a URL that has ended and may be revived, or was dismissed by
--                                   an operator for good, behind its serial;
--                                   or, behind "\255@", the site whose queue holds a page that took a name in this bucket
--
-- An item is its sequence number (MessagePack, so that bytes sort as numbers) and a tail that is opaque here.
-- Constants stand in front of this file. HEAD: how long a queue may be here, the rest being in files; false when all of it
-- is here. BLOOM: the filter of this store, see `filter.lua`; false when all hashes are kept.
-- ARGV[1] is the mark of the caller's store. Where the bucket bears another, or none, its data was lost and nothing may be
-- built in its place: the answer is an error that begins with GONE. What an act says of its ARGV comes after the mark.
-- Numbers go back as text of 17 digits: tostring() would lose the microseconds.

local call = redis.call
local base = string.sub(KEYS[1], 1, -2)

if call('HGET', KEYS[1], 'mark') ~= ARGV[1] then
  return redis.error_reply('GONE the bucket does not bear the mark of this store')
end

local NOT_BEFORE, FULL_AT, INTERVAL, BURST, TOKEN, SEQUENCE = 1, 2, 3, 4, 5, 6
local ADMITTED, FLAGS, PENDING, WAITING, DEADLINE, PRIORITIES = 7, 8, 9, 10, 11, 12
-- FLAGS: 1 set aside, 2 excluded, 3 both. DEADLINE: 0 while nobody holds the site. From PRIORITIES on: those in use.

local position = 1
local function take()
  position = position + 1
  return ARGV[position]
end

local function exact(number)
  return string.format('%.17g', number)
end

-- The store's clock; a test hands in its own.
local function moment(given)
  if given ~= '' then return tonumber(given) end
  local time = call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1e6
end

-- counters: gathered here, written once at the end of a script

local changes = {}

local function count(counter, by)
  changes[counter] = (changes[counter] or 0) + by
end

local function write_counts()
  for counter, by in pairs(changes) do
    if by ~= 0 then call('HINCRBY', KEYS[1], counter, by) end
  end
end

local function keep_line(hash, line)
  local serial = call('HINCRBY', KEYS[1], 'serial', 1)
  call('HSET', base .. 'e', hash, struct.pack('>d', serial) .. line)
end

-- sites

local function load(site)
  local packed = call('HGET', base .. 's', site)
  return packed and cmsgpack.unpack(packed)
end

local function load_or_make(site, interval, burst)
  local s = load(site)
  if s then return s end
  count('sites', 1)
  return {0, 0, tonumber(interval), tonumber(burst), 0, 0, 0, 0, 0, 0, 0}
end

local function write_details(site, details, robots)
  call('HSET', base .. 'd', site, details)
  if robots ~= '' then call('HSET', base .. 'o', site, robots) end
end

local function is_aside(s)
  return s[FLAGS] % 2 == 1
end

local function first_due(site, s)
  local first = math.huge
  for i = PRIORITIES, #s do
    local head = call('ZRANGE', base .. 'w:' .. s[i] .. ':' .. site, 0, 0, 'WITHSCORES')
    if head[2] then first = math.min(first, tonumber(head[2])) end
  end
  return first
end

-- Its place among the ready, and its numbers: the last word on a site that was changed.
local function save(site, s)
  call('HSET', base .. 's', site, cmsgpack.pack(s))
  if s[PENDING] + s[WAITING] == 0 or s[FLAGS] ~= 0 then
    call('ZREM', base .. 'r', site)
    return
  end
  local at = s[NOT_BEFORE]
  if s[DEADLINE] ~= 0 then
    at = math.max(at, s[DEADLINE] + s[INTERVAL])
  elseif s[PENDING] == 0 then
    at = math.max(at, first_due(site, s))
  end
  call('ZADD', base .. 'r', at, site)
end

local function count_owed(s, due, by)
  local field = due == 0 and PENDING or WAITING
  s[field] = s[field] + by
  if is_aside(s) then
    count('s:site_unreachable', by)
  else
    count(field == PENDING and 'pending' or 'waiting', by)
  end
end

local function use_priority(s, priority)
  local i = PRIORITIES
  while s[i] and s[i] > priority do i = i + 1 end
  if s[i] ~= priority then table.insert(s, i, priority) end
end

-- A new task goes behind all that is owed already: while part of that is in files, behind the files.
local is_marked = {}

local function append(name, item)
  local is_behind_files = HEAD and call('EXISTS', base .. 'f:' .. name) == 1
  local length = call('RPUSH', base .. (is_behind_files and 't:' or 'q:') .. name, item)
  if HEAD and length > (is_behind_files and HEAD or 2 * HEAD) and not is_marked[name] then
    is_marked[name] = true
    call('SADD', base .. 'l', name)
  end
end

-- The last segment of a queue is gone: what came behind the files follows at once.
local function join_tail(name)
  local head, tail = base .. 'q:' .. name, base .. 't:' .. name
  if call('EXISTS', base .. 'f:' .. name) == 1 then return false end
  for _, later in ipairs(call('LRANGE', tail, 0, -1)) do call('RPUSH', head, later) end
  call('DEL', tail)
  if call('LLEN', head) > 2 * HEAD then call('SADD', base .. 'l', name) end
  return true
end

local function put(site, s, priority, due, item, in_front)
  use_priority(s, priority)
  if due ~= 0 then
    call('ZADD', base .. 'w:' .. priority .. ':' .. site, due, item)
  elseif in_front then
    call('LPUSH', base .. 'q:' .. priority .. ':' .. site, item)
  else
    append(priority .. ':' .. site, item)
  end
end

local function owe(site, s, priority, due, item)
  put(site, s, priority, due, item)
  count_owed(s, due, 1)
end

local function next_sequence(s)
  s[SEQUENCE] = s[SEQUENCE] + 1
  return cmsgpack.pack(s[SEQUENCE])
end

local function set_aside(site, s, aside)
  if aside == is_aside(s) then return end
  local by = aside and 1 or -1
  s[FLAGS] = s[FLAGS] + by
  count('s:site_unreachable', by * (s[PENDING] + s[WAITING]))
  count('pending', -by * s[PENDING])
  count('waiting', -by * s[WAITING])
  call(aside and 'SADD' or 'SREM', base .. 'a', site)
end

local function shown(site)
  local packed = call('GET', base .. 'h:' .. site)
  return packed and cmsgpack.unpack(packed) or {}
end

-- The lease is over: what it showed and nobody settled goes back to its place, which is in front.
local function give_back(site, s, tasks)
  for i = #tasks - 2, 1, -3 do
    put(site, s, tasks[i], tasks[i + 1], tasks[i + 2], true)
  end
  call('DEL', base .. 'h:' .. site)
  s[DEADLINE] = 0
  count('leased', -1)
end

local function head_of_ready()
  return call('ZRANGE', base .. 'r', 0, 0, 'WITHSCORES')[2] or ''
end
