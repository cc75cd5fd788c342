-- Version 3: what operators have said, apart from the state that a site's holder writes back.
--
--   orders      site, by its key                     only those that ask for something; the site need not be known

CREATE TABLE orders (
    site TEXT PRIMARY KEY,
    paused INTEGER NOT NULL,
    excluded INTEGER NOT NULL,
    delay REAL,
    at REAL NOT NULL
) WITHOUT ROWID;
