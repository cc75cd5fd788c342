"""The frontier in Redis, with the tails of long queues in files: a hot site costs disk, not memory.

A queue is the pending tasks of one site and priority. Read in order, it is the list `q`, then the segments that `f`
names, then the list `t` (the map of keys is in `redis/lua/bucket.lua`). All that is known or counted stays in Redis.
Only items move: out by writing a file that the disk confirms, then one script that puts its name in their place; back
by reading, then one script that takes the name away and puts the items there.

- A script moves only what it finds as the file has it, so that a second mover does nothing.
- A crash between file and script leaves a file that nobody names, never a task that nobody has.
- A segment is written once and never changed. How far it has been read is in Redis, in the name that `f` has for it.
- A segment that was read is kept for a while: a server that lost its last second names it again.
"""
