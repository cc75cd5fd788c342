-- Version 1 of the records in one PostgreSQL schema, alone or beside a frontier.
--
--   pages          one row per visit, numbered in order of writing; a visit that is written again keeps its number
--   page_urls      where a URL occurs, by its hash: asked for, or where a visit ended
--   proofs         all the evidence of a visit, as one JSON list
--   evidence       a view: the same as rows of fetch_id, page, kind, url, content, metadata
--   decisions      every refusal: who, by which rule, on what evidence
--   record_counts  pages by status, and bytes, spread over slots by backend; the sum is the count
--   records_meta   the version of all this
--
-- `fetched_at` is ISO 8601 in UTC and sorts as text; `load_time` is in milliseconds; lengths are bytes; `host` and `port`
-- are those of `url`. A text here cannot hold the character 0: where one does, it is shown as U+FFFD, and `exact` has
-- the whole value as JSON.

CREATE TABLE records_meta (
    name  text PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE pages (
    id                      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fetch_id                text COLLATE "C" NOT NULL UNIQUE,
    scan_id                 text NOT NULL,
    url                     text COLLATE "C" NOT NULL,
    status_code             bigint NOT NULL,
    load_time               bigint NOT NULL,
    status                  text COLLATE "C" NOT NULL,
    final_url               text COLLATE "C" NOT NULL,
    content_type            text,
    content_length          bigint NOT NULL,
    redirect_count          bigint NOT NULL,
    robots_blocked          boolean NOT NULL,
    confidence              text COLLATE "C" NOT NULL,
    skip_content_extraction boolean NOT NULL,
    fetched_at              text COLLATE "C" NOT NULL,
    error                   text,
    reason                  text COLLATE "C", -- such as too_many_redirects; null for a success
    content_hash            text COLLATE "C",
    attempts                bigint NOT NULL,
    retries                 bigint NOT NULL,
    truncated               boolean NOT NULL,
    wire_length             bigint NOT NULL,
    content_key             text,
    depth                   bigint NOT NULL,
    origin                  text NOT NULL,
    parent                  text,
    title                   text,
    canonical               text,
    directives              text,             -- a JSON list; null when there are none
    links                   bigint NOT NULL,
    host                    text COLLATE "C" NOT NULL,
    port                    bigint NOT NULL,
    exact                   json
);
CREATE INDEX pages_by_reason ON pages (reason, id) WHERE reason IS NOT NULL;

CREATE TABLE page_urls (
    hash bigint NOT NULL,
    page bigint NOT NULL,
    PRIMARY KEY (hash, page)
);

CREATE TABLE proofs (
    page     bigint PRIMARY KEY,
    evidence json NOT NULL
);

CREATE VIEW evidence AS
SELECT p.fetch_id, p.id AS page, e.value #>> '{content,kind}' AS kind, coalesce(e.value ->> 'url', p.url) AS url,
       e.value -> 'content' AS content, e.value -> 'metadata' AS metadata
FROM pages p JOIN proofs f ON f.page = p.id CROSS JOIN LATERAL json_array_elements(f.evidence) e;

CREATE TABLE decisions (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key      bytea NOT NULL UNIQUE,           -- SHA-256 of url, by, reason and rule: the same decision is one row
    url_hash bigint NOT NULL,
    url      text COLLATE "C" NOT NULL,
    by       text NOT NULL,
    reason   text COLLATE "C" NOT NULL,
    rule     text NOT NULL,
    evidence text NOT NULL,
    at       double precision NOT NULL,
    parent   text,
    exact    json
);
CREATE INDEX decisions_by_url ON decisions (url_hash);

CREATE TABLE record_counts (
    slot smallint NOT NULL,
    name text COLLATE "C" NOT NULL,           -- a status, or bytes
    n    bigint NOT NULL,
    PRIMARY KEY (slot, name)
) WITH (fillfactor = 50);
