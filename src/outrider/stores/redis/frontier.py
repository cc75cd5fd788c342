"""The port, over the scripts: Python decides by policy and sends values, Lua checks the token, moves and counts.

Whose turn it is takes two steps, because buckets cannot be read and lent from in one: look at the heads of all, merge
them as the policy orders them, then lend in the chosen buckets. For what another worker took in between, the next one
of that bucket is lent, out of turn but never twice.

Most of what a crawl proposes is known: what this process saw lately is answered without asking. That lasts as long as
the server does: one that was restarted, or replaced by its replica, may have forgotten its last second.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from typing import Final, Self

from msgspec.structs import replace

from outrider.errors import ConfigError, StoreError, StoreUnavailable
from outrider.model.lease import Lease
from outrider.model.ledger import Added, Census, Entry, Filter, Leased, Search, Settled, Slice, State
from outrider.model.reason import Reason
from outrider.model.settlement import Done
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.transition import matches, revived, revived_site
from outrider.ports import Clock, FrontierRules
from outrider.stores.known import Known
from outrider.stores.place import Place
from outrider.stores.redis import packing
from outrider.stores.redis.accounts import Claim, Writer, counter_of
from outrider.stores.redis.browsing import browse
from outrider.stores.redis.buckets import Buckets, Wanted, open_buckets
from outrider.stores.redis.census import count_all
from outrider.stores.redis.dedup import Dedup
from outrider.stores.redis.heads import Head, merge, read_heads, recovery_of
from outrider.stores.redis.link import Argument
from outrider.stores.redis.orders import RedisOrders
from outrider.stores.redis.owing import MOST_OWED, Again
from outrider.stores.redis.proposals import UNCHECKED, Proposals
from outrider.stores.redis.server import Server, connect

_AT_ONCE: Final = 4_000
"""Tasks a script call: a longer one would keep everybody else waiting."""
_ROUNDS: Final = 8


@asynccontextmanager
async def reach(
    place: Place, rules: FrontierRules, head: int | None = None
) -> AsyncIterator[tuple[Server, Buckets, FrontierRules, int]]:
    """The server, its buckets, the rules in force and the megabytes of `known`, as the rest of the options says."""
    prefix = place.text("prefix", "outrider")
    pool = place.number("pool", 16)
    timeout = place.number("timeout", 30)
    wanted = place.number("buckets", 0, least=0)
    known = place.number("known", 16)
    replicas = place.number("replicas", 0, least=0)
    dedup = Dedup.of(place)
    place.end()
    if not prefix or set(prefix) & set("{}"):
        raise ConfigError(f"{place}: prefix={prefix!r}; expected a name without braces")
    async with connect(place, prefix=prefix, pool=pool, timeout=timeout, head=head, replicas=replicas) as server:
        buckets, agreed = await open_buckets(server, place, rules, Wanted(wanted, dedup, spills=head is not None))
        yield server, buckets, agreed, known


class RedisFrontier(RedisOrders):
    def __init__(
        self, server: Server, buckets: Buckets, rules: FrontierRules, clock: Clock | None, megabytes: int
    ) -> None:
        super().__init__(server, buckets, rules, clock)
        self._megabytes = megabytes
        self._lately = Known(megabytes)
        self._lately_in = server.era
        self.most_owed = MOST_OWED

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, rules: FrontierRules, clock: Clock | None) -> AsyncIterator[Self]:
        async with reach(place, rules) as (server, buckets, agreed, known):
            yield cls(server, buckets, agreed, clock, known)

    async def add(self, tasks: Sequence[Task], refused: Sequence[tuple[Url, Reason]] = ()) -> list[Added]:
        hash_of = self.identity.hash
        keys = [hash_of(task.url) for task in tasks]
        answers = [Added.KNOWN] * len(tasks)
        unsure = self._seen().missing(keys)
        while unsure or refused:
            places, unsure = unsure[:_AT_ONCE], unsure[_AT_ONCE:]
            # What was refused comes last: a URL that is also a task here is a task.
            turned_away, refused = ((), refused) if unsure else (refused[:_AT_ONCE], refused[_AT_ONCE:])
            given = await self.add_batch(
                [keys[place] for place in places], [tasks[place] for place in places], turned_away
            )
            for place, answer in zip(places, given, strict=True):
                answers[place] = answer
        return answers

    async def lease(self, *, sites: int, tasks: int, seconds: float) -> Leased:
        leases: list[Lease] = []
        next_at: dict[int, float] = {}
        at = 0.0
        for _ in range(_ROUNDS):
            wanted = sites - len(leases)
            most = min(wanted, 2 * wanted // self.buckets.number + 4)
            replies = await self.server.call_each("peek", dict.fromkeys(self.buckets.every, (self.now(), most)))
            # The servers of a cluster have a clock each: by the latest of them nothing is taken for early that was due.
            at = max([at, *(float(reply[0]) for reply in replies.values())])
            next_at = {bucket: float(reply[1]) for bucket, reply in replies.items() if reply[1]}
            chosen, is_all = merge((read_heads(bucket, reply, most) for bucket, reply in replies.items()), wanted)
            if not chosen:
                break
            lent = await self.lend(chosen, next_at, tasks=tasks, seconds=seconds)
            leases += lent
            at = max([at, *(lease.leased_at for lease in lent)])
            if len(leases) >= sites or (is_all and len(lent) == len(chosen)):
                break
        return Leased(tuple(leases), min(next_at.values(), default=None), at)

    async def extend(self, leases: Sequence[Lease], seconds: float) -> list[Lease | None]:
        deadlines = await self._hold(leases, seconds)
        return [
            replace(lease, deadline=deadline) if deadline is not None else None
            for lease, deadline in zip(leases, deadlines, strict=True)
        ]

    async def settle(self, accounts: Sequence[Settled]) -> list[bool]:
        writer = Writer(self.identity, self.buckets, await self._stray_names(accounts))
        for account in accounts:
            writer.write(account)
        await self._claim(writer.claims)
        accepted = writer.answers(await self.server.call_each("settle", writer.calls()))
        await self._end_claims([claim for claim in writer.claims if claim.is_taken], accepted)
        return accepted

    async def release(self, leases: Sequence[Lease]) -> None:
        await self._hold(leases, None)

    async def revive(self, wanted: Filter) -> int:
        await self.check_marks()
        count = 0
        if matches(wanted, State.SKIPPED, Reason.SITE_UNREACHABLE, wanted.site or ""):
            count += await self._revive_sites(wanted)
        for bucket in self.buckets.every:
            async for lines in self.lines(bucket, wanted):
                arguments: list[Argument] = [*self.fresh]
                for key, entry in lines:
                    if entry.task is not None:
                        its_site = self.buckets.site_of(entry.url)
                        is_elsewhere = its_site != entry.site and self.buckets.of_site(its_site) == bucket
                        arguments += _line_again("P" if is_elsewhere else "L", key, entry, revived(entry.task, 0))
                count += await self.server.call("revive", bucket, arguments)
        return count

    async def owe_again(self, tasks: Sequence[Task], *, ended: bool = False) -> int:
        """See the port. Of a URL that is known by its hash only, it is taken for granted that it was fetched.

        A site that owes more than `most_owed` is left alone: to look through so much would keep everybody waiting.
        """
        first: dict[int, Task] = {}
        for task in tasks:
            first.setdefault(self.identity.hash(task.url), task)
        await self._look_for_strays()
        count = 0
        for start in range(0, len(first), _AT_ONCE):
            some = dict(islice(first.items(), start, start + _AT_ONCE))
            again = Again(some, self.rules, self.buckets, await self.strays(some), ended=ended)
            count += await self.owe_batch(again)
        return count

    async def census(self) -> Census:
        return await count_all(self.server, self.buckets)

    async def browse(self, search: Search, after: str | None = None, *, most: int = 100, look: int = 100_000) -> Slice:
        """What is owed, and what may be revived; nothing else has a line here. The records have what was fetched."""
        found = await browse(self, search, after, most=most, look=look)
        if found.after is None:
            await self.check_marks()
        return found

    # what the methods above are made of

    async def spilled(self, queue: bytes, segments: Sequence[bytes], after: int, most: int) -> list[bytes]:
        """The first items in files, of these segments of a queue, whose number is larger than `after`."""
        del after, most
        raise StoreError(f"{queue.decode()} is in files ({len(segments)}): open the store as redis+files:")

    def _seen(self) -> Known:
        """What is known for sure, of the server as it is now."""
        if self._lately_in != self.server.era:
            self._lately, self._lately_in = Known(self._megabytes), self.server.era
        return self._lately

    async def add_batch(
        self, keys: Sequence[int], tasks: Sequence[Task], refused: Sequence[tuple[Url, Reason]]
    ) -> list[Added]:
        era = self.server.era
        batch = Proposals(keys, tasks, refused, self.rules)
        strays = await self.strays((*batch.keys, *batch.refused_keys))
        quota = self.rules.site_quota
        front = (int(self.has_strays), quota if quota is not None else "", *self.fresh)
        replies = await self.server.call_each("add", batch.calls(self.buckets, front, strays))
        for bucket, reply in replies.items():
            if reply == UNCHECKED:
                # Bare hashes were restored since this handle last looked; nothing of the call was written.
                self.has_strays = True
                places, refused_places = batch.places[bucket], batch.refused_places[bucket]
                again = [keys[place] for place in places], [tasks[place] for place in places]
                given = await self.add_batch(*again, [refused[place] for place in refused_places])
                batch.note_answers(bucket, given)
            else:
                batch.note(bucket, reply)
        if self.server.era == era:
            self._seen().learn((*batch.sure, *strays))
        return batch.answers

    async def lend(
        self, chosen: Sequence[Head], next_at: dict[int, float], *, tasks: int, seconds: float
    ) -> list[Lease]:
        """Lend the chosen sites, in their order; afterwards `next_at` is true of their buckets again."""
        await self._recover([head for head in chosen if head.lapsed])
        calls: defaultdict[int, list[Argument]] = defaultdict(lambda: [self.now(), seconds, tasks])
        for head in chosen:
            calls[head.bucket].append(head.site)
        leases: dict[str, Lease] = {}
        for bucket, reply in (await self.server.call_each("lend", calls)).items():
            leased_at, deadline = float(reply[0]), float(reply[1])
            next_at.pop(bucket, None)
            if reply[2]:
                next_at[bucket] = float(reply[2])
            for name, packed, details, robots, *shown in reply[3:]:
                key = name.decode()
                numbers = packing.read_numbers(packed)
                site = packing.read_site(key, numbers, details, robots)
                shown_tasks = tuple(packing.read_tasks(shown, key))
                leases[key] = Lease(site, shown_tasks, numbers.token, leased_at, deadline)
        in_turn = [leases.pop(head.site) for head in chosen if head.site in leases]
        return [*in_turn, *leases.values()]

    async def owe_batch(self, again: Again) -> int:
        # A site takes a round or two; more only when it is set aside, or part of it goes into files, meanwhile.
        for _ in range(len(again) + _ROUNDS):
            if not len(again):
                return again.count
            again.note(await self.server.call_each("again", again.calls(self.most_owed)))
            for site, queues in again.in_files:
                again.note_in_files(site, *await self.owed_in_files(site, queues))
            for site, key in again.elsewhere:
                again.note_elsewhere(site, key, is_answered=await self._owe_elsewhere(again, site, key))
        raise StoreUnavailable(f"the queues of {len(again)} sites would not stand still; some of the URLs may be owed")

    async def owed_in_files(self, site: str, queues: Sequence[tuple[bytes, bytes]]) -> tuple[set[str], set[int]]:
        """Which files these segments of queues are, and the identity hashes of what they hold."""
        raise StoreError(f"{site} has queues in files ({len(queues)}): open the store as redis+files:")

    async def _owe_elsewhere(self, again: Again, site: str, key: int) -> bool:
        """A page under a name of this site, which was in the queue of another: is there nothing more to do?"""
        pointer = await self.pointer(site, key)
        if pointer is None:
            return False
        holder, entry = pointer
        if entry is None:
            return False
        if entry.state in {State.PENDING, State.WAITING} or not again.ended:
            return True
        if entry.reason is Reason.SITE_UNREACHABLE and await self._revive_sites(Filter(site=holder)):
            again.count += 1
            return True
        call = [*self.fresh, *_line_again("L", key, entry, again.tasks[key])]
        again.count += await self.server.call("revive", self.buckets.of_site(holder), call)
        return True

    async def _recover(self, heads: Sequence[Head]) -> None:
        calls: defaultdict[int, list[Argument]] = defaultdict(list)
        for head in heads:
            if head.lapsed is not None:
                calls[head.bucket] += recovery_of(head.lapsed, self.rules)
        await self.server.call_each("settle", calls)

    async def _hold(self, leases: Sequence[Lease], seconds: float | None) -> list[float | None]:
        """The new deadline of each, None for one that is lost; without `seconds` they are given back."""
        calls: defaultdict[int, list[Argument]] = defaultdict(
            lambda: [self.now(), seconds if seconds is not None else ""]
        )
        order: list[int] = []
        for lease in leases:
            bucket = self.buckets.of_site(lease.site.key)
            calls[bucket] += (lease.site.key, lease.token)
            order.append(bucket)
        replies = await self.server.call_each("hold", calls)
        deadlines = {bucket: float(reply[0] or 0) for bucket, reply in replies.items()}
        digits = {bucket: iter(reply[1]) for bucket, reply in replies.items()}
        return [deadlines[bucket] if next(digits[bucket]) == ord("1") else None for bucket in order]

    async def _stray_names(self, accounts: Sequence[Settled]) -> Collection[int]:
        if not self.has_strays:
            return ()
        settlements = (settlement for account in accounts for _, settlement in account.settlements)
        return await self.strays([self.identity.hash(done.url) for done in settlements if isinstance(done, Done)])

    async def _claim(self, claims: Sequence[Claim]) -> None:
        calls: defaultdict[int, list[Argument]] = defaultdict(list)
        for claim in claims:
            calls[claim.bucket] += ("?", claim.key, claim.holder)
        replies = await self.server.call_each("claim", calls)
        digits = {bucket: iter(reply) for bucket, reply in replies.items()}
        for claim in claims:
            claim.is_taken = next(digits[claim.bucket]) == ord("1")

    async def _end_claims(self, claims: Sequence[Claim], accepted: Sequence[bool]) -> None:
        """What was taken for an account is kept when that was written, and let go when it was refused."""
        calls: defaultdict[int, list[Argument]] = defaultdict(list)
        for claim in claims:
            calls[claim.bucket] += ("=" if accepted[claim.account] else "-", claim.key, "")
        await self.server.call_each("claim", calls)

    async def _revive_sites(self, wanted: Filter) -> int:
        count = 0
        for bucket in self.buckets.every:
            aside = await self.server.command("SMEMBERS", self.server.key(bucket, "a"))
            names = [name.decode() for name in aside if wanted.site in {None, name.decode()}]
            for start in range(0, len(names), _AT_ONCE):
                call: list[Argument] = [*self.fresh]
                for site in await self.read_sites(names[start : start + _AT_ONCE]):
                    call += ("S", site.key, packing.pack_details(revived_site(site)))
                count += await self.server.call("revive", bucket, call)
        return count


def _line_again(kind: str, key: int | bytes, entry: Entry, task: Task) -> list[Argument]:
    """What `revive.lua` reads of a line."""
    tail = packing.pack_tail(task, entry.site)
    return [kind, entry.site, key, counter_of(entry), task.priority, task.due_at, tail]
