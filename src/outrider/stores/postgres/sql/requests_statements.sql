-- What an audit's tables are told and asked, by name. The tables are in records_2.sql; {robots} are the columns of a row,
-- in the order of `asked_rows`, and {arrays} their values.

-- name: put_batch
INSERT INTO request_batches (key, requests) VALUES (%(key)s, %(requests)s::text::json) ON CONFLICT (key) DO NOTHING;

-- name: put_bodies
INSERT INTO robots_bodies (digest, body)
SELECT digest, body FROM unnest(%(digests)s, %(bodies)s) AS new (digest, body) ORDER BY digest
ON CONFLICT DO NOTHING;

-- name: put_robots
INSERT INTO robots_answers ({robots})
SELECT {robots} FROM unnest({arrays}) AS new ({robots}) ORDER BY site, fetched_at, origin
ON CONFLICT DO NOTHING;

-- name: put_manners
INSERT INTO manners (name, said) SELECT name, said::json FROM unnest(%(names)s, %(said)s) AS new (name, said)
ORDER BY name
ON CONFLICT DO NOTHING;

-- name: batches
SELECT requests::text FROM request_batches ORDER BY id;

-- name: robots
SELECT {prefixed}, b.body FROM robots_answers a LEFT JOIN robots_bodies b ON b.digest = a.digest
ORDER BY site, fetched_at, origin;

-- name: manners
SELECT name, said::text FROM manners;
