-- What an audit's tables are told and asked, by name. The tables are in records_2.sql; {robots} are the columns of a row,
-- in the order of `asked_rows`, with a hole for each in {holes}.

-- name: put_batch
INSERT OR IGNORE INTO request_batches (key, requests) VALUES (?, ?);

-- name: put_robots
INSERT OR IGNORE INTO robots_answers ({robots}) VALUES ({holes});

-- name: put_body
INSERT OR IGNORE INTO robots_bodies (digest, body) VALUES (?, ?);

-- name: put_manners
INSERT OR IGNORE INTO manners (name, said) VALUES (?, ?);

-- name: batches
SELECT requests FROM request_batches ORDER BY id;

-- name: robots
SELECT {robots}, body FROM robots_answers LEFT JOIN robots_bodies USING (digest) ORDER BY site, fetched_at, origin;

-- name: manners
SELECT name, said FROM manners;
