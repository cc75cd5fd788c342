-- Give the next entries of a source's turn, as many as there is room for, if nobody else has meanwhile.
--
--   {crawler_queue}:schedule     hash    schedule/source -> entries of its turn that were given, a blank, the turn in JSON
--
-- ARGV: how long the queue may be; the source's field; what the field must hold, '' for nothing; how many were given
-- before; the turn in JSON; the next entries.
-- Answers how many were given, -1 when the field holds something else, and how long the queue is now.

local turns = '{' .. queue .. '}:schedule'
local waiting = size()

if (call('HGET', turns, ARGV[2]) or '') ~= ARGV[3] then return {-1, waiting} end
local count = math.min(tonumber(ARGV[1]) - waiting, #ARGV - 5)
if count <= 0 then return {0, waiting} end

append(queue, ARGV, 6, 5 + count)
call('HSET', turns, ARGV[2], string.format('%d %s', tonumber(ARGV[4]) + count, ARGV[5]))
return {count, waiting + count}
