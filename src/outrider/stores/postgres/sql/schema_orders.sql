-- Version 2: what operators have said, apart from the state that a site's holder writes back.
--
--   orders         by the site's key: only those that ask for something; the site need not be known

CREATE TABLE orders (
    site     text COLLATE "C" PRIMARY KEY,
    paused   boolean NOT NULL,
    excluded boolean NOT NULL,
    delay    double precision,
    at       double precision NOT NULL
);
