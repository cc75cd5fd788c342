"""The frontier in PostgreSQL. The server locks and keeps; what becomes of tasks and sites is decided by the policies.

A method is one transaction, and each of them locks the sites it touches before it reads what they owe. `add` alone
looks first without a lock, since most of what a crawl proposes is known.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, Self, TypeVar

from msgspec.structs import asdict, replace

from outrider.model.lease import Lease
from outrider.model.ledger import Added, Census, Entry, Filter, Leased, Settled, State
from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.settlement import Dead
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.pace import reserve
from outrider.policy.settle import expired, rested, restored, written_back
from outrider.policy.transition import matches, revived_site
from outrider.ports import Clock, FrontierRules
from outrider.stores.place import Place
from outrider.stores.postgres.arrays import Texts
from outrider.stores.postgres.database import Connection, Database, LostRace, say
from outrider.stores.postgres.ledger import PostgresLedger
from outrider.stores.postgres.rows import Row, task_of
from outrider.stores.postgres.schema import prepare
from outrider.stores.postgres.sites import ASIDE, SiteRow
from outrider.stores.postgres.work import Work

T = TypeVar("T")
_OWED: Final = {State.PENDING, State.WAITING}


class PostgresFrontier(PostgresLedger):
    def __init__(self, database: Database, rules: FrontierRules, clock: Clock | None) -> None:
        super().__init__(database, rules)
        self._clock = clock

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, rules: FrontierRules, clock: Clock | None) -> AsyncIterator[Self]:
        async with Database.open(place, partial(prepare, rules=rules, must_exist=place.must_exist)) as (
            database,
            agreed,
        ):
            yield cls(database, agreed, clock)

    async def add(self, tasks: Sequence[Task], refused: Sequence[tuple[Url, Reason]] = ()) -> list[Added]:
        hash_of = self.rules.identity.hash
        keys = [hash_of(task.url) for task in tasks]
        refusals = _firsts((hash_of(url), (url, reason)) for url, reason in refused)
        known = await self._known({*keys, *refusals})
        new = _firsts((key, task) for key, task in zip(keys, tasks, strict=True) if key not in known)
        fresh = {key: refusal for key, refusal in refusals.items() if key not in known}
        if not new and not fresh:
            return [Added.KNOWN] * len(tasks)
        answers = await self._work(lambda work: self._add(work, new, fresh))
        return [answers.pop(key, Added.KNOWN) for key in keys]

    async def lease(self, *, sites: int, tasks: int, seconds: float) -> Leased:
        return await self._work(lambda work: self._lease(work, sites, tasks, seconds))

    async def extend(self, leases: Sequence[Lease], seconds: float) -> list[Lease | None]:
        async def extend(work: Work) -> list[Lease | None]:
            await work.lock(lease.site.key for lease in leases)
            deadline = work.now + seconds
            extended: list[Lease | None] = []
            for lease in leases:
                row = _held(work, lease)
                if row is not None:
                    row.deadline = deadline
                extended.append(replace(lease, deadline=deadline) if row is not None else None)
            await work.write()
            return extended

        return await self._work(extend)

    async def settle(self, accounts: Sequence[Settled]) -> list[bool]:
        return await self._work(lambda work: self._settle(work, accounts))

    async def release(self, leases: Sequence[Lease]) -> None:
        async def release(work: Work) -> None:
            await work.lock(lease.site.key for lease in leases)
            for lease in leases:
                row = _held(work, lease)
                if row is not None:
                    _give_back(work, row)
            await work.write()

        await self._work(release)

    async def revive(self, wanted: Filter) -> int:
        async def revive(connection: Connection) -> int:
            return await self._revive(connection, wanted)

        return await self._database.run(revive)

    async def owe_again(self, tasks: Sequence[Task], *, ended: bool = False) -> int:
        hash_of = self.rules.identity.hash
        wanted = _firsts((hash_of(task.url), task) for task in tasks)
        return await self._work(lambda work: self._owe_again(work, wanted, ended=ended))

    async def order(self, order: SiteOrder) -> None:
        await self._database.ask("order" if order else "take_order_back", asdict(order))

    async def orders(self) -> list[SiteOrder]:
        return [SiteOrder(*record) for record in await self._database.ask("orders")]

    async def dismiss(self, urls: Sequence[tuple[Url, Reason]]) -> list[bool]:
        hash_of = self.rules.identity.hash
        keys = [hash_of(url) for url, _ in urls]
        wanted = _firsts(zip(keys, (reason for _, reason in urls), strict=True))
        gone = await self._work(lambda work: _dismiss(work, wanted))
        return [gone.pop(key, False) for key in keys]

    async def census(self) -> Census:
        count = {(state, reason): n for state, reason, n in await self._database.ask("census") if n}
        by_reason = {
            wanted: {Reason(reason): n for (state, reason), n in count.items() if state == wanted and reason}
            for wanted in (State.SKIPPED, State.DEAD)
        }
        return Census(
            discovered=count.get(("discovered", ""), 0),
            pending=count.get((State.PENDING, ""), 0),
            waiting=count.get((State.WAITING, ""), 0),
            fetched=count.get((State.FETCHED, ""), 0),
            alias=count.get((State.ALIAS, ""), 0),
            skipped=by_reason[State.SKIPPED],
            dead=by_reason[State.DEAD],
            sites=count.get(("sites", ""), 0),
            leased=count.get(("leased", ""), 0),
            stale=count.get(("stale", ""), 0),
        )

    async def restore(
        self, entries: Sequence[Entry] = (), sites: Sequence[Site] = (), hashes: Sequence[int] = ()
    ) -> int:
        return await self._work(lambda work: self._restore(work, entries, sites, hashes))

    # what the methods above are made of

    async def _work(self, act: Callable[[Work], Awaitable[T]]) -> T:
        async def work(connection: Connection) -> T:
            return await act(await self._begin(connection))

        return await self._database.run(work)

    async def _begin(self, connection: Connection) -> Work:
        ((now, place),) = await say(connection, "begin")
        return Work(connection, self.rules, self._clock.now() if self._clock else now, place)

    async def _add(
        self, work: Work, tasks: dict[int, Task], refused: dict[int, tuple[Url, Reason]]
    ) -> dict[int, Added]:
        by = self.rules.site_by
        site_of = {key: task.url.site(by) for key, task in tasks.items()}
        await work.lock(site_of.values(), make=True)
        known = await work.known([*tasks, *refused])
        answers: dict[int, Added] = {}
        for key, task in tasks.items():
            if key not in known:
                answers[key] = self._admit(work, key, task, work.sites[site_of[key]])
        for key, (url, reason) in refused.items():
            if key not in known and key not in answers:
                work.insert_ended(key, Entry(url, State.SKIPPED, url.site(by), reason=reason))
        await work.write()
        return answers

    def _admit(self, work: Work, key: int, task: Task, row: SiteRow) -> Added:
        quota = self.rules.site_quota
        if quota is not None and row.site.admitted >= quota:
            work.insert_ended(key, Entry(task.url, State.SKIPPED, row.site.key, task, Reason.SITE_QUOTA))
            return Added.OVER_QUOTA
        row.site = replace(row.site, admitted=row.site.admitted + 1)
        work.insert_owed(key, replace(task, sequence=row.next_sequence()), row)
        return Added.NEW

    async def _lease(self, work: Work, sites: int, tasks: int, seconds: float) -> Leased:
        leases: list[Lease] = []
        while len(leases) < sites:
            wanted = sites - len(leases)
            rows = await work.lock_ready(wanted)
            recovered = await self._recover(work, [row for row in rows if row.deadline is not None])
            # Those who die now are still among the owed until all of this is written.
            dying = sum(task is None for task in recovered.values())
            due = await work.due([row.site.key for row in rows], tasks + dying)
            for row in rows:
                owed = (recovered.get(found.url_hash, found) for found in due[row.site.key])
                shown = [found for found in owed if found is not None][:tasks]
                if shown:
                    leases.append(_lend(work, row, shown, seconds))
            if len(rows) < wanted:
                break
        await work.write()
        return Leased(tuple(leases), await work.next_at(), work.now)

    async def _recover(self, work: Work, rows: list[SiteRow]) -> dict[int, Row | None]:
        """Leases that ran out: their tasks count one recovery more, None for those that die of it; their sites rest."""
        shown = await work.rows(key for row in rows for key in row.shown)
        recovered: dict[int, Row | None] = {}
        for row in rows:
            deadline = row.deadline or 0.0
            row.site = rested(row.site, deadline)
            for key in row.shown:
                end = expired(task_of(shown[key]), deadline, self.rules.settle)
                if isinstance(end, Dead):
                    work.finish(shown[key], end, row)
                    recovered[key] = None
                else:
                    again = replace(shown[key], recoveries=shown[key].recoveries + 1)
                    work.update(again)
                    recovered[key] = again
            _give_back(work, row)
        return recovered

    async def _settle(self, work: Work, accounts: Sequence[Settled]) -> list[bool]:
        hash_of = self.rules.identity.hash
        await work.lock(account.lease.site.key for account in accounts)
        keys = [[hash_of(task.url) for task, _ in account.settlements] for account in accounts]
        rows = await work.rows(
            {key for row in work.sites.values() for key in row.shown} & {k for ks in keys for k in ks}
        )
        answers: list[bool] = []
        for account, settled in zip(accounts, keys, strict=True):
            row = _held(work, account.lease)
            answers.append(row is not None)
            if row is None:
                work.counts["stale", ""] += 1
                continue
            for key, (_, settlement) in zip(settled, account.settlements, strict=True):
                if key in row.shown:
                    del row.shown[key]
                    work.finish(rows[key], settlement, row)
            row.know_robots(account.site.robots)
            row.site = written_back(row.site, account.site)
            if not account.keep or row.site.set_aside:
                _give_back(work, row)
        await work.write()
        return answers

    async def _revive(self, connection: Connection, wanted: Filter) -> int:
        aside = []
        if matches(replace(wanted, site=None), State(ASIDE[0]), Reason(ASIDE[1]), ""):
            aside = [key for (key,) in await say(connection, "sites_aside", {"site": wanted.site})]
        values = {"state": wanted.state, "reason": wanted.reason, "site": wanted.site}
        keys = [key for (key,) in await say(connection, "sites_of_ended", values)]
        work = await self._begin(connection)
        await work.lock([*aside, *keys], make=True)
        count = 0
        for key in aside:
            row = work.sites[key]
            if row.site.set_aside:
                row.site = revived_site(row.site)
                count += len(row)
        for key, status, reason, n in await say(connection, "revive", {**values, "keys": Texts(keys), "now": work.now}):
            work.sites[key].sequence += n
            work.sites[key].owe(0.0, n)
            work.counts[status, reason or ""] -= n
            count += n
        await work.write()
        return count

    async def _owe_again(self, work: Work, wanted: dict[int, Task], *, ended: bool) -> int:
        by = self.rules.site_by
        own = {key: task.url.site(by) for key, task in wanted.items()}
        seen = await work.rows(wanted)
        states = {State.FETCHED} if not ended else set(State) - _OWED
        over = {key for key, row in seen.items() if State(row.status) in states}
        # Where a row says it is, whoever revives it holds the lock; and a site that is set aside may come back for it.
        there = {row.site for key, row in seen.items() if ended or key in over} - {""}
        await work.lock({own[key] for key in over} | there, make={own[key] for key in over})
        rows = await work.rows(seen)
        over = {key for key in over if State(rows[key].status) in states}
        if any(rows[key].site != seen[key].site for key in over):
            raise LostRace("a URL was owed and ended elsewhere in between")
        # Who is owed is told before anything changes: a site that comes back to life brings all that it owes.
        aside = {key for key, row in work.sites.items() if ended and row.site.set_aside}
        back = [row for row in rows.values() if State(row.status) in _OWED and row.site in aside]
        for site in aside & ({own[key] for key in over} | {row.site for row in back}):
            work.sites[site].site = revived_site(work.sites[site].site)
        for key, task in wanted.items():
            if key in over:
                site_row = work.sites[own[key]]
                work.owe_again(rows[key], replace(task, sequence=site_row.next_sequence()), site_row)
        await work.write()
        return len(over) + len(back)

    async def _restore(self, work: Work, entries: Sequence[Entry], sites: Sequence[Site], hashes: Sequence[int]) -> int:
        lines = _firsts((self.rules.identity.hash(entry.url), entry) for entry in entries)
        # A site is made for what is owed there; lines that have ended need none.
        owed = {entry.site for entry in entries if entry.state in _OWED}
        await work.lock(entry.site for entry in entries)
        await work.lock(owed | {site.key for site in sites}, make=True)
        known = await work.known([*lines, *hashes])
        for site in sites:
            row = work.sites[site.key]
            row.know_robots(site.robots)
            row.site = restored(row.site, site)
        lines = {key: entry for key, entry in lines.items() if key not in known}
        for key, entry in lines.items():
            _restore_entry(work, key, entry)
        bare = dict.fromkeys(key for key in hashes if key not in known and key not in lines)
        for key in bare:
            work.insert_hash(key)
        await work.write()
        return len(lines) + len(bare)


def _firsts(pairs: Iterable[tuple[int, T]]) -> dict[int, T]:
    """The first of each key, in the order in which they came."""
    firsts: dict[int, T] = {}
    for key, value in pairs:
        firsts.setdefault(key, value)
    return firsts


def _held(work: Work, lease: Lease) -> SiteRow | None:
    row = work.sites.get(lease.site.key)
    return row if row is not None and row.is_held_by(lease.token) else None


def _lend(work: Work, row: SiteRow, shown: list[Row], seconds: float) -> Lease:
    row.token += 1
    row.deadline = work.now + seconds
    row.shown = dict.fromkeys(found.url_hash for found in shown)
    lease = Lease(row.site, tuple(map(task_of, shown)), row.token, work.now, row.deadline)
    row.site = reserve(row.site, work.now)
    work.counts["leased", ""] += 1
    return lease


async def _dismiss(work: Work, wanted: Mapping[int, Reason]) -> dict[int, bool]:
    """Which of them had something to end. A row that has ended is locked itself, for it may have no site."""
    seen = {key: row for key, row in (await work.rows(wanted)).items() if row.has_task}
    await work.lock(row.site for row in seen.values())
    rows = {key: row for key, row in (await work.lock_rows(seen)).items() if row.has_task}
    for key, row in rows.items():
        is_owed = State(row.status) in _OWED
        if is_owed and row.site not in work.sites:
            raise LostRace("a URL was owed by another site in between")
        work.dismiss(row, wanted[key], work.sites[row.site] if is_owed else None)
    await work.write()
    return dict.fromkeys(rows, True)


def _give_back(work: Work, row: SiteRow) -> None:
    row.give_back()
    work.counts["leased", ""] -= 1


def _restore_entry(work: Work, key: int, entry: Entry) -> None:
    row = work.sites.get(entry.site)
    aside = row is not None and row.site.set_aside and entry.reason is Reason.SITE_UNREACHABLE
    if row is not None and (entry.state in _OWED or (aside and entry.task is not None)):
        # A line that is owed has a task; if it has none, its URL is all that a visit needs.
        work.insert_owed(key, replace(entry.task or Task(entry.url), sequence=row.next_sequence()), row)
    else:
        work.insert_ended(key, entry)
