-- Version 1 of a frontier in one SQLite file.
--
--   seen        hash                                 every URL ever proposed, by identity; rows are never removed
--   queue       site, rank, due_at, sequence         every task owed a visit; a lease shows rows and leaves them here
--   ended       id, in order of ending               URLs that were skipped, died or are another's alias, and fetched
--                                                    ones that duplicate another; the other fetched ones are only seen
--   sites       id; by key; by ready_at and key      politeness units: their state, counts, holder, and what it is shown
--   robots      site                                 robots.txt files, apart because they are large and seldom change
--   origins     id; by text                          scheme, host and port, once; queue rows hold path and query
--   strays      hash                                 tasks that do not sit in the queue of their URL's own site
--   counts      name, reason                         the ledger's sums, written with what they count
--   about       name                                 what all who open the file must agree on
--   migrations  version                              what made the file what it is
--
-- An insert costs the same at ten thousand rows and at ten million only if it touches few trees at random places. So a
-- task has no index of its own: `seen` is a bare tree of integers, and `queue` is clustered by the order in which a
-- site's tasks are lent, where new ones come at the end. Only `sites`, which are fewer, are found in several ways.
--
-- `rank` is the priority, negated. `ready_at` is NULL while a site owes nothing or must be left alone; for a site that
-- is held it is the moment at which its lease may be lent again. `shown` lists the keys of the rows that a lease shows.

CREATE TABLE seen (hash INTEGER PRIMARY KEY);

CREATE TABLE queue (
    site INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    due_at REAL NOT NULL,
    sequence INTEGER NOT NULL,
    hash INTEGER NOT NULL,
    origin INTEGER NOT NULL,
    target TEXT NOT NULL,
    rest BLOB NOT NULL,
    PRIMARY KEY (site, rank, due_at, sequence)
) WITHOUT ROWID;

CREATE TABLE ended (
    id INTEGER PRIMARY KEY,
    hash INTEGER NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    site TEXT NOT NULL,
    revivable INTEGER NOT NULL,
    url TEXT NOT NULL,
    rest BLOB NOT NULL
);
CREATE UNIQUE INDEX ended_by_hash ON ended (hash);

CREATE TABLE sites (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    ready_at REAL,
    deadline REAL,
    token INTEGER NOT NULL DEFAULT 0,
    sequence INTEGER NOT NULL DEFAULT 0,
    pending INTEGER NOT NULL DEFAULT 0,
    waiting INTEGER NOT NULL DEFAULT 0,
    aside INTEGER NOT NULL DEFAULT 0,
    robots INTEGER,
    shown BLOB,
    state BLOB
);
CREATE INDEX sites_by_turn ON sites (ready_at, key) WHERE ready_at IS NOT NULL;
CREATE INDEX sites_aside ON sites (key) WHERE aside;

CREATE TABLE robots (site INTEGER PRIMARY KEY, files BLOB NOT NULL);

CREATE TABLE origins (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);

CREATE TABLE strays (hash INTEGER PRIMARY KEY, site INTEGER NOT NULL);

CREATE TABLE counts (
    name TEXT NOT NULL,
    reason TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (name, reason)
) WITHOUT ROWID;

CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
