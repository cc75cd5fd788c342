-- Version 2: the latest hashes stand in `recent` until many of them are put into `seen` at once.
--
--   recent      id, in order of coming               the hashes that an act saw first, 8 bytes each, sorted, little-endian;
--                                                    a row without any says that all before it are in `seen`

CREATE TABLE recent (id INTEGER PRIMARY KEY, hashes BLOB NOT NULL);
