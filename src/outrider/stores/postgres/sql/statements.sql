-- What the store says to the server, by name. The tables are in schema.sql.
--
-- Locks are taken in one order by everybody: rows of `sites` by key, then rows of `url_frontier` by hash, then rows of
-- `counts` by name. What is read under a lock is read by a later statement, which sees what its last holder wrote: a
-- statement that locks and reads on would read the past (H2-13).

-- name: begin
SELECT extract(epoch FROM clock_timestamp())::float8, nextval('places');

-- name: known
SELECT url_hash FROM url_frontier WHERE url_hash = ANY(%(hashes)s);

-- name: make_sites
INSERT INTO sites (key, pause, state)
SELECT key, %(pause)s, state FROM unnest(%(keys)s, %(states)s) AS new (key, state)
ORDER BY key
ON CONFLICT (key) DO NOTHING
RETURNING key;

-- name: lock_sites
SELECT key, not_before, first_due, pending, waiting, sequence, admitted, set_aside, excluded, token, deadline, shown,
       state, robots_digest, NULL::bytea AS robots
FROM sites WHERE key = ANY(%(keys)s)
ORDER BY key
FOR UPDATE;

-- name: lock_ready
SELECT key, not_before, first_due, pending, waiting, sequence, admitted, set_aside, excluded, token, deadline, shown,
       state, robots_digest, robots
FROM sites WHERE ready_at <= %(now)s AND key <> ALL(%(mine)s)
ORDER BY ready_at, key
LIMIT %(sites)s
FOR UPDATE SKIP LOCKED;

-- name: next_at
SELECT min(ready_at) FROM sites WHERE ready_at IS NOT NULL;

-- The order within a site is priority, due time, first come; one range of the index per priority is read, so that
-- tasks which are not due yet are never passed over one by one.
-- name: due_tasks
SELECT owed.*
FROM unnest(%(keys)s) AS wanted (key)
CROSS JOIN LATERAL (
    WITH RECURSIVE level AS (
        (
            SELECT priority FROM url_frontier
            WHERE site = wanted.key AND status IN ('pending', 'waiting')
            ORDER BY priority DESC LIMIT 1
        )
        UNION ALL
        SELECT (
            SELECT lower.priority FROM url_frontier AS lower
            WHERE lower.site = wanted.key AND lower.status IN ('pending', 'waiting') AND lower.priority < level.priority
            ORDER BY lower.priority DESC LIMIT 1
        )
        FROM level WHERE level.priority IS NOT NULL
    )
    SELECT due.*
    FROM level
    CROSS JOIN LATERAL (
        SELECT {columns} FROM url_frontier
        WHERE site = wanted.key AND status IN ('pending', 'waiting')
          AND priority = level.priority AND next_fetch_at <= %(now)s
        ORDER BY next_fetch_at, sequence LIMIT %(tasks)s
    ) AS due
    ORDER BY due.priority DESC, due.next_fetch_at, due.sequence
    LIMIT %(tasks)s
) AS owed;

-- name: first_due
SELECT wanted.key, first.due
FROM unnest(%(keys)s) AS wanted (key)
CROSS JOIN LATERAL (
    WITH RECURSIVE level AS (
        (
            SELECT priority, next_fetch_at FROM url_frontier
            WHERE site = wanted.key AND status IN ('pending', 'waiting')
            ORDER BY priority DESC, next_fetch_at LIMIT 1
        )
        UNION ALL
        SELECT lower.priority, lower.next_fetch_at
        FROM level
        CROSS JOIN LATERAL (
            SELECT priority, next_fetch_at FROM url_frontier
            WHERE site = wanted.key AND status IN ('pending', 'waiting') AND priority < level.priority
            ORDER BY priority DESC, next_fetch_at LIMIT 1
        ) AS lower
    )
    SELECT min(next_fetch_at) AS due FROM level
) AS first;

-- name: rows
SELECT {columns} FROM url_frontier WHERE url_hash = ANY(%(hashes)s);

-- name: lock_rows
SELECT {columns} FROM url_frontier WHERE url_hash = ANY(%(hashes)s)
ORDER BY url_hash
FOR UPDATE;

-- name: insert_rows
INSERT INTO url_frontier ({columns}, discovered_at, updated_at)
SELECT {columns}, %(now)s, %(now)s FROM unnest({arrays}) AS new ({columns})
ORDER BY url_hash
ON CONFLICT (url_hash) DO NOTHING
RETURNING url_hash;

-- name: update_rows
UPDATE url_frontier AS old
SET {changes}, updated_at = %(now)s
FROM unnest({arrays}) AS new ({columns})
WHERE old.url_hash = new.url_hash;

-- name: owe_rows
UPDATE url_frontier AS old
SET {everything}, updated_at = %(now)s
FROM unnest({arrays}) AS new ({columns})
WHERE old.url_hash = new.url_hash AND old.status NOT IN ('pending', 'waiting')
RETURNING old.url_hash;

-- name: update_sites
UPDATE sites AS old
SET not_before = new.not_before, pause = new.pause, first_due = new.first_due, pending = new.pending,
    waiting = new.waiting, sequence = new.sequence, admitted = new.admitted, set_aside = new.set_aside,
    excluded = new.excluded, token = new.token, deadline = new.deadline, shown = new.shown, state = new.state,
    robots = coalesce(new.robots, old.robots), robots_digest = coalesce(new.robots_digest, old.robots_digest)
FROM unnest(
    %(key)s, %(not_before)s, %(pause)s, %(first_due)s, %(pending)s,
    %(waiting)s, %(sequence)s, %(admitted)s, %(set_aside)s,
    %(excluded)s, %(token)s, %(deadline)s, %(shown)s, %(state)s,
    %(robots)s, %(robots_digest)s
) AS new (
    key, not_before, pause, first_due, pending, waiting, sequence, admitted, set_aside, excluded, token, deadline,
    shown, state, robots, robots_digest
)
WHERE old.key = new.key;

-- name: count
INSERT INTO counts (slot, state, reason, n)
SELECT pg_backend_pid() %% 16, state, reason, n
FROM unnest(%(states)s, %(reasons)s, %(numbers)s) AS new (state, reason, n)
ORDER BY state, reason
ON CONFLICT (slot, state, reason) DO UPDATE SET n = counts.n + excluded.n;

-- name: census
SELECT state, reason, sum(n)::bigint FROM counts GROUP BY state, reason;

-- name: sites_aside
SELECT key FROM sites WHERE set_aside AND (%(site)s::text IS NULL OR key = %(site)s::text);

-- name: sites_of_ended
SELECT DISTINCT site FROM url_frontier
WHERE status IN ('skipped', 'dead') AND has_task
  AND (%(state)s::text IS NULL OR status = %(state)s::text)
  AND (%(reason)s::text IS NULL OR last_error = %(reason)s::text)
  AND (%(site)s::text IS NULL OR site = %(site)s::text);

-- Each revived task takes a new number behind those that its site has given out, in the order in which they ended.
-- name: revive
WITH ended AS (
    SELECT f.url_hash, f.status, f.last_error, f.site,
           sites.sequence + row_number() OVER (PARTITION BY f.site ORDER BY f.place) AS sequence
    FROM url_frontier AS f
    JOIN sites ON sites.key = f.site
    WHERE f.status IN ('skipped', 'dead') AND f.has_task AND f.site = ANY(%(keys)s)
      AND (%(state)s::text IS NULL OR f.status = %(state)s::text)
      AND (%(reason)s::text IS NULL OR f.last_error = %(reason)s::text)
), revived AS (
    UPDATE url_frontier AS f
    SET status = 'pending', sequence = ended.sequence, next_fetch_at = 0, retry_count = 0, task_visits = 0,
        deferrals = 0, deferred_at = NULL, recoveries = 0, last_error = NULL, detail = NULL, status_code = NULL,
        updated_at = %(now)s
    FROM ended WHERE f.url_hash = ended.url_hash
    RETURNING ended.site, ended.status, ended.last_error
)
SELECT site, status, last_error, count(*) FROM revived GROUP BY site, status, last_error;

-- name: find
SELECT coalesce(sites.set_aside, false), {prefixed}
FROM url_frontier AS f LEFT JOIN sites ON sites.key = f.site
WHERE f.url_hash = %(hash)s AND f.url IS NOT NULL;

-- name: owed_entries
SELECT sites.set_aside, {prefixed}
FROM url_frontier AS f JOIN sites ON sites.key = f.site
WHERE f.status IN ('pending', 'waiting') AND f.url IS NOT NULL AND (%(site)s::text IS NULL OR f.site = %(site)s::text)
ORDER BY f.site, f.sequence;

-- name: ended_entries
SELECT false, {prefixed}
FROM url_frontier AS f
WHERE f.status NOT IN ('pending', 'waiting') AND f.url IS NOT NULL
  AND (%(state)s::text IS NULL OR f.status = %(state)s::text)
  AND (%(reason)s::text IS NULL OR f.last_error = %(reason)s::text)
  AND (%(site)s::text IS NULL OR f.site = %(site)s::text)
ORDER BY f.place;

-- name: hashes
SELECT url_hash FROM url_frontier WHERE url IS NULL;

-- name: one_site
SELECT key, not_before, first_due, pending, waiting, sequence, admitted, set_aside, excluded, token, deadline, shown,
       state, robots_digest, robots
FROM sites WHERE key = %(key)s;

-- name: all_sites
SELECT key, not_before, first_due, pending, waiting, sequence, admitted, set_aside, excluded, token, deadline, shown,
       state, robots_digest, robots
FROM sites ORDER BY key;

-- name: order
INSERT INTO orders (site, paused, excluded, delay, at)
VALUES (%(site)s, %(paused)s, %(excluded)s, %(delay)s, %(at)s)
ON CONFLICT (site) DO UPDATE
SET paused = excluded.paused, excluded = excluded.excluded, delay = excluded.delay, at = excluded.at;

-- name: take_order_back
DELETE FROM orders WHERE site = %(site)s;

-- name: orders
SELECT site, paused, excluded, delay, at FROM orders ORDER BY site;
