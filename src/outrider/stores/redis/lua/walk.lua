-- A few steps through a hash of the bucket, for who looks at it page by page. Changes nothing.
--
-- ARGV: the hash (s or e); the cursor; about how many fields. Answers: which run of the server this is; the next cursor;
-- field, value, field, value, ... A cursor means nothing to another run: every server scatters the fields by a secret of
-- its own. Whose user may not ask for the run gets ''.

local hash, cursor, fields = take(), take(), take()
local info = redis.pcall('INFO', 'server')
local answer = {type(info) == 'string' and string.match(info, 'run_id:(%x+)') or ''}
local found = call('HSCAN', base .. hash, cursor, 'COUNT', fields)
answer[2] = found[1]
for i, value in ipairs(found[2]) do answer[i + 2] = value end
return answer
