"""The store, read for inspection. A long answer is one moment's, and keeps one connection of the pool meanwhile."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from typing import Final

from outrider.model.ledger import Entry, Filter, Search, SiteLine, Slice, State
from outrider.model.site import Site
from outrider.model.url import Url
from outrider.policy.transition import matches
from outrider.ports import FrontierRules
from outrider.stores.postgres import browsing
from outrider.stores.postgres.arrays import BigInts
from outrider.stores.postgres.database import Database
from outrider.stores.postgres.rows import Row, entry_of
from outrider.stores.postgres.sites import SiteRow

_BATCH: Final = 1_000


class PostgresLedger:
    def __init__(self, database: Database, rules: FrontierRules) -> None:
        self._database = database
        self.rules = rules

    async def find(self, url: Url) -> Entry | None:
        for set_aside, *columns in await self._database.ask("find", {"hash": self.rules.identity.hash(url)}):
            return entry_of(Row(*columns), set_aside=set_aside)
        return None

    async def knows(self, urls: Sequence[Url]) -> list[bool]:
        keys = [self.rules.identity.hash(url) for url in urls]
        known = await self._known(keys)
        return [key in known for key in keys]

    async def entries(self, wanted: Filter | None = None) -> AsyncIterator[list[Entry]]:
        """Those that are owed first; they all come from one moment, and the ended ones from the next."""
        wanted = wanted or Filter()
        values = {"state": wanted.state, "reason": wanted.reason, "site": wanted.site}
        async with aclosing(self._database.stream("owed_entries", values, _BATCH)) as owed:
            async for records in owed:
                lines = [entry_of(Row(*columns), set_aside=set_aside) for set_aside, *columns in records]
                if lines := [line for line in lines if matches(wanted, line.state, line.reason, line.site)]:
                    yield lines
        if wanted.state in {State.PENDING, State.WAITING}:
            return
        async with aclosing(self._database.stream("ended_entries", values, _BATCH)) as ended:
            async for records in ended:
                yield [entry_of(Row(*columns), set_aside=set_aside) for set_aside, *columns in records]

    async def hashes(self) -> AsyncIterator[list[int]]:
        async with aclosing(self._database.stream("hashes", {}, _BATCH)) as hashes:
            async for records in hashes:
                yield [key for (key,) in records]

    async def sites(self) -> AsyncIterator[list[Site]]:
        async with aclosing(self._database.stream("all_sites", {}, _BATCH)) as sites:
            async for records in sites:
                yield [SiteRow(record).site for record in records]

    async def look_at(self, site: str) -> tuple[Site, float | None] | None:
        """One site, and until when it is lent."""
        for record in await self._database.ask("one_site", {"key": site}):
            row = SiteRow(record)
            return row.site, row.deadline
        return None

    async def browse(self, search: Search, after: str | None = None, *, most: int = 100, look: int = 100_000) -> Slice:
        seed = self.rules.identity.seed
        return await browsing.browse(self._database, search, after, seed, most=most, look=look)

    async def survey(self) -> AsyncIterator[list[SiteLine]]:
        async for lines in browsing.survey(self._database):
            yield lines

    async def _known(self, keys: Iterable[int]) -> set[int]:
        return {record[0] for record in await self._database.ask("known", {"hashes": BigInts(keys)})}
