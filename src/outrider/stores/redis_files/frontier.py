"""The Redis frontier, with two more acts: spill what makes a queue too long, fill in what is about to be shown.

Nothing else differs: the scripts know where a new task goes while part of its queue is in files.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Self
from uuid import uuid4

from outrider.errors import ConfigError, StoreError
from outrider.model.lease import Lease
from outrider.model.ledger import Added, Entry, Filter
from outrider.model.reason import Reason
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import Clock, FrontierRules
from outrider.stores.place import Place
from outrider.stores.redis import packing
from outrider.stores.redis.buckets import Buckets
from outrider.stores.redis.dismissing import Part
from outrider.stores.redis.frontier import RedisFrontier, reach
from outrider.stores.redis.heads import Head
from outrider.stores.redis.link import Argument
from outrider.stores.redis.owing import Again
from outrider.stores.redis.server import Server
from outrider.stores.redis_files.segments import Segment, Segments, on_disk

_HEAD: Final = 1_000
_QUEUES_AT_ONCE: Final = 16
_ITEMS_AT_ONCE: Final = 10_000
_ROUNDS: Final = 64
_NONE_LEFT: Final = 2
"""The answer of `refill.lua` when the queue has no segment any more."""


class RedisFilesFrontier(RedisFrontier):
    def __init__(
        self,
        server: Server,
        buckets: Buckets,
        rules: FrontierRules,
        clock: Clock | None,
        megabytes: int,
        segments: Segments,
    ) -> None:
        super().__init__(server, buckets, rules, clock, megabytes)
        self.segments = segments

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, rules: FrontierRules, clock: Clock | None) -> AsyncIterator[Self]:
        name = place.text("files", "")
        head = place.number("head", _HEAD)
        folder = Path(name)
        if not folder.is_absolute():
            raise ConfigError(f"{place}: files={name!r}; expected the whole path of a folder, such as /var/spool/crawl")
        with on_disk(place, f"use {folder}"):
            await asyncio.to_thread(_try_out, folder)
        async with reach(place, rules, head) as (server, buckets, agreed, known):
            ours = await _our_folder(server, place, folder, f"{{{server.prefix}}}:files")
            yield cls(server, buckets, agreed, clock, known, Segments(ours, place))

    async def add_batch(
        self, keys: Sequence[int], tasks: Sequence[Task], refused: Sequence[tuple[Url, Reason]]
    ) -> list[Added]:
        answers = await super().add_batch(keys, tasks, refused)
        await self._spill()
        return answers

    async def lend(
        self, chosen: Sequence[Head], next_at: dict[int, float], *, tasks: int, seconds: float
    ) -> list[Lease]:
        await self._refill(chosen, tasks)
        return await super().lend(chosen, next_at, tasks=tasks, seconds=seconds)

    async def revive(self, wanted: Filter) -> int:
        count = await super().revive(wanted)
        await self._spill()
        return count

    async def owe_batch(self, again: Again) -> int:
        count = await super().owe_batch(again)
        await self._spill()
        return count

    async def owed_in_files(self, site: str, queues: Sequence[tuple[bytes, bytes]]) -> tuple[set[str], set[int]]:
        files: set[str] = set()
        owed: set[int] = set()
        for queue, text in queues:
            segment = Segment.parse(text)
            items, _ = await self.segments.read(queue, segment, segment.count)
            files.add(segment.file)
            owed |= {self.identity.hash(packing.read_task(item, site, 0, 0.0).url) for item in items}
        return files, owed

    async def spilled(self, queue: bytes, segments: Sequence[bytes], after: int, most: int) -> list[bytes]:
        """Segments come in order, and so do the items in them: where to begin is found by a few first items."""
        parts = [Segment.parse(text) for text in segments]
        low, high = 0, len(parts)
        while high - low > 1:
            middle = (low + high) // 2
            (first,), _ = await self.segments.read(queue, parts[middle], 1)
            low, high = (middle, high) if packing.number_of(first) <= after else (low, middle)
        found: list[bytes] = []
        for part in parts[low:]:
            rest: Segment | None = part
            while rest is not None and len(found) < most:
                items, rest = await self.segments.read(queue, rest, max(most, _HEAD))
                found += [item for item in items if packing.number_of(item) > after]
            if len(found) >= most:
                break
        return found[:most]

    async def look_in_files(self, site: str, queues: Sequence[tuple[bytes, bytes]], wanted: set[int]) -> list[Part]:
        """Read until all are found. What a segment would be without those that it holds is written beside it."""
        parts: list[Part] = []
        for queue, text in queues:
            segment = Segment.parse(text)
            items, _ = await self.segments.read(queue, segment, segment.count)
            keys = [self.identity.hash(packing.read_task(item, site, 0, 0.0).url) for item in items]
            lost = {key: item for key, item in zip(keys, items, strict=True) if key in wanted}
            left = [item for key, item in zip(keys, items, strict=True) if key not in wanted]
            new = b""
            if lost and left:
                new = str(await self.segments.write(queue, left)).encode()
            parts.append(Part(queue, text, new, lost))
            wanted = wanted - lost.keys()
            if not wanted:
                break
        return parts

    async def tidy(self, parts: Sequence[Part], replaced: Collection[bytes]) -> None:
        for part in parts:
            if part.lost and part.text in replaced:
                await self.segments.retire(part.queue, [Segment.parse(part.text)], is_last=False)
            elif part.new:
                await self.segments.discard(part.queue, Segment.parse(part.new))

    async def restore(
        self, entries: Sequence[Entry] = (), sites: Sequence[Site] = (), hashes: Sequence[int] = ()
    ) -> int:
        count = await super().restore(entries, sites, hashes)
        await self._spill()
        return count

    async def tasks_of(self, site: str, flat: Sequence[bytes]) -> list[Task]:
        whole: list[bytes] = []
        for at in range(0, len(flat), 3):
            priority, due, item = flat[at : at + 3]
            if due:
                whole += (priority, due, item)
            else:
                segment = Segment.parse(item)
                queue = b"%s:%s" % (priority, site.encode())
                items, _ = await self.segments.read(queue, segment, segment.count)
                for spilled in items:
                    whole += (priority, b"0", spilled)
        return await super().tasks_of(site, whole)

    async def _spill(self) -> None:
        """What is too long goes to files. The tasks are safe in Redis before, meanwhile, and if this fails."""
        for _ in range(_ROUNDS):
            calls = dict.fromkeys(self.buckets.every, (_QUEUES_AT_ONCE, _ITEMS_AT_ONCE))
            replies = await self.server.call_each("tail", calls)
            if not any(replies.values()):
                return
            for bucket, queues in replies.items():
                for queue, *items in queues:
                    if items:
                        await self._spill_queue(bucket, queue, items)

    async def _spill_queue(self, bucket: int, queue: bytes, items: Sequence[bytes]) -> None:
        segment = await self.segments.write(queue, items)
        if not await self.server.call("spill", bucket, (queue, str(segment), len(items), items[0], items[-1])):
            await self.segments.discard(queue, segment)

    async def _refill(self, heads: Sequence[Head], tasks: int) -> None:
        """Have so many tasks of each queue in Redis, if there are so many."""
        calls: defaultdict[int, list[Argument]] = defaultdict(lambda: [tasks])
        for head in heads:
            calls[head.bucket].append(head.site)
        for bucket, queues in (await self.server.call_each("short", calls)).items():
            for queue, wants, *segments in queues:
                await self._refill_queue(bucket, queue, wants, [Segment.parse(segment) for segment in segments])

    async def _refill_queue(self, bucket: int, queue: bytes, wants: int, segments: Sequence[Segment]) -> None:
        items: list[bytes] = []
        finished = 0
        rest: Segment | None = None
        for segment in segments:
            found, rest = await self.segments.read(queue, segment, wants - len(items))
            items += found
            if rest is not None:
                break
            finished += 1
        read = segments[: finished + (rest is not None)]
        progress: list[Argument] = [queue, len(read), *map(str, read), str(rest) if rest is not None else ""]
        done = await self.server.call("refill", bucket, [*progress, *items])
        if done:
            await self.segments.retire(queue, segments[:finished], is_last=done == _NONE_LEFT)


def _try_out(folder: Path) -> None:
    """Better refused before anything is written than when the first queue is too long."""
    trial = folder / uuid4().hex
    trial.mkdir()
    trial.rmdir()


async def _our_folder(server: Server, place: Place, folder: Path, key: str) -> Path:
    """Where this store's files are. It is named in Redis, so that another disk under the same path is noticed."""
    name: bytes | None = await server.command("GET", key)
    if name is None:
        fresh = folder / uuid4().hex
        with on_disk(place, f"make {fresh}"):
            await asyncio.to_thread(fresh.mkdir)
        await server.command("SET", key, fresh.name, "NX")
        name = bytes(await server.command("GET", key))
        if name.decode() != fresh.name:
            with on_disk(place, f"remove {fresh}"):
                await asyncio.to_thread(fresh.rmdir)
    ours = folder / name.decode()
    if not await asyncio.to_thread(ours.is_dir):
        raise StoreError(f"{place}: {ours} is missing; all who open the store must see the folder it was made with")
    return ours
