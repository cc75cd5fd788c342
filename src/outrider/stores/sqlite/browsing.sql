-- What is asked of the tables in schema.sql and schema_browse.sql by who looks at them page by page. Each of these is read
-- line by line, in the order of a tree that is there, until there is enough: none sorts, none counts, none skips.

-- name: sites_from
SELECT id, key, aside, pending, waiting FROM sites WHERE id >= ? ORDER BY id;

-- name: sites_aside_from
SELECT id, key, aside, pending, waiting FROM sites INDEXED BY sites_aside_by_id WHERE aside AND id >= ? ORDER BY id;

-- name: site_named
SELECT id, key, aside, pending, waiting FROM sites WHERE key = ?;

-- name: rank_from
SELECT rank FROM queue WHERE site = ? AND rank >= ? ORDER BY rank LIMIT 1;

-- name: rows_after
SELECT rank, due_at, sequence, hash, text, target, rest FROM queue CROSS JOIN origins ON origins.id = origin
WHERE site = ? AND (rank, due_at, sequence) > (?, ?, ?)
ORDER BY rank, due_at, sequence;

-- name: pending_after
SELECT rank, due_at, sequence, hash, text, target, rest FROM queue CROSS JOIN origins ON origins.id = origin
WHERE site = ? AND rank = ? AND due_at = ? AND sequence > ?
ORDER BY sequence;

-- name: waiting_after
SELECT rank, due_at, sequence, hash, text, target, rest FROM queue CROSS JOIN origins ON origins.id = origin
WHERE site = ? AND rank = ? AND (due_at, sequence) > (?, ?)
ORDER BY due_at, sequence;

-- name: last_ended
SELECT coalesce(max(id), 0) FROM ended;

-- name: ended_between
SELECT id, hash, state, reason, site, url, rest FROM ended
WHERE id > ? AND id <= ? AND state = coalesce(?, state) AND reason IS coalesce(?, reason) AND site = coalesce(?, site)
  AND instr(url, ?)
ORDER BY id;

-- name: dead_after
SELECT id, hash, state, reason, site, url, rest FROM ended INDEXED BY ended_dead
WHERE state = 'dead' AND id > ? ORDER BY id;

-- name: dead_by_reason_after
SELECT id, hash, state, reason, site, url, rest FROM ended INDEXED BY ended_dead_by_reason
WHERE state = 'dead' AND reason = ? AND id > ? ORDER BY id;
