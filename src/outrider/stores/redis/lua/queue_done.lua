-- A lending is over, and its entries are safe elsewhere. ARGV: its id. One that was lent again has another id by now.

call('ZREM', lent, ARGV[1])
call('DEL', lent .. ':' .. ARGV[1])
