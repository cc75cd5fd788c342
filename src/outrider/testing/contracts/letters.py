"""The contract of dead letters: each once, made of the events of URLs that died, and of nothing else.

Inherit from `LettersContract` in a test class, say in `open` how to reach your backend and in `read` how other programs
read the letters; the same `name` opened twice is the same place.
"""

# ruff: noqa: S101 - a contract asserts

import asyncio
from contextlib import AbstractAsyncContextManager
from uuid import uuid4

import pytest
from msgspec.structs import replace

from outrider.model.event import Event, PageFailed, PageFetched, PageSkipped, SiteWentDown, UrlDied
from outrider.model.letter import DeadLetter
from outrider.model.outcome import Scope
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.ports import Clock
from outrider.stores.letters import LetterSink
from outrider.testing.clock import FakeClock

START = 1_700_000_000.0
DAY = 86_400.0
AT = "2023-11-14T22:13:20.000Z"
"""How that moment is written."""


def letter(number: int = 0) -> DeadLetter:
    return DeadLetter(
        url=f"http://example.com/{number}",
        reason="http_404",
        attempts=1,
        last_error="404 Not Found",
        first_at=AT,
        last_at=AT,
        evidence_id=f"fetch-{number}",
        site="example.com",
        status_code=404,
    )


def failed(number: int = 0, at: float = START, scope: Scope = Scope.URL, *, again: bool = True) -> PageFailed:
    return PageFailed(
        at=at,
        url=Url(f"http://example.com/{number}"),
        site="example.com",
        reason=Reason.HTTP_500,
        status=500,
        due_at=at + 120.0 if again else None,
        detail="500",
        scope=scope,
        fetch_id=f"failed-{number}-{at}",
    )


def died(number: int = 0, at: float = START, visits: int = 3) -> UrlDied:
    return UrlDied(
        at=at,
        url=Url(f"http://example.com/{number}"),
        site="example.com",
        reason=Reason.HTTP_500,
        visits=visits,
        status=500,
        detail="500 after 3 visits",
        fetch_id=f"fetch-{number}-{at}",
    )


def fetched(number: int = 0) -> PageFetched:
    url = Url(f"http://example.com/{number}")
    return PageFetched(
        at=START,
        url=url,
        requested_url=url,
        final_url=url,
        site="example.com",
        status_code=200,
        content_type="text/html",
        content_length=1,
        content_hash="ab",
        fetched_at=AT,
    )


class LettersContract:
    def open(self, name: str, clock: Clock) -> AbstractAsyncContextManager[LetterSink]:
        raise NotImplementedError("say how to open the backend")

    async def read(self, name: str) -> list[DeadLetter]:
        """All of them, the oldest first, as another program reads them."""
        raise NotImplementedError("say how its consumers read it")

    @pytest.fixture
    def name(self) -> str:
        return f"t{uuid4().hex[:12]}"

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock(START)

    async def test_letters_are_read_as_they_were_put(self, name: str, clock: FakeClock) -> None:
        odd = replace(letter(3), url='http://[\0"\u2028é😀,', last_error='","first_at":"x\n', site="", status_code=None)
        async with self.open(name, clock) as letters:
            new = await letters.put([letter(1), letter(2)]), await letters.put([odd]), await letters.put([])
            size = await letters.size()

            assert (new, size) == ((2, 1, 0), 3)
            assert await self.read(name) == [letter(1), letter(2), odd]

    async def test_half_a_character_does_not_stop_a_letter(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as letters:
            await letters.put([replace(letter(), last_error="a\udc80b")])

            [read] = await self.read(name)
            assert read.url == letter().url
            assert read.last_error.encode(errors="replace") in {b"a?b", "a\ufffdb".encode()}

    async def test_a_letter_of_the_same_evidence_is_left_out(self, name: str, clock: FakeClock) -> None:
        """Each once: also in one batch, also by another handle, also when it says more by now."""
        async with self.open(name, clock) as letters, self.open(name, clock) as others:
            new = await letters.put([letter(1), letter(2), letter(1)])
            new_again = await others.put([letter(2), replace(letter(1), attempts=2), letter(3)])

            assert (new, new_again) == (2, 1)
            assert await self.read(name) == [letter(1), letter(2), letter(3)]

    async def test_one_without_evidence_is_known_by_what_it_says(self, name: str, clock: FakeClock) -> None:
        bare = [replace(letter(number), evidence_id="") for number in (1, 2, 1)]
        async with self.open(name, clock) as letters:
            assert await letters.put(bare) == 2
            assert await letters.put(bare) == 0

    async def test_what_was_told_is_forgotten_after_a_day(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as letters:
            new = [await letters.put([letter()])]
            clock.advance(DAY - 1.0)
            new += [await letters.put([letter()])]
            clock.advance(1.0)
            new += [await letters.put([letter()])]

            assert new == [1, 0, 1]
            assert await letters.size() == 2

    async def test_a_url_that_died_becomes_a_letter_once(self, name: str, clock: FakeClock) -> None:
        """S4-5, C18."""
        async with self.open(name, clock) as letters:
            await letters.publish([failed(1, START + 0.5, again=False), died(1, START + 0.5, visits=1)])
            await letters.publish([died(1, START + 0.5, visits=1)])

            assert await self.read(name) == [
                DeadLetter(
                    url="http://example.com/1",
                    reason="http_500",
                    attempts=1,
                    last_error="500 after 3 visits",
                    first_at="2023-11-14T22:13:20.500Z",
                    last_at="2023-11-14T22:13:20.500Z",
                    evidence_id=f"fetch-1-{START + 0.5}",
                    site="example.com",
                    status_code=500,
                )
            ]

    async def test_one_that_says_nothing_gives_its_reason_as_the_error(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as letters:
            await letters.publish([replace(died(), detail="", fetch_id="")])

            [read] = await self.read(name)
            assert (read.last_error, read.evidence_id) == ("http_500", "")

    async def test_the_first_of_several_failures_is_remembered(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as letters, self.open(name, clock) as others:
            await letters.publish([failed(1, START), failed(2, START + 1)])
            await others.publish([failed(1, START + 60), fetched(3)])
            await letters.publish([died(2, START + 90), died(1, START + 120), died(4, START + 150)])

            read = await self.read(name)
            assert [(one.url[-1], one.first_at[17:19], one.last_at[14:19]) for one in read] == [
                ("2", "21", "14:50"),
                ("1", "20", "15:20"),
                ("4", "50", "15:50"),
            ]

    async def test_in_one_batch_too(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as letters:
            await letters.publish([failed(1, START), died(1, START + 60), failed(1, START + 90), died(1, START + 99)])

            read = await self.read(name)
            assert [(one.first_at, one.last_at[14:19]) for one in read] == [
                (AT, "14:20"),
                ("2023-11-14T22:14:50.000Z", "14:59"),
            ]

    async def test_a_death_takes_the_memory_with_it(self, name: str, clock: FakeClock) -> None:
        """It was revived, and died again: that has nothing to do with the first time."""
        async with self.open(name, clock) as letters:
            await letters.publish([failed(1, START), died(1, START + 60)])
            await letters.publish([died(1, START + 600)])

            assert [one.first_at[14:19] for one in await self.read(name)] == ["13:20", "23:20"]

    async def test_dead_at_the_first_failure_there_was_no_other(self, name: str, clock: FakeClock) -> None:
        """An earlier trouble that it got over is none of this, and is forgotten."""
        async with self.open(name, clock) as letters:
            await letters.publish([failed(1, START), died(1, START + 60, visits=1), died(1, START + 120, visits=2)])

            assert [one.first_at[14:19] for one in await self.read(name)] == ["14:20", "15:20"]

    async def test_nothing_else_becomes_a_letter(self, name: str, clock: FakeClock) -> None:
        """S4-5, C18: what is the site's fault never does, and is not remembered against the URL."""
        url = Url("http://example.com/1")
        events: list[Event] = [
            fetched(1),
            failed(1, START, Scope.SITE),
            failed(1, START, Scope.SITE, again=False),
            failed(1, START, again=False),
            PageSkipped(at=START, url=url, site="example.com", reason=Reason.ROBOTS_DISALLOWED),
            SiteWentDown(at=START, site="example.com", reason=Reason.CONNECT_REFUSED, probe_at=START, openings=1),
        ]
        async with self.open(name, clock) as letters:
            await letters.publish(events)
            size = await letters.size()
            await letters.publish([died(1, START + 60)])

            assert size == 0
            assert [one.first_at for one in await self.read(name)] == ["2023-11-14T22:14:20.000Z"]

    async def test_many_at_once_are_each_told_once(self, name: str, clock: FakeClock) -> None:
        """As many workers that tell again what a dead one may have told."""
        deaths = [died(number) for number in range(1_200)]
        async with self.open(name, clock) as letters, self.open(name, clock) as others:
            await asyncio.gather(*(one.publish(deaths[first:]) for one in (letters, others) for first in (0, 400, 800)))

            assert await letters.size() == 1_200
            assert len({one.evidence_id for one in await self.read(name)}) == 1_200
