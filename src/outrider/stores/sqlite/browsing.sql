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
WHERE site = ?1 AND (rank, due_at, sequence) > (?2, ?3, ?4)
ORDER BY rank, due_at, sequence;

-- name: pending_after
SELECT rank, due_at, sequence, hash, text, target, rest FROM queue CROSS JOIN origins ON origins.id = origin
WHERE site = ?1 AND rank = ?2 AND due_at = ?3 AND sequence > ?4
ORDER BY sequence;

-- name: waiting_after
SELECT rank, due_at, sequence, hash, text, target, rest FROM queue CROSS JOIN origins ON origins.id = origin
WHERE site = ?1 AND rank = ?2 AND (due_at, sequence) > (?3, ?4)
ORDER BY due_at, sequence;

-- name: last_ended
SELECT coalesce(max(id), 0) FROM ended;

-- name: ended_between
SELECT id, hash, state, reason, site, url, rest FROM ended
WHERE id > ?1 AND id <= ?2 AND (?3 IS NULL OR state = ?3) AND (?4 IS NULL OR reason = ?4)
  AND (?5 IS NULL OR site = ?5) AND (?6 = '' OR instr(url, ?6))
ORDER BY id;

-- name: dead_after
SELECT id, hash, state, reason, site, url, rest FROM ended INDEXED BY ended_dead
WHERE state = 'dead' AND id > ? ORDER BY id;

-- name: dead_by_reason_after
SELECT id, hash, state, reason, site, url, rest FROM ended INDEXED BY ended_dead_by_reason
WHERE state = 'dead' AND reason = ? AND id > ? ORDER BY id;
