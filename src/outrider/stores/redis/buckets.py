"""Where does a site live, and is this store ours? How many buckets there are is written once, when a store is made."""

import hashlib
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from outrider.errors import ConfigError, SchemaMismatch
from outrider.model.codec import from_json, to_json
from outrider.model.identity import Identity
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.place import Place
from outrider.stores.redis.server import Server, is_cluster

SCHEMA: Final = 1
ON_ONE_SERVER: Final = 1
"""A server runs one script at a time, so that more buckets would only mean more calls."""
ON_A_CLUSTER: Final = 64


class Version(Struct, frozen=True):
    """The one thing that every version of `Origins` says."""

    schema: int


class Origins(Struct, frozen=True):
    """What a store was made with. All who open it must agree, or they would not find what the others wrote."""

    schema: int
    buckets: int
    identity: str
    strip_tracking: bool
    sort_query: bool
    site_by: str
    spills: bool = False


class Buckets:
    def __init__(self, number: int, rules: FrontierRules) -> None:
        self.number = number
        self.every = range(number)
        self._site_by = rules.site_by

    def of_site(self, site: str) -> int:
        """Stable in every process (H2-12)."""
        return int(xxh3_64_intdigest(site.encode()) % self.number) if self.number > 1 else 0

    def of_hash(self, key: int) -> int:
        """Where a stray lives: a hash without its URL."""
        return key % self.number

    def site_of(self, url: Url) -> str:
        return url.site(self._site_by)


async def open_buckets(
    server: Server, place: Place, rules: FrontierRules, prefix: str, wanted: int, *, spills: bool = False
) -> Buckets:
    """Make the store, or check that it is one that these rules can use."""
    number = wanted or (ON_A_CLUSTER if is_cluster(place) else ON_ONE_SERVER)
    identity = rules.identity
    seed = _fingerprint(identity)
    ours = Origins(SCHEMA, number, seed, identity.strip_tracking, identity.sort_query, rules.site_by, spills)
    key = f"{{{prefix}}}:made"
    await server.command("SET", key, to_json(ours), "NX")
    stored = await server.command("GET", key)
    schema = from_json(stored, Version).schema
    if schema != SCHEMA:
        raise SchemaMismatch(f"{place}: the store was made with schema {schema}; this program reads {SCHEMA}")
    made = from_json(stored, Origins)
    if made.spills != spills:
        scheme = "redis+files:" if made.spills else "redis:"
        raise ConfigError(f"{place}: the store was made as {scheme}; move it, or open it so")
    if wanted and made.buckets != wanted:
        raise ConfigError(f"{place}: the store was made with buckets={made.buckets}, which cannot be changed")
    for name in ("strip_tracking", "sort_query", "site_by"):
        if getattr(made, name) != getattr(ours, name):
            raise SchemaMismatch(
                f"{place}: the store was made with {name}={getattr(made, name)}, not {getattr(ours, name)}"
            )
    if made.identity != ours.identity:
        raise SchemaMismatch(f"{place}: the store was made under another identity: its seed is not the one given")
    return Buckets(made.buckets, rules)


def _fingerprint(identity: Identity) -> str:
    """Tells seeds apart without showing them."""
    return hashlib.sha256(f"outrider identity {identity.seed}".encode()).hexdigest()[:16]
