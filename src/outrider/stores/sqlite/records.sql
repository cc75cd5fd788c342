-- Version 1 of the records in one SQLite file, alone or beside a frontier.
--
--   pages               id, in order of writing; by fetch_id   one row per visit: what `outrider pages` shows
--   page_urls           hash, page                             where a URL occurs: asked for, or where a visit ended
--   proofs              page                                   all the evidence of a visit, as one JSON list
--   evidence            (a view)                               the same as rows: fetch_id, page, kind, url, content,
--                                                              metadata; the last two are JSON
--   decisions           id; by url_hash                        every refusal: who, by which rule, on what evidence
--   record_counts       name                                   pages by status, and bytes; written with what they count
--   records_migrations  version                                what made these tables what they are
--
-- Made to be queried by people, also while a crawl writes:
--
--   SELECT status_code, count(*) FROM pages GROUP BY 1;
--   SELECT url, error FROM pages WHERE reason = 'too_many_redirects';
--   SELECT url, json_extract(content, '$.rule') FROM evidence
--    WHERE kind = 'robots_check' AND NOT json_extract(content, '$.allowed');
--
-- `fetched_at` is ISO 8601 in UTC and sorts as text; `load_time` is in milliseconds; `host` and `port` are those of
-- `url`; lengths are bytes, `wire_length` as sent. `directives` is a JSON list, NULL when there are none. `reason` is
-- NULL for a success.
--
-- A visit that is written again keeps its id. Evidence is one row for a visit because six small ones took four times as
-- long to write. URLs are found by a hash of 64 bits, since their texts would make an index as large as the pages: 32
-- bits are of the host, so that the pages of one site lie together, and 32 of the whole. Only `page_urls`, the index of
-- fetch ids and that of decisions grow at random places; all else grows at its end, so that writing costs about the
-- same at a thousand rows and at ten million.

CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    fetch_id TEXT NOT NULL UNIQUE,
    scan_id TEXT NOT NULL,
    url TEXT NOT NULL,
    status_code INTEGER NOT NULL,
    load_time INTEGER NOT NULL,
    status TEXT NOT NULL,
    final_url TEXT NOT NULL,
    content_type TEXT,
    content_length INTEGER NOT NULL,
    redirect_count INTEGER NOT NULL,
    robots_blocked INTEGER NOT NULL,
    confidence TEXT NOT NULL,
    skip_content_extraction INTEGER NOT NULL,
    fetched_at TEXT NOT NULL,
    error TEXT,
    reason TEXT,
    content_hash TEXT,
    attempts INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    truncated INTEGER NOT NULL,
    wire_length INTEGER NOT NULL,
    content_key TEXT,
    depth INTEGER NOT NULL,
    origin TEXT NOT NULL,
    parent TEXT,
    title TEXT,
    canonical TEXT,
    directives TEXT,
    links INTEGER NOT NULL,
    host TEXT NOT NULL,
    port INTEGER NOT NULL
);
CREATE INDEX pages_by_reason ON pages (reason) WHERE reason IS NOT NULL;

CREATE TABLE page_urls (
    hash INTEGER NOT NULL,
    page INTEGER NOT NULL,
    PRIMARY KEY (hash, page)
) WITHOUT ROWID;

CREATE TABLE proofs (page INTEGER PRIMARY KEY, evidence TEXT NOT NULL);

CREATE VIEW evidence AS
SELECT p.fetch_id, p.id AS page, json_extract(e.value, '$.content.kind') AS kind,
    coalesce(json_extract(e.value, '$.url'), p.url) AS url,
    json_extract(e.value, '$.content') AS content, json_extract(e.value, '$.metadata') AS metadata
FROM pages AS p JOIN proofs AS f ON f.page = p.id JOIN json_each(f.evidence) AS e;

CREATE TABLE decisions (
    id INTEGER PRIMARY KEY,
    url_hash INTEGER NOT NULL,
    url TEXT NOT NULL,
    by TEXT NOT NULL,
    reason TEXT NOT NULL,
    rule TEXT NOT NULL,
    evidence TEXT NOT NULL,
    at REAL NOT NULL,
    parent TEXT
);
CREATE INDEX decisions_by_url ON decisions (url_hash);

CREATE TABLE record_counts (name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
