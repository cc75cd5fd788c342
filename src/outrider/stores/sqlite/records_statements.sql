-- What the records say to the file, by name. The tables are in records.sql; {columns} are those of a page, in the order
-- of `page_rows`, and {holes} a mark for each.

-- name: known
SELECT fetch_id, id, status, wire_length, url, final_url FROM pages
WHERE fetch_id IN (SELECT value FROM json_each(?));

-- name: last
SELECT coalesce(max(id), 0) FROM pages;

-- name: put_page
INSERT OR REPLACE INTO pages (id, {columns}, host, port) VALUES (?, {holes}, ?, ?);

-- name: put_url
INSERT INTO page_urls (hash, page) VALUES (?, ?);

-- name: put_proof
INSERT OR REPLACE INTO proofs (page, evidence) VALUES (?, ?);

-- name: put_decision
INSERT INTO decisions (url_hash, url, by, reason, rule, evidence, at, parent)
SELECT ?, ?, ?, ?, ?, ?, ?, ? WHERE NOT EXISTS (
    SELECT 1 FROM decisions WHERE url_hash = ? AND url = ? AND by = ? AND reason = ? AND rule = ?
);

-- name: drop_url
DELETE FROM page_urls WHERE hash = ? AND page = ?;

-- name: count
INSERT INTO record_counts (name, n) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET n = n + excluded.n;

-- name: counts
SELECT name, n FROM record_counts;

-- name: pages_at
SELECT {columns}, evidence FROM page_urls JOIN pages ON id = page_urls.page JOIN proofs ON proofs.page = id
WHERE hash = ? AND ? IN (url, final_url)
ORDER BY fetched_at, id;

-- name: decisions_about
SELECT url, by, reason, rule, evidence, at, parent FROM decisions WHERE url_hash = ? AND url = ? ORDER BY at, id;

-- name: last_decision
SELECT coalesce(max(id), 0) FROM decisions;

-- name: decisions_after
SELECT id, url, by, reason, rule, evidence, at, parent FROM decisions WHERE id > ? AND id <= ? ORDER BY id LIMIT ?;

-- name: visits_where
SELECT id, {columns}, evidence FROM pages JOIN proofs ON proofs.page = id
WHERE id > :after AND id <= :last {conditions} ORDER BY id LIMIT :most;

-- name: pages_where
SELECT id, {columns} FROM pages WHERE id > :after AND id <= :last {conditions} ORDER BY id LIMIT :most;

-- name: look_back
SELECT id, {is_wanted} FROM pages WHERE id < :before ORDER BY id DESC;

-- name: look_back_by_reason
SELECT id, {is_wanted} FROM pages INDEXED BY pages_by_reason WHERE reason = :reason AND id < :before ORDER BY id DESC;

-- name: pages_with_ids
SELECT id, {columns} FROM pages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id DESC;
