"""Where does a site live, and is this store ours? How many buckets there are is written once, when a store is made.

Every bucket bears the mark of its store, so that data which is lost under open handles is noticed by the next act on
it, on every node of a cluster. Only while `{prefix}:marked` is not there may a mark be missing: the store is just being
made, or was made before there were marks. From then on a bucket without one has lost what it held.
"""

from typing import Final
from uuid import uuid4

from msgspec import Struct
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from outrider.errors import ConfigError, SchemaMismatch
from outrider.model.codec import from_json, to_json
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.agreement import in_force, made_under, with_seed
from outrider.stores.place import Place
from outrider.stores.redis.dedup import Bloom, Dedup
from outrider.stores.redis.link import is_cluster
from outrider.stores.redis.server import Server

SCHEMA: Final = 1
ON_ONE_SERVER: Final = 1
"""A server runs one script at a time, so that more buckets would only mean more calls."""
ON_A_CLUSTER: Final = 64
MARK: Final = "mark"
"""Among the counters of a bucket; the one that is no number."""


class Version(Struct, frozen=True):
    """The one thing that every version of `Origins` says."""

    schema: int


class Origins(Struct, frozen=True):
    """What a store was made with. `rules` are what all who open it must agree on; no two have the same `mark`."""

    schema: int
    buckets: int
    rules: dict[str, str]
    spills: bool = False
    bloom: Bloom | None = None
    mark: str = ""


class Buckets:
    """`bloom` is the filter by which URLs are known; None when all their hashes are kept."""

    def __init__(self, number: int, rules: FrontierRules, bloom: Bloom | None = None) -> None:
        self.number = number
        self.every = range(number)
        self.bloom = bloom
        self._site_by = rules.site_by

    def of_site(self, site: str) -> int:
        """Stable in every process (H2-12)."""
        return int(xxh3_64_intdigest(site.encode()) % self.number) if self.number > 1 else 0

    def of_hash(self, key: int) -> int:
        """Where a stray lives: a hash without its URL."""
        return key % self.number

    def site_of(self, url: Url) -> str:
        return url.site(self._site_by)


class Wanted(Struct, frozen=True):
    """What the URL of a store asks for; no `buckets` (0) means those that the store has."""

    buckets: int
    dedup: Dedup
    spills: bool = False


async def open_buckets(
    server: Server, place: Place, rules: FrontierRules, wanted: Wanted
) -> tuple[Buckets, FrontierRules]:
    """Make the store, or check that it is one that these rules can use; with the rules in force."""
    key, marked = f"{{{server.prefix}}}:made", f"{{{server.prefix}}}:marked"
    stored, is_marked = await server.command("MGET", key, marked)
    if stored is None:
        if place.must_exist:
            raise ConfigError(f"{place}: there is no frontier under the prefix {server.prefix!r}")
        # Of many who come at once the first one's seed stays; those that the others drew are forgotten.
        await server.command("SET", key, to_json(await _origins(server, place, rules, wanted)), "NX")
        stored = await server.command("GET", key)
    schema = from_json(stored, Version).schema
    if schema != SCHEMA:
        raise SchemaMismatch(f"{place}: the store was made with schema {schema}; this program reads {SCHEMA}")
    made = from_json(stored, Origins)
    if made.spills != wanted.spills:
        scheme = "redis+files:" if made.spills else "redis:"
        raise ConfigError(f"{place}: the store was made as {scheme}; move it, or open it so")
    if wanted.buckets and made.buckets != wanted.buckets:
        raise ConfigError(f"{place}: the store was made with buckets={made.buckets}, which cannot be changed")
    wanted.dedup.check(place, made.bloom)
    agreed = in_force(place, made.rules, rules)
    if made.bloom is not None:
        server.constants["BLOOM"] = made.bloom.constant(made.buckets)
    # A store that was made before there were marks has none of its own; what it says of itself tells it apart as well.
    server.mark = made.mark or xxh3_64_hexdigest(stored)
    if is_marked is None:
        keys = {bucket: server.key(bucket, "c") for bucket in range(made.buckets)}
        await server.command_each({bucket: ("HSETNX", key, MARK, server.mark) for bucket, key in keys.items()})
        await server.command("SET", marked, server.mark, "NX")
    return Buckets(made.buckets, agreed, made.bloom), agreed


async def _origins(server: Server, place: Place, rules: FrontierRules, wanted: Wanted) -> Origins:
    number = wanted.buckets or (ON_A_CLUSTER if is_cluster(place) else ON_ONE_SERVER)
    bloom = wanted.dedup.made(has_module=False)
    if bloom is not None:
        bloom = wanted.dedup.made(has_module=await server.has_command("BF.RESERVE"))
    return Origins(SCHEMA, number, made_under(with_seed(rules)), wanted.spills, bloom, uuid4().hex)
