"""One transaction's work: the sites it holds locked, the rows it will write, and what that does to the counts.

First everything is read and decided, then all of it is written at once: a handful of statements, however large the
batch.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from outrider.model.ledger import Entry
from outrider.model.reason import Reason
from outrider.model.settlement import Done, Settlement
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.pace import fresh_pace
from outrider.policy.transition import Ended, Next, Owed, alias, apply, dismissed, renamed
from outrider.ports import FrontierRules
from outrider.stores.postgres.arrays import BigInts, Blobs, Texts
from outrider.stores.postgres.database import Connection, LostRace, Record, say
from outrider.stores.postgres.rows import Row, arrays, entry_of, hash_row, noting, owed_row, row_of, rows_from, task_of
from outrider.stores.postgres.sites import Counts, SiteRow, packed_site, site_arrays


class Work:
    """`place` numbers those who end here, behind all who ended before."""

    def __init__(self, connection: Connection, rules: FrontierRules, now: float, place: int) -> None:
        self.now = now
        self.sites: dict[str, SiteRow] = {}
        self.counts: Counts = Counter()
        self._connection = connection
        self._rules = rules
        self._place = place
        self._inserts: dict[int, Row] = {}
        self._updates: dict[int, Row] = {}
        self._owed_again: dict[int, Row] = {}
        self._finished: list[tuple[int, Row, Settlement, SiteRow]] = []

    async def lock(self, keys: Iterable[str], *, make: bool | Collection[str] = False) -> None:
        """In the order of their keys, so that two who want the same sites never wait for each other.

        Of those that are missing all are made, or none, or the ones that are named.
        """
        wanted = sorted(set(keys))
        if not wanted:
            return
        found = await say(self._connection, "lock_sites", {"keys": Texts(wanted)})
        missing = set(wanted) - {record[0] for record in found}
        to_make = missing.intersection(wanted if make is True else make or ())
        if to_make:
            await self._make_sites(sorted(to_make))
            # The new ones may have been somebody else's by a moment: once more, in order.
            found = await say(self._connection, "lock_sites", {"keys": Texts(wanted)})
        self._hold(found)

    async def lock_ready(self, sites: int) -> list[SiteRow]:
        """Those whose turn it is, besides the ones that are locked already; sites that others work on are passed by."""
        values = {"now": self.now, "sites": sites, "mine": Texts(self.sites)}
        return self._hold(await say(self._connection, "lock_ready", values))

    async def known(self, hashes: Iterable[int]) -> set[int]:
        return {record[0] for record in await say(self._connection, "known", {"hashes": BigInts(hashes)})}

    async def rows(self, hashes: Iterable[int]) -> dict[int, Row]:
        wanted = BigInts(hashes)
        rows = rows_from(await say(self._connection, "rows", {"hashes": wanted})) if wanted else []
        return {row.url_hash: row for row in rows}

    async def lock_rows(self, hashes: Iterable[int]) -> dict[int, Row]:
        """Also of those that have ended, whose site may be none that could be locked."""
        wanted = BigInts(hashes)
        rows = rows_from(await say(self._connection, "lock_rows", {"hashes": wanted})) if wanted else []
        return {row.url_hash: row for row in rows}

    async def due(self, keys: Sequence[str], tasks: int) -> dict[str, list[Row]]:
        due: dict[str, list[Row]] = {key: [] for key in keys}
        values = {"keys": Texts(keys), "now": self.now, "tasks": tasks}
        for row in rows_from(await say(self._connection, "due_tasks", values)) if keys else []:
            due[row.site].append(row)
        return due

    async def next_at(self) -> float | None:
        (record,) = await say(self._connection, "next_at")
        at: float | None = record[0]
        return at

    def insert_owed(self, key: int, task: Task, site: SiteRow) -> None:
        site.owe(task.due_at)
        self._insert(owed_row(key, task, site.site.key))

    def insert_ended(self, key: int, entry: Entry) -> None:
        self._insert(self._ended(row_of(key, entry)))

    def insert_hash(self, key: int) -> None:
        self._insert(self._ended(hash_row(key)))

    def owe_again(self, row: Row, task: Task, site: SiteRow) -> None:
        """A URL that has ended begins anew."""
        self.counts[row.status, row.last_error or ""] -= 1
        site.owe(task.due_at)
        self._owed_again[row.url_hash] = owed_row(row.url_hash, task, site.site.key)

    def update(self, row: Row) -> None:
        """Of a task that goes on, as it was counted before."""
        self._updates[row.url_hash] = replace(row, fetch_count=0)

    def finish(self, row: Row, settlement: Settlement, site: SiteRow) -> None:
        """A task that was shown is settled. What it becomes is decided in `write`, where the names are known."""
        self._finished.append((row.url_hash, row, settlement, site))

    def dismiss(self, row: Row, reason: Reason, site: SiteRow | None) -> None:
        """For good. `site` is the one in whose queue it stands; None for a line that has ended."""
        if site is None:
            self.counts[row.status, row.last_error or ""] -= 1
        else:
            site.shown.pop(row.url_hash, None)
            site.owe(row.next_fetch_at, -1)
        line = entry_of(row, set_aside=site is not None and site.site.set_aside)
        self._updates[row.url_hash] = self._ended(row_of(row.url_hash, dismissed(line, reason), task_of(row)))

    async def write(self) -> None:
        await self._insert_new()
        await self._finish_all()
        await self._write_rows()
        await self._write_sites()
        await self._write_counts()

    async def _make_sites(self, keys: list[str]) -> None:
        pace = fresh_pace(self._rules.settle.pace)
        states = [packed_site(Site(key, pace=pace)) for key in keys]
        made = await say(
            self._connection, "make_sites", {"keys": Texts(keys), "states": Blobs(states), "pause": pace.interval}
        )
        self.counts["sites", ""] += len(made)

    def _hold(self, records: Iterable[Record]) -> list[SiteRow]:
        held = [SiteRow(record) for record in records]
        self.sites |= {row.site.key: row for row in held}
        return held

    def _insert(self, row: Row) -> None:
        self._inserts[row.url_hash] = row
        self.counts["discovered", ""] += 1

    def _ended(self, row: Row) -> Row:
        self.counts[row.status, row.last_error or ""] += 1
        self._place += 1
        return replace(row, place=self._place)

    async def _insert_new(self) -> None:
        """What was looked for and not found must still be absent; if not, we start again from a later look."""
        if self._inserts:
            values = {**arrays(list(self._inserts.values())), "now": self.now}
            if len(await say(self._connection, "insert_rows", values)) != len(self._inserts):
                raise LostRace("a URL came in between")

    async def _finish_all(self) -> None:
        owned = await self._claim_names()
        for key, row, settlement, site in self._finished:
            site.owe(row.next_fetch_at, -1)
            task = task_of(row)
            after = apply(task, settlement, site.site.key)
            name = self._new_name(key, settlement)
            if name is None:
                self._go_on(key, row, after, settlement, site)
            elif owned.pop(self._rules.identity.hash(name), None) == key:
                # The row of the new name was inserted by the claim, and already carries all that is known.
                self._count_claimed(renamed(after, name), site)
                self._updates[key] = self._ended(row_of(key, alias(task, name, name.site(self._rules.site_by))))
            else:
                taken = Ended(replace(after.entry, of=name)) if isinstance(after, Ended) else after
                self._go_on(key, row, taken, settlement, site)

    async def _claim_names(self) -> dict[int, int]:
        """Who gets which new name: the first who asks, unless it is known. A name that is taken is no error (S0-12)."""
        claims: dict[int, tuple[int, Row]] = {}
        for key, row, settlement, site in self._finished:
            name = self._new_name(key, settlement)
            if name is not None:
                after = renamed(apply(task_of(row), settlement, site.site.key), name)
                new_key = self._rules.identity.hash(name)
                claimed = self._after(new_key, row, after, settlement, site)
                self._place += 1
                claimed = replace(claimed, place=self._place, fetch_count=row.fetch_count + 1)
                claims.setdefault(new_key, (key, claimed))
        if not claims:
            return {}
        values = {**arrays([row for _, row in claims.values()]), "now": self.now}
        inserted = await say(self._connection, "insert_rows", values)
        self.counts["discovered", ""] += len(inserted)
        return {new_key: claims[new_key][0] for (new_key,) in inserted}

    def _new_name(self, key: int, settlement: Settlement) -> Url | None:
        """S0-10: the same identity is the same name, however it is spelled."""
        if not isinstance(settlement, Done) or self._rules.identity.hash(settlement.url) == key:
            return None
        return settlement.url

    def _after(self, key: int, row: Row, after: Next, settlement: Settlement, site: SiteRow) -> Row:
        match after:
            case Owed(task):
                return noting(owed_row(key, task, site.site.key), settlement)
            case Ended(entry):
                return noting(row_of(key, entry, _seen(task_of(row), settlement)), settlement)

    def _go_on(self, key: int, row: Row, after: Next, settlement: Settlement, site: SiteRow) -> None:
        written = self._after(key, row, after, settlement, site)
        if isinstance(after, Owed):
            site.owe(after.task.due_at)
        else:
            written = self._ended(written)
        self._updates[key] = written

    def _count_claimed(self, after: Next, site: SiteRow) -> None:
        if isinstance(after, Owed):
            site.owe(after.task.due_at)
        else:
            self.counts[after.entry.state.value, after.entry.reason or ""] += 1

    async def _write_rows(self) -> None:
        if self._updates:
            values = {**arrays(list(self._updates.values())), "now": self.now}
            await say(self._connection, "update_rows", values)
        if self._owed_again:
            values = {**arrays(list(self._owed_again.values())), "now": self.now}
            if len(await say(self._connection, "owe_rows", values)) != len(self._owed_again):
                raise LostRace("a URL was owed in between")

    async def _write_sites(self) -> None:
        rows = list(self.sites.values())
        if not rows:
            return
        unsure: dict[str, SiteRow] = {}
        for row in rows:
            if row.is_first_due_unsure and row.deadline is None:
                # A task that was never put off is due at 0, and nothing is due before that.
                row.first_due = 0.0 if row.pending else None
                if row.waiting and not row.pending:
                    unsure[row.site.key] = row
        if unsure:
            for key, due in await say(self._connection, "first_due", {"keys": Texts(unsure)}):
                unsure[key].first_due = due
        await say(self._connection, "update_sites", site_arrays(rows))

    async def _write_counts(self) -> None:
        """Last, so that nobody waits for a counter longer than a commit takes."""
        for row in self.sites.values():
            row.count_changes(self.counts)
        changed = sorted((key, n) for key, n in self.counts.items() if n)
        if changed:
            values = {
                "states": Texts(state for (state, _), _ in changed),
                "reasons": Texts(reason for (_, reason), _ in changed),
                "numbers": BigInts(n for _, n in changed),
            }
            await say(self._connection, "count", values)


def _seen(task: Task, settlement: Settlement) -> Task:
    """What stays known of a page whose story has ended."""
    if not isinstance(settlement, Done):
        return task
    return replace(
        task,
        validators=settlement.validators,
        changes=settlement.changes,
        visited_at=settlement.visited_at,
        content_sha256=settlement.sha256,
    )
