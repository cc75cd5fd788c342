-- What the frontier asks of the tables in schema.sql. `:lists` come as JSON, so that a batch is one statement.

-- name: known
SELECT hash FROM json_each(?) CROSS JOIN seen ON hash = value;

-- name: note_recent
INSERT INTO recent (hashes) VALUES (?);

-- name: recent_since
SELECT id, hashes FROM recent WHERE id > ? ORDER BY id;

-- name: recent
SELECT hashes FROM recent ORDER BY id;

-- name: merge_recent
INSERT OR IGNORE INTO seen SELECT value FROM json_each(?);

-- name: forget_recent
DELETE FROM recent;

-- name: end_recent
INSERT INTO recent (id, hashes) VALUES (?, x'');

-- name: name_origins
INSERT OR IGNORE INTO origins (text) SELECT value FROM json_each(?);

-- name: origins
SELECT text, id FROM origins WHERE text IN (SELECT value FROM json_each(?));

-- name: make_sites
INSERT OR IGNORE INTO sites (key) SELECT value FROM json_each(?);

-- name: sites
SELECT id, key, ready_at, deadline, token, sequence, pending, waiting, robots, shown, state
FROM sites WHERE key IN (SELECT value FROM json_each(?));

-- name: ready_sites
SELECT id, key, ready_at, deadline, token, sequence, pending, waiting, robots, shown, state
FROM sites WHERE ready_at <= ? ORDER BY ready_at, key LIMIT ?;

-- name: every_site
SELECT id, key, ready_at, deadline, token, sequence, pending, waiting, robots, shown, state FROM sites ORDER BY id;

-- name: held_sites
SELECT key FROM sites WHERE deadline IS NOT NULL;

-- name: sites_aside
SELECT key FROM sites WHERE aside;

-- name: next_ready
SELECT ready_at FROM sites WHERE ready_at IS NOT NULL ORDER BY ready_at LIMIT 1;

-- name: write_site
UPDATE sites
SET ready_at = ?, aside = ?, deadline = ?, token = ?, sequence = ?, pending = ?, waiting = ?, robots = ?, shown = ?,
    state = ?
WHERE id = ?;

-- name: write_resting_site
UPDATE sites SET deadline = ?, token = ?, sequence = ?, pending = ?, waiting = ?, robots = ?, shown = ?, state = ?
WHERE id = ?;

-- name: robots
SELECT files FROM robots WHERE site = ?;

-- name: write_robots
INSERT OR REPLACE INTO robots (site, files) VALUES (?, ?);

-- name: queue
INSERT INTO queue (site, rank, due_at, sequence, hash, origin, target, rest) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: first_rows
SELECT rank, due_at, sequence, hash, text, target, rest FROM queue JOIN origins ON origins.id = origin
WHERE site = ? AND rank > ? ORDER BY rank, due_at, sequence LIMIT ?;

-- name: row
SELECT rank, due_at, sequence, hash, text, target, rest FROM queue JOIN origins ON origins.id = origin
WHERE site = ? AND rank = ? AND due_at = ? AND sequence = ?;

-- name: first_moment
SELECT rank, due_at FROM queue WHERE site = ? AND rank > ? ORDER BY rank, due_at LIMIT 1;

-- name: unqueue
DELETE FROM queue WHERE site = ? AND rank = ? AND due_at = ? AND sequence = ?;

-- name: rewrite
UPDATE queue SET rest = ? WHERE site = ? AND rank = ? AND due_at = ? AND sequence = ?;

-- name: stray
INSERT OR REPLACE INTO strays (hash, site) VALUES (?, ?);

-- name: find_in_queue
SELECT rank, due_at, queue.sequence, hash, text, target, rest, sites.key, sites.state
FROM queue JOIN origins ON origins.id = origin JOIN sites ON sites.id = site
WHERE queue.hash = ? AND site IN (SELECT id FROM sites WHERE key = ? UNION SELECT site FROM strays WHERE hash = ?);

-- name: every_row
SELECT rank, due_at, queue.sequence, hash, text, target, rest, sites.key, sites.state
FROM sites JOIN queue ON queue.site = sites.id JOIN origins ON origins.id = origin
WHERE sites.key = coalesce(?, sites.key)
ORDER BY sites.id, queue.sequence;

-- name: end
INSERT INTO ended (hash, state, reason, site, revivable, url, rest) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: find_ended
SELECT id, hash, state, reason, site, url, rest FROM ended WHERE hash = ?;

-- name: every_ended
SELECT id, hash, state, reason, site, url, rest FROM ended
WHERE state = coalesce(?, state) AND reason IS coalesce(?, reason) AND site = coalesce(?, site)
ORDER BY id;

-- name: revivable
SELECT id, hash, state, reason, site, url, rest FROM ended
WHERE revivable AND state = coalesce(?, state) AND reason IS coalesce(?, reason) AND site = coalesce(?, site)
ORDER BY id;

-- name: ended_among
SELECT ended.id, hash, state, reason FROM json_each(?) CROSS JOIN ended ON hash = value;

-- name: owed_among
SELECT hash, (SELECT key FROM sites WHERE id = queue.site) FROM queue
WHERE hash IN (SELECT value FROM json_each(?)) AND site IN (
    SELECT id FROM sites WHERE key IN (SELECT value FROM json_each(?))
    UNION SELECT site FROM strays WHERE hash IN (SELECT value FROM json_each(?))
);

-- name: rows_among
SELECT rank, due_at, queue.sequence, hash, text, target, rest, sites.key, sites.state
FROM queue JOIN origins ON origins.id = origin JOIN sites ON sites.id = site
WHERE hash IN (SELECT value FROM json_each(?)) AND site IN (
    SELECT id FROM sites WHERE key IN (SELECT value FROM json_each(?))
    UNION SELECT site FROM strays WHERE hash IN (SELECT value FROM json_each(?))
)
LIMIT ?;

-- name: lines_among
SELECT ended.id, hash, state, reason, site, url, rest, revivable FROM json_each(?) CROSS JOIN ended ON hash = value;

-- name: unend
DELETE FROM ended WHERE id = ?;

-- name: count
INSERT INTO counts (name, reason, n) VALUES (?, ?, ?) ON CONFLICT (name, reason) DO UPDATE SET n = n + excluded.n;

-- name: order
INSERT OR REPLACE INTO orders (site, paused, excluded, delay, at) VALUES (?, ?, ?, ?, ?);

-- name: take_order_back
DELETE FROM orders WHERE site = ?;

-- name: orders
SELECT site, paused, excluded, delay, at FROM orders ORDER BY site;

-- name: counts
SELECT name, reason, n FROM counts;

-- name: note_lines
CREATE TEMP TABLE lines AS SELECT hash FROM main.queue UNION SELECT hash FROM main.ended;

-- name: note_recent_lines
CREATE TEMP TABLE latest AS SELECT value AS hash FROM json_each(?);

-- name: bare_hashes
SELECT hash FROM main.seen UNION SELECT hash FROM temp.latest EXCEPT SELECT hash FROM temp.lines;
