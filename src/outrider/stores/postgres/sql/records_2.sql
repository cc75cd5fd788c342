-- Version 2: what was asked of whom, when, and what was promised then: what `outrider audit` recomputes.
--
--   request_batches  the requests of a batch as one JSON list of lists; `key` is a hash of it: what is written again is
--                    there once
--   requests         a view: the same as rows: pages, hops, retries, robots.txt, probes; `visit` is the fetch_id of a page
--   robots_answers   what was learned about each robots.txt; `digest` names its body
--   robots_bodies    each body once, by its SHA-256
--   manners          the settings that requests are judged by
--
-- Moments are seconds since 1970. A request without `status` and `reason` was given up.

CREATE TABLE request_batches (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key      bigint NOT NULL UNIQUE,
    requests json NOT NULL
);

CREATE VIEW requests AS
SELECT (e.value ->> 0)::double precision AS at, e.value ->> 1 AS visit,
       (e.value ->> 2)::bigint AS turn, e.value ->> 3 AS site,
       e.value ->> 4 AS url, e.value ->> 5 AS method,
       e.value ->> 6 AS kind, (e.value ->> 7)::double precision AS ended_at,
       (e.value ->> 8)::bigint AS status, e.value ->> 9 AS reason,
       (e.value ->> 10)::double precision AS retry_after, (e.value ->> 11)::double precision AS not_before,
       (e.value ->> 12)::double precision AS interval, e.value ->> 13 AS breaker,
       (e.value ->> 14)::double precision AS probe_at, (e.value ->> 15)::bigint AS openings,
       e.value ->> 16 AS manners
FROM request_batches b CROSS JOIN LATERAL json_array_elements(b.requests) e;

CREATE TABLE robots_answers (
    site        text COLLATE "C" NOT NULL,
    fetched_at  double precision NOT NULL,
    origin      text COLLATE "C" NOT NULL,
    expires_at  double precision NOT NULL,
    status      text NOT NULL,
    http_status bigint,
    detail      text NOT NULL,
    digest      text,
    PRIMARY KEY (site, fetched_at, origin)
);

CREATE TABLE robots_bodies (
    digest text PRIMARY KEY,
    body   bytea NOT NULL
);

CREATE TABLE manners (
    name text PRIMARY KEY,
    said json NOT NULL
);
