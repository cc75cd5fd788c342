"""Where does a site live, and is this store ours? How many buckets there are is written once, when a store is made."""

from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from outrider.errors import ConfigError, SchemaMismatch
from outrider.model.codec import from_json, to_json
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.agreement import in_force, made_under, with_seed
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
    """What a store was made with. `rules` are what all who open it must agree on."""

    schema: int
    buckets: int
    rules: dict[str, str]
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
) -> tuple[Buckets, FrontierRules]:
    """Make the store, or check that it is one that these rules can use; with the rules in force."""
    number = wanted or (ON_A_CLUSTER if is_cluster(place) else ON_ONE_SERVER)
    key = f"{{{prefix}}}:made"
    # Of many who come at once the first one's seed stays; those that the others drew are forgotten.
    ours = Origins(SCHEMA, number, made_under(with_seed(rules)), spills)
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
    agreed = in_force(place, made.rules, rules)
    return Buckets(made.buckets, agreed), agreed
