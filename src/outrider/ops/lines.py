"""A frontier as JSON lines: a header, then sites, ledger lines and hashes. What `export` writes, `import` reads.

Each line is an object with one key that says what it is, so that other programs can pick what they need. The header
holds the seed of the hashes, without which they could not be imported: an export is as secret as the store.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from outrider.errors import ConfigError
from outrider.model import codec
from outrider.model.identity import Identity
from outrider.model.ledger import Census, Entry
from outrider.model.site import Site
from outrider.model.url import SiteBy
from outrider.ops.source import Source, has_hashes
from outrider.ports import FrontierRules

T = TypeVar("T")

VERSION: Final = 1
_BATCH: Final = 1_000
_SEEDS: Final = 1 << 64


class Made(Struct, frozen=True, forbid_unknown_fields=True):
    """Under what the hashes were made; `bare` when there are URLs of which nothing else is known."""

    identity: Identity
    site_by: SiteBy
    bare: bool


class Line(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    frontier: int | None = None
    made: Made | None = None
    census: Census | None = None
    site: Site | None = None
    url: Entry | None = None
    hashes: list[int] | None = None


async def exported(source: Source) -> AsyncIterator[bytes]:
    """One line each, without the newline."""
    # The hashes come last, and whoever imports must know before the first line whether there are any.
    bare = await has_hashes(source)
    made = Made(source.rules.identity, source.rules.site_by, bare)
    yield codec.to_json(Line(frontier=VERSION, made=made, census=await source.census()))
    async for sites in source.sites():
        for site in sites:
            yield codec.to_json(Line(site=site))
    async for entries in source.entries():
        for entry in entries:
            yield codec.to_json(Line(url=entry))
    async for hashes in source.hashes():
        yield codec.to_json(Line(hashes=hashes))


class LinesSource:
    """An export, read as a source to move from: once, in its own order, however large it is."""

    def __init__(self, name: str, lines: Iterable[bytes]) -> None:
        self._name = name
        self._lines = self._parsed(lines)
        self._ahead = next(self._lines, None)
        header = self._take(lambda line: line) or Line()
        if header.frontier is not None and header.frontier > VERSION:
            raise ConfigError(f"{name} has version {header.frontier}; this outrider reads up to {VERSION}")
        made = header.made
        if header.frontier is None or header.census is None or made is None or not 0 < made.identity.seed < _SEEDS:
            raise ConfigError(f"{name} is not an export of a frontier: its first line is no header")
        self._census = header.census
        self.has_hashes = made.bare
        self.rules = FrontierRules(identity=made.identity, site_by=made.site_by)

    async def census(self) -> Census:
        return self._census

    async def sites(self) -> AsyncIterator[list[Site]]:
        for batch in self._batches(lambda line: line.site):
            yield batch

    async def entries(self) -> AsyncIterator[list[Entry]]:
        for batch in self._batches(lambda line: line.url):
            yield batch

    async def hashes(self) -> AsyncIterator[list[int]]:
        for batch in self._batches(lambda line: line.hashes):
            yield [key for keys in batch for key in keys]
        if self._ahead is not None:
            raise ConfigError(f"{self._name} is out of order: sites come first, then urls, then hashes")

    def _batches(self, part: Callable[[Line], T | None]) -> Iterator[list[T]]:
        while batch := [found for _ in range(_BATCH) if (found := self._take(part)) is not None]:
            yield batch

    def _take(self, part: Callable[[Line], T | None]) -> T | None:
        """The next line's part, when it has one."""
        found = part(self._ahead) if self._ahead is not None else None
        if found is not None:
            self._ahead = next(self._lines, None)
        return found

    def _parsed(self, lines: Iterable[bytes]) -> Iterator[Line]:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield codec.from_json(line, Line)
                except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                    raise ConfigError(f"{self._name} line {number} is not a line of an export: {error}") from None
