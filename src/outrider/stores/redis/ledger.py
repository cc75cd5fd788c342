"""The store, read for inspection, and written whole when a frontier moves.

Of a URL that has ended and cannot be revived only the hash is left. Reading goes bucket by bucket and in batches; a
crawl that runs meanwhile is not stopped, so what moves from state to state may be seen in either.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final

from outrider.errors import StoreError
from outrider.model.ledger import Entry, Filter, SiteLine, State
from outrider.model.reason import Reason
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.transition import matches, set_aside_entry, state_of
from outrider.ports import Clock, FrontierRules
from outrider.stores.redis import packing
from outrider.stores.redis.accounts import counter_of
from outrider.stores.redis.buckets import MARK, Buckets
from outrider.stores.redis.census import count_all
from outrider.stores.redis.dedup import Bloom
from outrider.stores.redis.link import Argument
from outrider.stores.redis.packing import POINTER
from outrider.stores.redis.server import Server

_BATCH: Final = 1_000


class RedisLedger:
    def __init__(self, server: Server, buckets: Buckets, rules: FrontierRules, clock: Clock | None) -> None:
        self.server = server
        self.buckets = buckets
        self.rules = rules
        self.identity = rules.identity
        self.has_strays = False
        # What a site that nobody has visited yet is paced by.
        self.fresh: tuple[Argument, Argument] = (rules.settle.pace.delay, rules.settle.pace.burst)
        self._clock = clock

    async def find(self, url: Url) -> Entry | None:
        key = self.identity.hash(url)
        site = self.buckets.site_of(url)
        line = await self._line(site, key)
        if line is None:
            return await self._owed_line(site, key)
        return packing.read_line(line) if not line.startswith(POINTER) else await self._pointed_at(line, key)

    async def knows(self, urls: Sequence[Url]) -> list[bool]:
        keys = [self.identity.hash(url) for url in urls]
        by_bucket: defaultdict[int, list[int]] = defaultdict(list)
        for key, url in zip(keys, urls, strict=True):
            by_bucket[self.buckets.of_site(self.buckets.site_of(url))].append(key)
        await self._look_for_strays()
        known = await self._known("k", by_bucket) | await self.strays(keys)
        return [key in known for key in keys]

    async def entries(self, wanted: Filter | None = None) -> AsyncIterator[list[Entry]]:
        wanted = wanted or Filter()
        for bucket in self.buckets.every:
            async for names in self._site_names(bucket):
                owed = await self._owed(names)
                found = [entry for entry in owed if matches(wanted, entry.state, entry.reason, entry.site)]
                for start in range(0, len(found), _BATCH):
                    yield found[start : start + _BATCH]
        for bucket in self.buckets.every:
            async for lines in self.lines(bucket, wanted):
                yield [entry for _, entry in lines]
        await self.check_marks()

    @property
    def expected_loss(self) -> Bloom | None:
        """What the choice of a filter costs; None when every URL is told apart exactly."""
        return self.buckets.bloom

    async def unlisted(self) -> int:
        """How many URLs are known and cannot be listed: in a filter, all that have no line."""
        if self.buckets.bloom is None:
            return 0
        lines = 0
        async for entries in self.entries():
            lines += len(entries)
        return max(0, (await count_all(self.server, self.buckets)).discovered - lines)

    async def hashes(self) -> AsyncIterator[list[int]]:
        """Raises `StoreError` when there are some and they are in a filter."""
        if self.buckets.bloom is not None:
            if forgotten := await self.unlisted():
                raise StoreError(
                    f"the hashes of {forgotten:,} URLs that have ended are in a Bloom filter: no list has them"
                )
            return
        await self._look_for_strays()
        # What has a line in a bucket, and is not known there: if it is a stray, its hash is in yet another bucket.
        elsewhere: set[int] = set()
        for bucket in self.buckets.every:
            lined = await self._lined(bucket)
            async for names in self._site_names(bucket):
                lined |= {self.identity.hash(entry.url) for entry in await self._owed(names)}
            unmet = set(lined) if self.has_strays else set()
            async for found in self._members(bucket, "k"):
                unmet.difference_update(found)
                if bare := [key for key in found if key not in lined]:
                    yield bare
            elsewhere |= unmet
        for bucket in self.buckets.every:
            async for found in self._members(bucket, "x"):
                if bare := [key for key in found if key not in elsewhere]:
                    yield bare
        await self.check_marks()

    async def sites(self) -> AsyncIterator[list[Site]]:
        for bucket in self.buckets.every:
            async for names in self._site_names(bucket):
                yield await self.read_sites(names)
        await self.check_marks()

    async def look_at(self, site: str) -> tuple[Site, float | None] | None:
        """One site, and until when it is lent; without its queue, which may be long."""
        key, command = self.server.key, self.server.command
        bucket = self.buckets.of_site(site)
        packed, details, robots = [await command("HGET", key(bucket, name), site) for name in ("s", "d", "o")]
        if packed is None:
            return None
        numbers = packing.read_numbers(packed)
        return packing.read_site(site, numbers, details or b"", robots or b""), numbers.deadline or None

    async def survey(self) -> AsyncIterator[list[SiteLine]]:
        """A site that is set aside owes nothing."""
        key, command = self.server.key, self.server.command
        for bucket in self.buckets.every:
            seen: set[bytes] = set()
            async for batch in self._scan(bucket, "s"):
                names = [name for name in batch if name not in seen]
                seen.update(names)
                more = [await command("HMGET", key(bucket, name), *names) for name in ("d", "o")] if names else [[], []]
                yield [
                    packing.read_site_line(name, batch[name], *rest) for name, *rest in zip(names, *more, strict=True)
                ]
        await self.check_marks()

    async def restore(
        self, entries: Sequence[Entry] = (), sites: Sequence[Site] = (), hashes: Sequence[int] = ()
    ) -> int:
        calls: defaultdict[int, list[Argument]] = defaultdict(lambda: [*self.fresh])
        for site in sites:
            pace = site.pace
            front: list[Argument] = ["S", site.key, site.not_before, pace.full_at, pace.interval, pace.burst]
            flags: list[Argument] = [site.admitted, int(site.set_aside), int(site.excluded)]
            back: list[Argument] = [packing.pack_details(site), packing.pack_robots(site)]
            calls[self.buckets.of_site(site.key)] += [*front, *flags, *back]
        await self._look_for_strays()
        strays = await self.strays([self.identity.hash(entry.url) for entry in entries])
        for entry in entries:
            key = self.identity.hash(entry.url)
            name_bucket = self.buckets.of_site(self.buckets.site_of(entry.url))
            bucket = self.buckets.of_site(entry.site)
            if key in strays:
                continue
            is_elsewhere = entry.task is not None and entry.site != self.buckets.site_of(entry.url)
            is_claimed = bucket != name_bucket or is_elsewhere
            if is_claimed:
                # A page under a name of another site: rare enough to be claimed one by one.
                holder = entry.site if entry.task is not None else ""
                if await self.server.call("claim", name_bucket, ("+", key, holder)) != b"1":
                    continue
            calls[bucket] += _restored(entry, key, is_claimed=is_claimed)
        count = await self._count_new("restore", calls)
        return count + await self._restore_hashes(hashes)

    # what the frontier shares

    async def check_marks(self) -> None:
        """Whoever walks through data by plain commands sees none where it is gone; scripts look by themselves."""
        calls = {bucket: ("HGET", self.server.key(bucket, "c"), MARK) for bucket in self.buckets.every}
        marks = await self.server.command_each(calls)
        if set(marks.values()) != {self.server.mark.encode()}:
            raise self.server.gone()

    def now(self) -> str:
        """Nothing, when it is the store's clock that counts."""
        return repr(self._clock.now()) if self._clock is not None else ""

    async def strays(self, keys: Iterable[int]) -> set[int]:
        """Which of them are known by hash only, without a site: after a frontier was moved here."""
        if not self.has_strays:
            return set()
        by_bucket: defaultdict[int, list[int]] = defaultdict(list)
        for key in keys:
            by_bucket[self.buckets.of_hash(key)].append(key)
        return await self._known("x", by_bucket)

    async def lines(self, bucket: int, wanted: Filter) -> AsyncIterator[list[tuple[bytes, Entry]]]:
        """Lines that may be revived, in the order in which they ended, with their hashes."""
        order: list[tuple[float, bytes]] = []
        async for batch in self._scan(bucket, "e"):
            order += [
                (packing.read_serial(line), key)
                for key, line in batch.items()
                if not line.startswith(POINTER) and _is_wanted(packing.read_line(line), wanted)
            ]
        keys = [key for _, key in sorted(set(order))]
        for start in range(0, len(keys), _BATCH):
            batch_keys = keys[start : start + _BATCH]
            lines = await self.server.command("HMGET", self.server.key(bucket, "e"), *batch_keys)
            yield [(key, packing.read_line(line)) for key, line in zip(batch_keys, lines, strict=True) if line]

    async def read_sites(self, names: Sequence[str]) -> list[Site]:
        """Sites of one bucket."""
        return [site for site, _ in await self._read(names)]

    async def tasks_of(self, site: str, flat: Sequence[bytes]) -> list[Task]:
        """What `read.lua` found of a site's tasks."""
        return packing.read_tasks(flat, site)

    async def pointer(self, site: str, key: int) -> tuple[str, Entry | None] | None:
        """The site whose queue had a page under a name of this one, and its line there; None without a pointer."""
        line = await self._line(site, key)
        if line is None or not line.startswith(POINTER):
            return None
        return _holder(line), await self._pointed_at(line, key)

    # what the methods above are made of

    async def _line(self, site: str, key: int) -> bytes | None:
        line: bytes | None = await self.server.command("HGET", self.server.key(self.buckets.of_site(site), "e"), key)
        return line

    async def _pointed_at(self, pointer: bytes, key: int) -> Entry | None:
        site = _holder(pointer)
        line = await self._line(site, key)
        # In the same bucket there is the pointer itself.
        is_line = line is not None and not line.startswith(POINTER)
        return packing.read_line(line) if line is not None and is_line else await self._owed_line(site, key)

    async def _owed_line(self, site: str, key: int) -> Entry | None:
        return next((entry for entry in await self._owed([site]) if self.identity.hash(entry.url) == key), None)

    async def _known(self, family: str, by_bucket: dict[int, list[int]]) -> set[int]:
        calls: dict[int, list[Argument]] = {bucket: [family, *keys] for bucket, keys in by_bucket.items()}
        replies = await self.server.call_each("know", calls)
        return {
            key
            for bucket, reply in replies.items()
            for key, digit in zip(by_bucket[bucket], reply, strict=True)
            if digit == ord("1")
        }

    async def _look_for_strays(self) -> None:
        if not self.has_strays:
            self.has_strays = bool(await self.server.command("HEXISTS", self.server.key(0, "c"), "strays"))

    async def _restore_hashes(self, hashes: Sequence[int]) -> int:
        if not hashes:
            return 0
        # Everybody who adds must look for strays from now on; only then may there be one.
        flags = {bucket: ("HSETNX", self.server.key(bucket, "c"), "strays", 0) for bucket in self.buckets.every}
        await self.server.command_each(flags)
        self.has_strays = True
        known = await self._known("k", {bucket: [*hashes] for bucket in self.buckets.every})
        calls: defaultdict[int, list[Argument]] = defaultdict(lambda: [*self.fresh])
        for key in hashes:
            if key not in known:
                calls[self.buckets.of_hash(key)] += ("H", key)
        return await self._count_new("restore", calls)

    async def _count_new(self, script: str, calls: dict[int, list[Argument]]) -> int:
        replies = await self.server.call_each(script, calls)
        return sum(reply.count(b"1") for reply in replies.values())

    async def _scan(self, bucket: int, name: str) -> AsyncIterator[dict[bytes, bytes]]:
        """A hash of the bucket in batches; a field may come twice when the hash grows meanwhile."""
        cursor = b"0"
        while True:
            cursor, found = await self.server.command("HSCAN", self.server.key(bucket, name), cursor, "COUNT", _BATCH)
            if found:
                yield found
            if int(cursor) == 0:
                return

    async def _site_names(self, bucket: int) -> AsyncIterator[list[str]]:
        """In batches of few sites with many tasks, or many sites with few."""
        seen: set[bytes] = set()
        async for batch in self._scan(bucket, "s"):
            names: list[str] = []
            owed = 0
            for name, packed in batch.items():
                if name in seen:
                    continue
                seen.add(name)
                numbers = packing.read_numbers(packed)
                names.append(name.decode())
                owed += numbers.pending + numbers.waiting
                if owed >= _BATCH:
                    yield names
                    names, owed = [], 0
            if names:
                yield names

    async def _read(self, names: Sequence[str]) -> list[tuple[Site, list[Task]]]:
        """Sites of one bucket, each with what it owes, in the order in which it came."""
        if not names:
            return []
        found: list[tuple[Site, list[Task]]] = []
        for name, reply in zip(
            names, await self.server.call("read", self.buckets.of_site(names[0]), names), strict=True
        ):
            packed, details, robots, *flat = reply
            if packed:
                site = packing.read_site(name, packing.read_numbers(packed), details, robots)
                found.append((site, sorted(await self.tasks_of(name, flat), key=lambda task: task.sequence)))
        return found

    async def _owed(self, names: Sequence[str]) -> list[Entry]:
        return [_entry_of(site, task) for site, tasks in await self._read(names) for task in tasks]

    async def _lined(self, bucket: int) -> set[int]:
        """Hashes of this bucket's names that have a line, here or where a pointer points."""
        lined: set[int] = set()
        async for batch in self._scan(bucket, "e"):
            for key, line in batch.items():
                if not line.startswith(POINTER) or await self._pointed_at(line, int(key)) is not None:
                    lined.add(int(key))
        return lined

    async def _members(self, bucket: int, family: str) -> AsyncIterator[list[int]]:
        at = 0
        while True:
            sets = await self.server.command("HGET", self.server.key(bucket, "c"), f"{family}:sets")
            if at >= max(1, int(sets or 1)):
                return
            yield [int(key) for key in await self.server.command("SMEMBERS", self.server.key(bucket, f"{family}:{at}"))]
            at += 1


def _entry_of(site: Site, task: Task) -> Entry:
    if site.set_aside:
        return set_aside_entry(task, site.key)
    return Entry(task.url, state_of(task), site.key, task, visits=task.visits)


def _holder(pointer: bytes) -> str:
    return pointer[len(POINTER) :].decode()


def _is_wanted(entry: Entry, wanted: Filter) -> bool:
    return matches(wanted, entry.state, entry.reason, entry.site)


def _restored(entry: Entry, key: int, *, is_claimed: bool) -> list[Argument]:
    """What `restore.lua` reads of an entry."""
    front: list[Argument] = [entry.site, int(is_claimed), key]
    task = entry.task
    if task is not None:
        owed: list[Argument] = [task.priority, task.due_at, packing.pack_tail(task, entry.site)]
        if entry.state in {State.PENDING, State.WAITING}:
            return ["O", *front, *owed]
        if entry.state is State.SKIPPED and entry.reason is Reason.SITE_UNREACHABLE:
            return ["A", *front, *owed, packing.pack_line(entry)]
    return ["E", *front, counter_of(entry), packing.pack_line(entry)]
