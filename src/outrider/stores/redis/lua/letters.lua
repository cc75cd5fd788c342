-- Dead letters, and what is remembered until there is one. The keys share the slot of the list itself, KEYS[1]:
--
--   page_fetcher_dlq                  list    letters as JSON, the oldest first; other programs take them from here
--   {page_fetcher_dlq}:told           zset    what a letter is known by -> when it was put; forgotten after a day
--   {page_fetcher_dlq}:first:<url>    string  when the URL (by its hash) failed first; forgotten after a week
--
-- ARGV: now, or '' for the server's clock; then what there is to tell, in order. Each begins with a word:
--   failed  hash of the URL; when
--   forget  hash of the URL
--   letter  what it is known by; hash of the URL; the letter up to the moment of the first failure, that moment where
--           nothing else is remembered, and the rest. A whole letter, without a hash, comes with two empty words
-- Answers how many letters were new.

local letters = KEYS[1]
local told, first = '{' .. letters .. '}:told', '{' .. letters .. '}:first:'
local A_DAY, A_WEEK = 86400, 604800

local position = 1
local function take()
  position = position + 1
  return ARGV[position]
end

local now = moment(ARGV[1])
call('ZREMRANGEBYSCORE', told, '-inf', now - A_DAY)

local new = 0
local word = take()
while word do
  if word == 'failed' then
    local url, at = take(), take()
    call('SET', first .. url, at, 'NX', 'EX', A_WEEK)
  elseif word == 'forget' then
    call('DEL', first .. take())
  else
    local name, url, head, at, rest = take(), take(), take(), take(), take()
    local remembered = url ~= '' and call('GET', first .. url)
    if remembered then call('DEL', first .. url) end
    if call('ZADD', told, 'NX', now, name) == 1 then
      call('RPUSH', letters, head .. (remembered or at) .. rest)
      new = new + 1
    end
  end
  word = take()
end
return new
