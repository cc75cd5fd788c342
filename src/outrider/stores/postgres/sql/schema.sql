-- A map of the tables. Every store is one schema; times are seconds since the epoch, so that they come back bit by bit
-- (to_timestamp() makes them readable).
--
--   meta           what the store was made under: version, identity, site_by
--   url_frontier   one row per URL ever proposed; its key is the 64-bit identity hash, and nothing else tells URLs apart
--   sites          one row per politeness unit: times, queue lengths, and the lease, which is columns and never an open
--                  transaction. Whoever changes a URL that is owed a visit holds the lock on its site's row
--   counts         the census, spread over slots by backend, so that nobody waits for a counter; the sum is the count
--   places         numbers the ended in the order in which they ended, one block of a million per transaction
--
-- `ready_at` is computed from the other columns wherever they are written: it cannot be wrong, and no statement sets it.

CREATE TABLE meta (
    name  text PRIMARY KEY,
    value text NOT NULL
);

CREATE SEQUENCE places INCREMENT BY 1000000;

CREATE TABLE url_frontier (
    url_hash      bigint PRIMARY KEY,
    url           text COLLATE "C",          -- null when only the hash is known: it came from a compact store
    host          text COLLATE "C" GENERATED ALWAYS AS (split_part(url, '/', 3)) STORED,
    site          text COLLATE "C" NOT NULL,
    status        text COLLATE "C" NOT NULL, -- pending, waiting, fetched, skipped, dead, alias
    priority      bigint NOT NULL DEFAULT 0,
    depth         integer NOT NULL DEFAULT 0,
    origin        text COLLATE "C" NOT NULL DEFAULT 'seed',
    parent        text COLLATE "C",
    sequence      bigint NOT NULL DEFAULT 0, -- first come, first served, within its site
    next_fetch_at double precision NOT NULL DEFAULT 0,
    retry_count   integer NOT NULL DEFAULT 0, -- visits that counted against the URL, as the ledger shows them
    task_visits   integer NOT NULL DEFAULT 0, -- the same, as the task that may be revived has them
    deferrals     integer NOT NULL DEFAULT 0,
    deferred_at   double precision,
    recoveries    integer NOT NULL DEFAULT 0,
    last_error    text COLLATE "C",          -- a reason, such as too_many_redirects; a success clears it
    detail        text,
    status_code   integer,
    etag          text,
    last_modified text,
    content_hash  text COLLATE "C",
    visited_at    double precision,
    alias_of      text COLLATE "C",          -- the name under which the page is kept
    duplicate_of  text COLLATE "C",          -- another row that this page turned out to be
    fetch_count   integer NOT NULL DEFAULT 0,
    has_task      boolean NOT NULL DEFAULT false, -- may be lent, or revived
    extra         bytea,                     -- the rest of the task, as MessagePack
    place         bigint NOT NULL DEFAULT 0,
    discovered_at double precision NOT NULL,
    updated_at    double precision NOT NULL
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

CREATE INDEX url_frontier_owed ON url_frontier (site, priority DESC, next_fetch_at, sequence)
    WHERE status IN ('pending', 'waiting');

CREATE INDEX url_frontier_ended ON url_frontier (last_error, site) WHERE status IN ('skipped', 'dead');

CREATE TABLE sites (
    key           text COLLATE "C" PRIMARY KEY,
    not_before    double precision NOT NULL DEFAULT 0,
    pause         double precision NOT NULL DEFAULT 0, -- the interval of its pace
    first_due     double precision,          -- the earliest next_fetch_at of what it owes; true while nobody holds it
    pending       bigint NOT NULL DEFAULT 0,
    waiting       bigint NOT NULL DEFAULT 0,
    sequence      bigint NOT NULL DEFAULT 0,
    admitted      bigint NOT NULL DEFAULT 0,
    set_aside     boolean NOT NULL DEFAULT false,
    excluded      boolean NOT NULL DEFAULT false,
    token         bigint NOT NULL DEFAULT 0,
    deadline      double precision,          -- null while nobody holds it
    shown         bytea NOT NULL DEFAULT '', -- identity hashes of the tasks that the lease shows, eight bytes each
    state         bytea NOT NULL,            -- the rest of the site, as MessagePack
    robots        bytea,                     -- its robots.txt files apart, since they are large and seldom change
    robots_digest bytea,
    ready_at      double precision GENERATED ALWAYS AS (
        CASE
            WHEN pending + waiting = 0 OR set_aside OR excluded THEN NULL
            WHEN deadline IS NOT NULL THEN greatest(not_before, deadline + pause)
            ELSE greatest(not_before, first_due)
        END
    ) STORED
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

CREATE INDEX sites_ready ON sites (ready_at, key) WHERE ready_at IS NOT NULL;

CREATE TABLE counts (
    slot   smallint NOT NULL,
    state  text COLLATE "C" NOT NULL,        -- a state, or discovered, sites, leased, stale
    reason text COLLATE "C" NOT NULL,
    n      bigint NOT NULL,
    PRIMARY KEY (slot, state, reason)
) WITH (fillfactor = 50);
