-- Version 2: what was asked of whom, when, and what was promised then: what `outrider audit` recomputes.
--
--   request_batches  id, in order of writing; by key  the requests of a batch as one JSON list of lists
--   requests         (a view)                         the same as rows: pages, hops, retries, robots.txt, probes
--   robots_answers   site, fetched_at, origin         what was learned about each robots.txt; `digest` names its body
--   robots_bodies    id; by digest                    each body once, by its SHA-256
--   manners          name                             the settings that requests are judged by, as JSON
--
-- Moments are seconds since 1970. `visit` is the `fetch_id` of a page, `site` the one that was held. `not_before` is when
-- its turn was, `interval` the pause in force, `ended_at` when the answer was complete. A request without `status` and
-- `reason` was given up. `key` is a hash of the list: a batch that is written again is there once.

CREATE TABLE request_batches (id INTEGER PRIMARY KEY, key INTEGER NOT NULL UNIQUE, requests TEXT NOT NULL);

CREATE VIEW requests AS
SELECT
    json_extract(e.value, '$[0]') AS at, json_extract(e.value, '$[1]') AS visit,
    json_extract(e.value, '$[2]') AS turn, json_extract(e.value, '$[3]') AS site,
    json_extract(e.value, '$[4]') AS url, json_extract(e.value, '$[5]') AS method,
    json_extract(e.value, '$[6]') AS kind, json_extract(e.value, '$[7]') AS ended_at,
    json_extract(e.value, '$[8]') AS status, json_extract(e.value, '$[9]') AS reason,
    json_extract(e.value, '$[10]') AS retry_after, json_extract(e.value, '$[11]') AS not_before,
    json_extract(e.value, '$[12]') AS interval, json_extract(e.value, '$[13]') AS breaker,
    json_extract(e.value, '$[14]') AS probe_at, json_extract(e.value, '$[15]') AS openings,
    json_extract(e.value, '$[16]') AS manners
FROM request_batches AS b JOIN json_each(b.requests) AS e;

CREATE TABLE robots_answers (
    site TEXT NOT NULL,
    fetched_at REAL NOT NULL,
    origin TEXT NOT NULL,
    expires_at REAL NOT NULL,
    status TEXT NOT NULL,
    http_status INTEGER,
    detail TEXT NOT NULL,
    digest TEXT,
    PRIMARY KEY (site, fetched_at, origin)
) WITHOUT ROWID;

CREATE TABLE robots_bodies (id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, body BLOB NOT NULL);

CREATE TABLE manners (name TEXT PRIMARY KEY, said TEXT NOT NULL) WITHOUT ROWID;
