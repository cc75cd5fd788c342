-- Write what another store gave out. What is known is left alone, so that it may be repeated.
--
-- ARGV: interval and burst of a new site; then for each
--   a site:            S site not_before full_at interval burst admitted aside excluded details robots
--   an owed task:      O site claimed hash priority due tail
--   an ended URL:      E site claimed hash counter line       line is '' when it cannot be revived
--   a task set aside:  A site claimed hash priority due tail line   owed if its site is set aside here too, else ended
--   a bare hash:       H hash
-- What is `claimed` (1) has its name in another bucket, where it was new and counted as fetched.
-- Answers one digit each: 1 new, 0 known; sites are never new.

local interval, burst = take(), take()
local known, strays = names('k'), names('x')
local answers = {}

local function is_new(hash, was_claimed)
  if was_claimed then
    count('fetched', -1)
    return true
  end
  return learn(known, hash)
end

local readers = {}

function readers.S()
  local site = take()
  local s = load_or_make(site, interval, burst)
  s[NOT_BEFORE] = math.max(s[NOT_BEFORE], tonumber(take()))
  s[FULL_AT] = math.max(s[FULL_AT], tonumber(take()))
  s[INTERVAL], s[BURST] = tonumber(take()), tonumber(take())
  -- The site says how many it admitted; the entries that follow are among them, and those without a line, too.
  s[ADMITTED] = math.max(s[ADMITTED], tonumber(take()))
  set_aside(site, s, take() == '1')
  if take() == '1' and s[FLAGS] < 2 then s[FLAGS] = s[FLAGS] + 2 end
  write_details(site, take(), take())
  save(site, s)
  return false
end

local function owe_restored(site, s, priority, due, tail)
  owe(site, s, tonumber(priority), tonumber(due), next_sequence(s) .. tail)
end

function readers.O()
  local site, claimed, hash, priority, due, tail = take(), take(), take(), take(), take(), take()
  if not is_new(hash, claimed == '1') then return false end
  local s = load_or_make(site, interval, burst)
  owe_restored(site, s, priority, due, tail)
  save(site, s)
  return true
end

function readers.E()
  local site, claimed, hash, counter, line = take(), take(), take(), take(), take()
  if not is_new(hash, claimed == '1') then return false end
  if line ~= '' then keep_line(hash, line) end
  count(counter, 1)
  return true
end

function readers.A()
  local site, claimed, hash, priority, due, tail, line = take(), take(), take(), take(), take(), take(), take()
  if not is_new(hash, claimed == '1') then return false end
  local s = load_or_make(site, interval, burst)
  if is_aside(s) then
    owe_restored(site, s, priority, due, tail)
  else
    keep_line(hash, line)
    count('s:site_unreachable', 1)
  end
  save(site, s)
  return true
end

function readers.H()
  if not learn(strays, take()) then return false end
  count('fetched', 1)
  return true
end

local kind = take()
while kind do
  answers[#answers + 1] = readers[kind]() and '1' or '0'
  kind = take()
end

write_counts()
return table.concat(answers)
