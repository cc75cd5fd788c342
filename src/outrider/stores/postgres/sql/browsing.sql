-- What is asked of the tables in schema.sql and schema_browse.sql by who looks at them page by page. Each goes along an
-- index from a place on, and reads no further than it is told.

-- name: sites_from
SELECT key, set_aside, pending, waiting FROM sites WHERE key >= %(key)s::text ORDER BY key LIMIT %(most)s;

-- name: sites_aside_from
SELECT key, set_aside, pending, waiting FROM sites WHERE set_aside AND key >= %(key)s::text ORDER BY key LIMIT %(most)s;

-- name: site_named
SELECT key, set_aside, pending, waiting FROM sites WHERE key = %(key)s::text;

-- The first of the sites is read from a place on: a priority, and within it a due time and a number. In any other
-- priority, and of any other site, what is due after `since` is read; and everywhere what is due until `until`. One range
-- of the index per priority is read, so that tasks of the other state are never passed over one by one.
-- name: owed_lines
SELECT wanted.n, owed.*
FROM unnest(%(keys)s) WITH ORDINALITY AS wanted (key, n)
CROSS JOIN LATERAL (
    WITH RECURSIVE level AS (
        (
            SELECT priority FROM url_frontier
            WHERE site = wanted.key AND status IN ('pending', 'waiting')
              AND priority <= CASE wanted.n WHEN 1 THEN %(priority)s::bigint ELSE 9223372036854775807 END
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
    SELECT line.*
    FROM level
    CROSS JOIN LATERAL (
        SELECT priority, next_fetch_at, sequence, url_hash, %(text)s::text = '' OR strpos(url, %(text)s::text) > 0
        FROM url_frontier
        WHERE site = wanted.key AND status IN ('pending', 'waiting') AND priority = level.priority
          AND next_fetch_at <= %(until)s::float8
          AND (next_fetch_at, sequence) > (
              CASE WHEN wanted.n = 1 AND level.priority = %(priority)s::bigint
                   THEN %(due)s::float8 ELSE %(since)s::float8 END,
              CASE WHEN wanted.n = 1 AND level.priority = %(priority)s::bigint
                   THEN %(number)s::bigint ELSE 9223372036854775807 END
          )
        ORDER BY next_fetch_at, sequence LIMIT %(most)s
    ) AS line
    ORDER BY line.priority DESC, line.next_fetch_at, line.sequence
    LIMIT %(most)s
) AS owed
ORDER BY wanted.n, owed.priority DESC, owed.next_fetch_at, owed.sequence
LIMIT %(most)s;

-- Of one reason, behind a site and a hash; {only} says of which site, if it is one.
-- name: ended_lines
SELECT {columns} FROM (
    SELECT {columns} FROM url_frontier
    WHERE status IN ('skipped', 'dead') AND last_error = %(reason)s::text {only}
      AND (site, url_hash) > (%(behind)s::text, %(hash)s::bigint)
    ORDER BY site, url_hash LIMIT %(look)s
) AS seen
WHERE (%(state)s::text IS NULL OR status = %(state)s::text)
  AND (%(status)s::bigint IS NULL OR status_code = %(status)s::bigint)
  AND (%(text)s::text = '' OR strpos(url, %(text)s::text) > 0)
ORDER BY site, url_hash LIMIT %(most)s;

-- name: ended_seen
SELECT site, url_hash, n FROM (
    SELECT site, url_hash, row_number() OVER (ORDER BY site, url_hash) AS n FROM url_frontier
    WHERE status IN ('skipped', 'dead') AND last_error = %(reason)s::text {only}
      AND (site, url_hash) > (%(behind)s::text, %(hash)s::bigint)
    ORDER BY site, url_hash LIMIT %(look)s
) AS seen
ORDER BY n DESC LIMIT 1;

-- What needs no reason to have ended has no index: it is looked for among all lines.
-- name: other_lines
SELECT {columns} FROM (
    SELECT {columns} FROM url_frontier WHERE url_hash > %(hash)s::bigint ORDER BY url_hash LIMIT %(look)s
) AS seen
WHERE status IN ('fetched', 'alias') AND url IS NOT NULL
  AND (%(state)s::text IS NULL OR status = %(state)s::text)
  AND (%(site)s::text IS NULL OR site = %(site)s::text)
  AND (%(status)s::bigint IS NULL OR status_code = %(status)s::bigint)
  AND (%(text)s::text = '' OR strpos(url, %(text)s::text) > 0)
ORDER BY url_hash LIMIT %(most)s;

-- name: other_seen
SELECT url_hash, n FROM (
    SELECT url_hash, row_number() OVER (ORDER BY url_hash) AS n FROM url_frontier
    WHERE url_hash > %(hash)s::bigint ORDER BY url_hash LIMIT %(look)s
) AS seen
ORDER BY n DESC LIMIT 1;
