"""What every event sink must keep. Subclass it, say how to `open` a sink and how to `read` what it took, and run it."""

# ruff: noqa: S101 - a contract asserts

import asyncio
from contextlib import AbstractAsyncContextManager
from itertools import pairwise
from uuid import uuid4

import pytest

from outrider.errors import StoreError
from outrider.model.event import BugFound, Event, PageFailed, PageFetched, PageSkipped, UrlRefused
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.ports import EventSink


def skipped(n: int, worker: int = 0) -> PageSkipped:
    url = Url(f"http://example.com/{worker}/{n}")
    return PageSkipped(at=float(n), url=url, site="example.com", reason=Reason.ROBOTS_DISALLOWED, detail="line 3")


class EventsContract:
    """`name` is a fresh place for each test; what is opened under one name is one place."""

    def open(self, name: str) -> AbstractAsyncContextManager[EventSink]:
        raise NotImplementedError("say how to open the backend")

    async def read(self, name: str) -> list[Event]:
        """As a consumer that comes when all is over."""
        raise NotImplementedError("say how its consumers read it")

    @pytest.fixture
    def name(self) -> str:
        return f"t{uuid4().hex[:12]}"

    async def test_a_consumer_that_comes_later_finds_every_event_in_order(self, name: str) -> None:
        """H3-5: what was decided leaves an event, and it is there."""
        async with self.open(name) as sink:
            await sink.publish([skipped(n) for n in range(3)])
            await sink.publish([skipped(n) for n in range(3, 5)])

        assert await self.read(name) == [skipped(n) for n in range(5)]

    async def test_publishing_nothing_is_nothing(self, name: str) -> None:
        async with self.open(name) as sink:
            await sink.publish([])

        assert await self.read(name) == []

    async def test_an_event_comes_back_as_it_went_in(self, name: str) -> None:
        """S4-14: any field, any character."""
        url = Url("http://example.com/a|b?c='\"{}&d=%00%0a")
        fetched = PageFetched(
            at=1.5,
            url=url,
            requested_url=url,
            final_url=Url("https://example.com/é"),
            site="example.com",
            status_code=200,
            content_type=None,
            content_length=2**40,
            content_hash="ab" * 32,
            fetched_at="2026-01-01T00:00:00+00:00",
            cache_key="webpage:x",
            fetch_id="f1",
        )
        strange: list[Event] = [
            fetched,
            PageFailed(
                at=2.0, url=url, site="example.com", reason=Reason.TOO_MANY_REDIRECTS, detail="\n\x1b[2J\u202e\0"
            ),
            UrlRefused(at=3.0, url=url, reason=Reason.OUT_OF_SCOPE, rule="scope", evidence="}\n{"),
            BugFound(at=4.0, what="visit", error="\ud7ff\U0001f980 " * 1_000),
        ]
        async with self.open(name) as sink:
            await sink.publish(strange)

        assert await self.read(name) == strange

    async def test_batches_at_once_are_not_mixed(self, name: str) -> None:
        async with self.open(name) as sink:
            await asyncio.gather(*(sink.publish([skipped(n, worker) for n in range(50)]) for worker in range(8)))

        found = await self.read(name)
        workers = [event.url.path.split("/")[1] for event in found if isinstance(event, PageSkipped)]
        assert len(found) == 400
        assert sum(one != other for one, other in pairwise(workers)) == 7

    async def test_what_was_published_before_is_still_there_after_the_next_start(self, name: str) -> None:
        for n in range(3):
            async with self.open(name) as sink:
                await sink.publish([skipped(n)])

        assert sorted(await self.read(name), key=lambda event: event.at) == [skipped(n) for n in range(3)]

    async def test_a_closed_sink_says_so(self, name: str) -> None:
        async with self.open(name) as sink:
            await sink.publish([skipped(1)])

        with pytest.raises(StoreError, match="closed"):
            await sink.publish([skipped(2)])
