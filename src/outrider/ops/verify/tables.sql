-- What is compared, in a temporary database of its own: at a million pages it takes some 500 MB of the disk and no more
-- memory than its cache. Texts that only an example would show are read again from their file when one is needed.
--
--   files      id; by stem          the files of the archive, as they were found at the beginning
--   lines      file, place          what the indexes list; `said` is a hash of the line, which begins at `position`
--   pages      in order of reading  the pages on record; `told` is a hash of what their event must have said
--   events     in order of reading  visits that were told of; `told` likewise, 0 for those that are no fetched page
--   captures   file, place          what the archive holds

CREATE TABLE files (id INTEGER PRIMARY KEY, stem TEXT NOT NULL UNIQUE, is_open INTEGER NOT NULL);

CREATE TABLE lines (
    file INTEGER NOT NULL,
    place INTEGER NOT NULL,
    length INTEGER NOT NULL,
    said INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (file, place)
) WITHOUT ROWID;

CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    fetch_id TEXT NOT NULL,
    url TEXT NOT NULL,
    final_url TEXT,
    status TEXT NOT NULL,
    status_code INTEGER NOT NULL,
    content_hash TEXT,
    content_length INTEGER NOT NULL,
    wire_length INTEGER NOT NULL,
    truncated INTEGER NOT NULL,
    file INTEGER,
    place INTEGER,
    length INTEGER,
    is_unsettled INTEGER NOT NULL,
    told INTEGER NOT NULL
);

CREATE TABLE events (
    fetch_id TEXT NOT NULL,
    told INTEGER NOT NULL,
    source INTEGER NOT NULL,
    position INTEGER NOT NULL
);

CREATE TABLE captures (
    file INTEGER NOT NULL,
    place INTEGER NOT NULL,
    length INTEGER NOT NULL,
    fetch_id TEXT NOT NULL,
    PRIMARY KEY (file, place)
) WITHOUT ROWID;
