"""The frontier in Redis, for crawls of many workers: one server, or a cluster.

`lua/` holds every act that must be atomic, `bucket.lua` the map of keys. Here is what has to be true of the keys:

- a site lives in one bucket with all that belongs to it, so that every act on it is one script on one node;
- which bucket is a stable hash of its name, and how many there are is fixed when the store is made;
- a URL is known by a whole number in a set of its site's bucket: exact, and about nine bytes.
"""
