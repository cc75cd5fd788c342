-- Lend these sites, each to one holder, with their first due tasks; the politeness slot is reserved in the same step.
--
-- ARGV: now or ''; seconds; tasks; then names of sites. One that owes nothing yet is passed over. For one that another
-- worker took since its caller looked, the next that is ready in the bucket is lent: many who look at the same heads at
-- once would else come away with nothing, again and again.
-- Answers: now; deadline; when the first site of the bucket is ready, afterwards, or ''; then for each lease:
-- {name, numbers before the slot was reserved, details or '', robots or '', priority, due, item, ...}.

local now, seconds, most = moment(take()), tonumber(take()), tonumber(take())
local deadline = now + seconds
local leases = {exact(now), exact(deadline), ''}

-- Highest priority first; in it, what is due at once before what was put off, as `policy.select.order` has it.
local function show(site, s)
  local tasks, i = {}, PRIORITIES
  while s[i] and #tasks < 3 * most do
    local priority = s[i]
    local list, later = base .. 'q:' .. priority .. ':' .. site, base .. 'w:' .. priority .. ':' .. site
    local room = most - #tasks / 3
    local due = s[PENDING] > 0 and call('LPOP', list, room) or {}
    for _, item in ipairs(due) do
      tasks[#tasks + 1], tasks[#tasks + 2], tasks[#tasks + 3] = priority, 0, item
    end
    local is_empty = #due < room
    -- What is in files comes first. Whoever asked fills the queue before, so this is rare: the lease is shorter.
    if HEAD and is_empty and call('EXISTS', base .. 'f:' .. priority .. ':' .. site) == 1 then break end
    room = most - #tasks / 3
    if room > 0 and s[WAITING] > 0 then
      local put_off = call('ZRANGEBYSCORE', later, '-inf', exact(now), 'WITHSCORES', 'LIMIT', 0, room)
      for j = 1, #put_off, 2 do
        call('ZREM', later, put_off[j])
        tasks[#tasks + 1], tasks[#tasks + 2], tasks[#tasks + 3] = priority, tonumber(put_off[j + 1]), put_off[j]
      end
      is_empty = is_empty and call('EXISTS', later) == 0
    end
    if is_empty then table.remove(s, i) else i = i + 1 end
  end
  return tasks
end

local function lend(site, s)
  local tasks = show(site, s)
  if #tasks > 0 then
    s[TOKEN] = s[TOKEN] + 1
    local details, robots = call('HGET', base .. 'd', site) or '', call('HGET', base .. 'o', site) or ''
    local lease = {site, cmsgpack.pack(s), details, robots}
    for _, value in ipairs(tasks) do
      lease[#lease + 1] = type(value) == 'number' and exact(value) or value
    end
    leases[#leases + 1] = lease
    call('SET', base .. 'h:' .. site, cmsgpack.pack(tasks))
    s[DEADLINE] = deadline
    s[FULL_AT] = math.max(s[FULL_AT], now) + s[INTERVAL]
    s[NOT_BEFORE] = math.max(s[NOT_BEFORE], s[FULL_AT] - (s[BURST] - 1) * s[INTERVAL])
    count('leased', 1)
  end
  save(site, s)
end

local function is_free(s)
  return s and s[FLAGS] == 0 and s[DEADLINE] == 0 and s[NOT_BEFORE] <= now
end

local missed = 0
local site = take()
while site do
  local s = load(site)
  if is_free(s) then lend(site, s) else missed = missed + 1 end
  site = take()
end

if missed > 0 then
  local ready = call('ZRANGEBYSCORE', base .. 'r', '-inf', exact(now), 'LIMIT', 0, 4 * missed)
  for _, other in ipairs(ready) do
    local s = load(other)
    if missed > 0 and is_free(s) then
      lend(other, s)
      missed = missed - 1
    end
  end
end

write_counts()
leases[3] = head_of_ready()
return leases
