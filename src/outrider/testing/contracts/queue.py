"""The contract of an input queue: what is taken is lent, and what is not done in time is lent again, to one taker.

Inherit from `QueueContract` in a test class and say in `open` how to reach your backend; the same `name` opened twice
is the same queue.
"""

# ruff: noqa: S101 - a contract asserts

import asyncio
from contextlib import AbstractAsyncContextManager
from uuid import uuid4

import pytest

from outrider.ports import Batch, Clock, InputQueue
from outrider.testing.clock import FakeClock

START = 1_700_000_000.0


def entries(first: int, end: int) -> list[bytes]:
    return [b"http://example.com/%d" % number for number in range(first, end)]


async def taken(queue: InputQueue, most: int = 100, seconds: float = 60.0) -> list[bytes]:
    batch = await queue.take(most, seconds)
    return list(batch.entries) if batch else []


class QueueContract:
    def open(self, name: str, clock: Clock) -> AbstractAsyncContextManager[InputQueue]:
        raise NotImplementedError("say how to open the backend")

    @pytest.fixture
    def name(self) -> str:
        return f"t{uuid4().hex[:12]}"

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock(START)

    async def test_an_empty_queue_has_nothing_to_take(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as queue:
            assert await queue.take(10, 60.0) is None
            assert await queue.size() == 0
            assert await queue.push([]) == 0

    async def test_the_oldest_come_first_and_no_more_than_asked_for(self, name: str, clock: FakeClock) -> None:
        """S4-9."""
        async with self.open(name, clock) as queue:
            pushed = await queue.push(entries(0, 5))
            pushed += await queue.push(entries(5, 7))

            assert pushed == 7
            assert await taken(queue, 3) == entries(0, 3)
            assert await taken(queue, 3) == entries(3, 6)
            assert await taken(queue, 3) == entries(6, 7)
            assert await taken(queue, 3) == []

    async def test_an_entry_is_any_bytes_and_equal_ones_are_several(self, name: str, clock: FakeClock) -> None:
        odd = [b"", b"\0", b"\xff\xfe", b'{"url": "http://example.com/"}', b"x" * 70_000, b"", b"\r\n"]
        async with self.open(name, clock) as queue:
            await queue.push(odd)

            assert await taken(queue) == odd

    async def test_what_is_lent_still_counts_and_what_is_done_does_not(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as queue:
            await queue.push(entries(0, 5))
            batch = await queue.take(2, 60.0)
            assert batch is not None
            while_lent = await queue.size()

            await queue.done(batch)

            assert while_lent == 5
            assert await queue.size() == 3

    async def test_a_batch_that_is_not_done_in_time_is_lent_again_whole(self, name: str, clock: FakeClock) -> None:
        """H4-8: whoever died with it. Before new ones, however few are asked for, and with new time."""
        async with self.open(name, clock) as queue:
            await queue.push(entries(0, 9))
            first = await queue.take(4, 60.0)
            assert first is not None
            clock.advance(59.0)
            in_time = await taken(queue, 2)

            clock.advance(1.0)
            again = await queue.take(1, 60.0)
            clock.advance(58.0)
            others = await taken(queue, 100, 600.0)
            nothing = await taken(queue)
            size = await queue.size()

        assert again is not None
        assert (in_time, again.entries, nothing) == (entries(4, 6), first.entries, [])
        assert again.id != first.id
        # Those of 59 were lent until 119, and it is 118.
        assert others == entries(6, 9)
        assert size == 9

    async def test_the_longest_overdue_comes_first(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as queue:
            await queue.push(entries(0, 4))
            for seconds in (30.0, 10.0, 20.0):
                await queue.take(1, seconds)
            clock.advance(100.0)

            assert [await taken(queue) for _ in range(5)] == [
                *(entries(n, n + 1) for n in (1, 2, 0)),
                entries(3, 4),
                [],
            ]

    async def test_what_is_done_is_never_lent_again(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as queue:
            await queue.push(entries(0, 3))
            batch = await queue.take(3, 60.0)
            assert batch is not None

            await queue.done(batch)
            clock.advance(1_000.0)

            assert await taken(queue) == []
            assert await queue.size() == 0

    async def test_saying_done_twice_or_of_nothing_does_no_harm(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as queue:
            await queue.push(entries(0, 4))
            batch = await queue.take(2, 60.0)
            assert batch is not None

            await queue.done(batch)
            await queue.done(batch)
            await queue.done(Batch("never", (b"x",)))

            assert await taken(queue) == entries(2, 4)

    async def test_who_says_done_too_late_takes_nothing_from_who_has_it_now(self, name: str, clock: FakeClock) -> None:
        """The second one may die as well: only its own word counts."""
        async with self.open(name, clock) as queue:
            await queue.push(entries(0, 3))
            late = await queue.take(3, 60.0)
            assert late is not None
            clock.advance(60.0)
            second = await queue.take(3, 60.0)
            assert second is not None

            await queue.done(late)
            size = await queue.size()
            clock.advance(60.0)
            third = await taken(queue)

        assert size == 3
        assert third == entries(0, 3)

    async def test_late_but_before_anybody_else_had_it_is_in_time(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as queue:
            await queue.push(entries(0, 3))
            batch = await queue.take(3, 60.0)
            assert batch is not None
            clock.advance(600.0)

            await queue.done(batch)

            assert await taken(queue) == []

    async def test_no_more_is_pushed_than_fits(self, name: str, clock: FakeClock) -> None:
        """H4-12: what is lent takes room too, or the queue would grow while its takers are slow."""
        async with self.open(name, clock) as queue:
            added = [await queue.push(entries(0, 6), most=10)]
            await queue.take(5, 60.0)
            added += [await queue.push(entries(6, 12), most=10)]
            added += [await queue.push(entries(10, 12), most=10), await queue.push(entries(10, 12), most=3)]

            assert added == [6, 4, 0, 0]
            assert await taken(queue) == entries(5, 10)

    async def test_many_are_pushed_and_taken_in_order(self, name: str, clock: FakeClock) -> None:
        many = entries(0, 10_000)
        got: list[bytes] = []
        async with self.open(name, clock) as queue:
            added = await queue.push(many[:9_000]), await queue.push(many[9_000:], most=9_900)
            while batch := await queue.take(3_000, 60.0):
                got += batch.entries
                await queue.done(batch)

            assert added == (9_000, 900)
            assert got == many[:9_900]
            assert await queue.size() == 0

    async def test_an_overdue_batch_goes_to_exactly_one_of_many(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as queue, self.open(name, clock) as other:
            await queue.push(entries(0, 30))
            for _ in range(3):
                await queue.take(10, 60.0)
            clock.advance(61.0)

            batches = await asyncio.gather(*(one.take(10, 60.0) for one in (queue, other) * 4))

        lent = [batch.entries for batch in batches if batch is not None]
        assert sorted(lent) == sorted(tuple(entries(first, first + 10)) for first in (0, 10, 20))

    async def test_twenty_takers_at_once_are_handed_each_entry_once(self, name: str, clock: FakeClock) -> None:
        got: list[bytes] = []

        async def work(queue: InputQueue) -> None:
            while batch := await queue.take(37, 60.0):
                got.extend(batch.entries)
                await queue.done(batch)

        async with self.open(name, clock) as queue, self.open(name, clock) as other:
            await queue.push(entries(0, 5_000))

            await asyncio.gather(*(work(one) for one in (queue, other) * 10))

            assert sorted(got) == sorted(entries(0, 5_000))
            assert await queue.size() == 0
