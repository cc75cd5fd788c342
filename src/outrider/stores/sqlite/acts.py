"""The acts of the port, each over one `Batch`. What they decide is decided in `policy`; this is the bookkeeping."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from outrider.model.lease import Lease
from outrider.model.ledger import Added, Entry, Filter, Leased, Settled, State
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Done, Settlement
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.pace import reserve
from outrider.policy.settle import expired, rested, restored, written_back
from outrider.policy.transition import (
    Ended,
    Next,
    Owed,
    alias,
    apply,
    matches,
    renamed,
    revived,
    revived_site,
)
from outrider.ports import FrontierRules
from outrider.stores.sqlite.batch import FETCHED, LEASED, STALE, Batch, SiteRow
from outrider.stores.sqlite.rows import Spot, unpack_ended, unpack_task


class Acts:
    """One batch's worth of them. Whoever calls flushes afterwards."""

    def __init__(self, batch: Batch, rules: FrontierRules) -> None:
        self._batch = batch
        self._rules = rules
        self._hash = rules.identity.hash

    # add

    def add(
        self, keys: Sequence[int], tasks: Sequence[Task], refused: Sequence[tuple[int, Url, Reason]]
    ) -> list[Added]:
        """Tasks and refusals with their hashes; an answer for each task. Most are known, and cost one lookup."""
        batch = self._batch
        new = batch.see({*keys, *(key for key, _, _ in refused)})
        by = self._rules.site_by
        quota = self._rules.site_quota
        answers = [Added.KNOWN] * len(keys)
        fresh = [index for index, key in enumerate(keys) if key in new]
        sites = [tasks[index].url.site(by) for index in fresh]
        batch.make(sites)
        for index, site in zip(fresh, sites, strict=True):
            key, task = keys[index], tasks[index]
            if key not in new:
                continue  # the same URL earlier in this batch
            new.remove(key)
            row = batch.sites[site]
            if quota is not None and row.admitted >= quota:
                batch.end(key, Entry(task.url, State.SKIPPED, site, task, Reason.SITE_QUOTA))
                answers[index] = Added.OVER_QUOTA
                continue
            row.admitted += 1
            batch.owe(row, key, task, row.next_sequence())
            answers[index] = Added.NEW
        for key, url, reason in refused:
            if key in new:
                new.remove(key)
                batch.end(key, Entry(url, State.SKIPPED, url.site(by), reason=reason))
        return answers

    # lease

    def lease(self, now: float, *, sites: int, tasks: int, seconds: float) -> Leased:
        batch = self._batch
        leases: list[Lease] = []
        while len(leases) < sites and (ready := batch.ready(now, sites - len(leases))):
            for row in ready:
                self._recover(row)
                shown = batch.due(row, now, tasks)
                if shown:
                    leases.append(self._lend(row, now, now + seconds, [(task[3], unpack_task(task)) for task in shown]))
            batch.flush()
        return Leased(tuple(leases), batch.next_ready(), now)

    def _lend(self, row: SiteRow, now: float, deadline: float, shown: list[tuple[int, Task]]) -> Lease:
        row.token += 1
        row.deadline = deadline
        row.shown = {key: (-task.priority, task.due_at, task.sequence) for key, task in shown}
        self._batch.counts[LEASED] += 1
        site = row.site
        row.site = reserve(site, now)
        if row.robots is not None:
            site = replace(site, robots=self._batch.robots_of(row))
        return Lease(site, tuple(task for _, task in shown), row.token, now, deadline)

    def _recover(self, row: SiteRow) -> None:
        """A lease that ran out: its tasks count one recovery more, its site has rested."""
        if row.deadline is None:
            return
        row.site = rested(row.site, row.deadline)
        for key, spot in row.shown.items():
            task = unpack_task(self._batch.task_row(row, spot))
            match expired(task, row.deadline, self._rules.settle):
                case Dead() as dead:
                    self._finish(row, key, spot, dead)
                case _:
                    self._batch.rewrite(row, replace(task, recoveries=task.recoveries + 1))
        self._give_back(row)
        self._batch.flush_tasks()

    def _give_back(self, row: SiteRow) -> None:
        row.deadline = None
        row.shown = {}
        self._batch.counts[LEASED] -= 1

    # extend, release, settle

    def held(self, lease: Lease) -> SiteRow | None:
        row = self._batch.sites.get(lease.site.key)
        return row if row is not None and row.deadline is not None and row.token == lease.token else None

    def extend(self, leases: Sequence[Lease], deadline: float) -> list[Lease | None]:
        self._batch.load(lease.site.key for lease in leases)
        extended: list[Lease | None] = []
        for lease in leases:
            row = self.held(lease)
            if row is not None:
                row.deadline = deadline
            extended.append(None if row is None else replace(lease, deadline=deadline))
        return extended

    def release(self, leases: Sequence[Lease]) -> None:
        self._batch.load(lease.site.key for lease in leases)
        for lease in leases:
            row = self.held(lease)
            if row is not None:
                self._give_back(row)

    def reclaim(self, now: float, keys: Iterable[str]) -> int:
        """Whoever held these is gone for certain: no task is suspected, and the sites rest as if asked just now."""
        self._batch.load(keys)
        held = [row for row in self._batch.sites.values() if row.deadline is not None]
        for row in held:
            row.site = rested(row.site, now)
            self._give_back(row)
        return len(held)

    def settle(self, accounts: Sequence[Settled]) -> list[bool]:
        self._batch.load(account.lease.site.key for account in accounts)
        return [self._settle(account) for account in accounts]

    def _settle(self, account: Settled) -> bool:
        row = self.held(account.lease)
        if row is None:
            self._batch.counts[STALE] += 1
            return False
        for task, settlement in account.settlements:
            key = self._hash(task.url)
            spot = row.shown.pop(key, None)
            if spot is None:
                continue
            if type(settlement) is Done and settlement.due_at is None and settlement.url == task.url:
                # The common end needs nothing that the row holds: by far the hottest line of settling.
                self._batch.disown(row, spot)
                self._batch.counts[FETCHED] += 1
            else:
                self._finish(row, key, spot, settlement)
        self._write_back(row, account.site)
        if not account.keep or row.site.set_aside:
            self._give_back(row)
        return True

    def _write_back(self, row: SiteRow, site: Site) -> None:
        was_aside = row.site.set_aside
        row.write(written_back(row.site, site))
        self._batch.tally_aside(row, was_aside=was_aside)

    def _finish(self, row: SiteRow, key: int, spot: Spot, settlement: Settlement) -> None:
        task = unpack_task(self._batch.task_row(row, spot))
        self._batch.disown(row, spot)
        after = apply(task, settlement, row.site.key)
        if isinstance(settlement, Done):
            key, after = self._named(key, task, after, settlement.url)
        match after:
            case Owed(next_task):
                self._owe(row, key, next_task, next_task.sequence)
            case Ended(entry):
                self._batch.end(key, entry)

    def _named(self, key: int, task: Task, after: Next, url: Url) -> tuple[int, Next]:
        """Under its final name, with the asked one as alias; or, when that name is taken, noting whose it is."""
        new_key = self._hash(url)
        if new_key == key:
            return key, after
        if not self._batch.see([new_key]):
            return key, Ended(replace(after.entry, of=url)) if isinstance(after, Ended) else after
        self._batch.end(key, alias(task, url, url.site(self._rules.site_by)))
        return new_key, renamed(after, url)

    def _owe(self, row: SiteRow, key: int, task: Task, sequence: int) -> None:
        """Into a queue that may not be that of its URL's own site: a redirect or another store brought it there."""
        self._batch.owe(row, key, task, sequence)
        if task.url.site(self._rules.site_by) != row.site.key:
            self._batch.strays.append((key, row.id))

    # revive

    def revive(self, wanted: Filter, rows: Iterable[tuple[object, ...]], aside: Iterable[str]) -> int:
        """`rows` are the matching lines of `ended`; `aside` the keys of the sites that are set aside."""
        batch = self._batch
        batch.load(aside)
        count = 0
        for row in batch.sites.values():
            if row.site.set_aside and matches(wanted, State.SKIPPED, Reason.SITE_UNREACHABLE, row.site.key):
                row.site = revived_site(row.site)
                batch.tally_aside(row, was_aside=True)
                count += row.pending + row.waiting
        lines = [(row[1], unpack_ended(row)) for row in rows]
        batch.make(entry.site for _, entry in lines)
        for key, entry in lines:
            if isinstance(key, int) and entry.task is not None:
                batch.counts[entry.state.value, entry.reason.value if entry.reason else ""] -= 1
                row = batch.sites[entry.site]
                sequence = row.next_sequence()
                self._owe(row, key, revived(entry.task, sequence), sequence)
                count += 1
        return count

    # owe again

    def owe_again(self, tasks: Sequence[Task], *, ended: bool) -> int:
        batch = self._batch
        wanted: dict[int, tuple[Task, str]] = {}
        for task in tasks:
            wanted.setdefault(self._hash(task.url), (task, task.url.site(self._rules.site_by)))
        owed, over = batch.standing(wanted, {site for _, site in wanted.values()})
        lines = {key: line for key, line in over.items() if ended or line.counted == FETCHED}
        batch.load({*owed.values(), *(wanted[key][1] for key in lines)})
        # Who is owed is told before anything changes: a site that comes back to life brings all that it owes.
        count = len(lines) + sum(ended and batch.sites[site].site.set_aside for site in owed.values())
        batch.make(wanted[key][1] for key in lines)
        if ended:
            self._bring_back([*owed.values(), *(wanted[key][1] for key in lines)])
        for key, (task, site) in wanted.items():
            if key in lines:
                batch.unend(lines[key])
                row = batch.sites[site]
                batch.owe(row, key, task, row.next_sequence())
        return count

    def _bring_back(self, sites: Iterable[str]) -> None:
        for row in (self._batch.sites[site] for site in sites):
            if row.site.set_aside:
                row.site = revived_site(row.site)
                self._batch.tally_aside(row, was_aside=True)

    # restore

    def restore_sites(self, sites: Sequence[Site]) -> None:
        self._batch.make(site.key for site in sites)
        for site in sites:
            row = self._batch.sites[site.key]
            was_aside = row.site.set_aside
            row.write(restored(replace(row.site, admitted=row.admitted), site))
            row.admitted = row.site.admitted
            self._batch.tally_aside(row, was_aside=was_aside)

    def restore(self, entries: Sequence[Entry]) -> int:
        batch = self._batch
        keys = [self._hash(entry.url) for entry in entries]
        new = batch.see(set(keys))
        count = len(new)
        fresh = [(key, entry) for key, entry in zip(keys, entries, strict=True) if key in new]
        # A site is made for what is owed there; lines that have ended need none.
        batch.make(entry.site for _, entry in fresh if entry.state in {State.PENDING, State.WAITING})
        batch.load(entry.site for _, entry in fresh)
        for key, entry in fresh:
            if key in new:
                new.remove(key)
                self._restore(batch.sites.get(entry.site), key, entry)
        return count

    def _restore(self, row: SiteRow | None, key: int, entry: Entry) -> None:
        is_aside = row is not None and row.site.set_aside and entry.reason is Reason.SITE_UNREACHABLE
        is_owed = entry.state in {State.PENDING, State.WAITING} or is_aside
        if row is None or entry.task is None or not is_owed:
            self._batch.end(key, entry)
            return
        self._owe(row, key, entry.task, row.next_sequence())

    def restore_hashes(self, hashes: Sequence[int]) -> int:
        new = len(self._batch.see(set(hashes)))
        self._batch.counts[FETCHED] += new
        return new
