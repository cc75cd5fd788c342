"""The store, read for inspection. A long answer is one moment's, and keeps one connection of the pool meanwhile."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final

from outrider.model.ledger import Entry, Filter, State
from outrider.model.site import Site
from outrider.model.url import Url
from outrider.policy.transition import matches
from outrider.ports import FrontierRules
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
        async for records in self._database.stream("owed_entries", values, _BATCH):
            lines = [entry_of(Row(*columns), set_aside=set_aside) for set_aside, *columns in records]
            if lines := [line for line in lines if matches(wanted, line.state, line.reason, line.site)]:
                yield lines
        if wanted.state in {State.PENDING, State.WAITING}:
            return
        async for records in self._database.stream("ended_entries", values, _BATCH):
            yield [entry_of(Row(*columns), set_aside=set_aside) for set_aside, *columns in records]

    async def hashes(self) -> AsyncIterator[list[int]]:
        async for records in self._database.stream("hashes", {}, _BATCH):
            yield [key for (key,) in records]

    async def sites(self) -> AsyncIterator[list[Site]]:
        async for records in self._database.stream("all_sites", {}, _BATCH):
            yield [SiteRow(record).site for record in records]

    async def look_at(self, site: str) -> tuple[Site, float | None] | None:
        """One site, and until when it is lent."""
        for record in await self._database.ask("one_site", {"key": site}):
            row = SiteRow(record)
            return row.site, row.deadline
        return None

    async def _known(self, keys: Iterable[int]) -> set[int]:
        return {record[0] for record in await self._database.ask("known", {"hashes": BigInts(keys)})}
