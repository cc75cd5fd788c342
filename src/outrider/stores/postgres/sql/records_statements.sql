-- What the records say to the server, by name. The tables are in records.sql; {columns} are those of a page, in the
-- order of `page_rows`, and {arrays} their values, a parameter each.

-- name: known
SELECT fetch_id, id, status, wire_length, url, final_url FROM pages WHERE fetch_id = ANY(%(fetch_ids)s)
ORDER BY fetch_id
FOR UPDATE;

-- name: put_pages
INSERT INTO pages ({columns}, host, port, exact)
SELECT {columns}, host, port, exact::json
FROM unnest({arrays}, %(host)s, %(port)s, %(exact)s) WITH ORDINALITY AS new ({columns}, host, port, exact, place)
ORDER BY place
ON CONFLICT (fetch_id) DO UPDATE SET {changes}, host = excluded.host, port = excluded.port, exact = excluded.exact
RETURNING fetch_id, id, xmax = 0;

-- name: put_urls
INSERT INTO page_urls (hash, page) SELECT hash, page FROM unnest(%(hashes)s, %(pages)s) AS new (hash, page)
ON CONFLICT DO NOTHING;

-- name: put_proofs
INSERT INTO proofs (page, evidence)
SELECT page, evidence::json FROM unnest(%(pages)s, %(proofs)s) AS new (page, evidence)
ON CONFLICT (page) DO UPDATE SET evidence = excluded.evidence;

-- name: drop_urls
DELETE FROM page_urls USING unnest(%(hashes)s, %(pages)s) AS old (hash, page)
WHERE page_urls.hash = old.hash AND page_urls.page = old.page;

-- name: put_decisions
INSERT INTO decisions (key, url_hash, url, by, reason, rule, evidence, at, parent, exact)
SELECT key, url_hash, url, by, reason, rule, evidence, at, parent, exact::json
FROM unnest(%(keys)s, %(hashes)s, %(urls)s, %(by)s, %(reasons)s, %(rules)s, %(evidence)s, %(at)s, %(parents)s, %(exact)s)
    WITH ORDINALITY AS new (key, url_hash, url, by, reason, rule, evidence, at, parent, exact, place)
ORDER BY place
ON CONFLICT (key) DO NOTHING;

-- name: count
INSERT INTO record_counts (slot, name, n)
SELECT pg_backend_pid() %% 16, name, n FROM unnest(%(names)s, %(numbers)s) AS new (name, n)
ORDER BY name
ON CONFLICT (slot, name) DO UPDATE SET n = record_counts.n + excluded.n;

-- name: counts
SELECT name, sum(n)::bigint FROM record_counts GROUP BY name;

-- name: pages_at
SELECT exact::text, {columns}, evidence::text
FROM page_urls JOIN pages ON id = page_urls.page JOIN proofs ON proofs.page = id
WHERE hash = %(hash)s AND (url = %(url)s OR final_url = %(url)s)
ORDER BY fetched_at, id;

-- name: decisions_about
SELECT exact::text, url, by, reason, rule, evidence, at, parent FROM decisions
WHERE url_hash = %(hash)s AND url = %(url)s
ORDER BY at, id;

-- name: last_decision
SELECT coalesce(max(id), 0) FROM decisions;

-- name: decisions_after
SELECT exact::text, id, url, by, reason, rule, evidence, at, parent FROM decisions
WHERE id > %(after)s AND id <= %(last)s
ORDER BY id
LIMIT %(most)s;

-- name: last
SELECT coalesce(max(id), 0) FROM pages;

-- name: visits_where
SELECT id, exact::text, {columns}, evidence::text FROM pages JOIN proofs ON proofs.page = id
WHERE id > :after AND id <= :last {conditions} ORDER BY id LIMIT :most;

-- name: pages_where
SELECT exact::text, id, {columns} FROM pages WHERE id > :after AND id <= :last {conditions} ORDER BY id LIMIT :most;

-- name: look_back
SELECT exact::text, id, {columns} FROM (
    SELECT * FROM pages WHERE id < :before {narrow} ORDER BY id DESC LIMIT :look
) AS seen
WHERE true {conditions}
ORDER BY id DESC LIMIT :most;

-- name: looked_back
SELECT count(*), min(id) FROM (
    SELECT id FROM pages WHERE id < :before {narrow} ORDER BY id DESC LIMIT :look
) AS seen;

-- name: put_version
INSERT INTO records_meta (name, value) VALUES ('version', %(version)s)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;
