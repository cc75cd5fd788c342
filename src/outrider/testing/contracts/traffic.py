"""The contract of records that can be audited: every request and every robots.txt comes back as it was, once.

Inherit from `TrafficContract` as from `RecordsContract`.
"""

# ruff: noqa: S101 - a contract asserts

from contextlib import AbstractAsyncContextManager
from uuid import uuid4

import pytest
from msgspec.structs import replace

from outrider.model.asked import Asked, AskedFor, Manners, RobotsAnswer
from outrider.model.record import Record, Tally
from outrider.model.robots import RobotsFile, RobotsStatus
from outrider.model.site import BreakerState
from outrider.model.url import Url
from outrider.ports import AuditRecords, Records
from outrider.testing.contracts.records import HOME, pages_of, visit

BODY = b"User-agent: *\nDisallow: /\xff\x00\n"


def asked(n: int, site: str = "example.org", **fields: object) -> Asked:
    """One request for a page; `fields` override."""
    request = Asked(
        at=1_000.25 + n,
        visit="fetch-1",
        turn=n,
        site=site,
        url=f"http://{site}/{n}",
        method="GET",
        kind=AskedFor.PAGE,
        ended_at=1_000.5 + n,
        status=200,
        reason=None,
        retry_after=None,
        not_before=1_000.2 + n,
        interval=1.0,
        manners="abc",
    )
    return replace(request, **fields)


def heard(at: float, site: str = "example.org", body: bytes | None = BODY) -> RobotsAnswer:
    status = RobotsStatus.FOUND if body is not None else RobotsStatus.UNREACHABLE
    return RobotsAnswer(site, RobotsFile(f"http://{site}", status, at, at + 86_400.0, body, 200, "é"))


async def requests_of(records: AuditRecords) -> list[Asked]:
    return [one async for batch in records.requests() for one in batch]


async def robots_of(records: AuditRecords) -> list[RobotsAnswer]:
    return [one async for batch in records.robots() for one in batch]


def auditable(records: Records) -> AuditRecords:
    assert isinstance(records, AuditRecords)
    return records


class TrafficContract:
    def open(self, name: str) -> AbstractAsyncContextManager[Records]:
        raise NotImplementedError("say how to open the backend")

    @pytest.fixture
    def name(self) -> str:
        return f"t{uuid4().hex[:12]}"

    async def test_a_request_comes_back_as_it_was_written(self, name: str) -> None:
        probe = asked(
            2,
            method="HEAD",
            kind=AskedFor.PROBE,
            status=None,
            reason="connect_refused",
            breaker=BreakerState.HALF_OPEN,
            probe_at=999.0,
            openings=3,
        )
        told_to_wait = asked(3, status=429, reason="rate_limited", retry_after=7.5, kind=AskedFor.STATUS)
        async with self.open(name) as records:
            await records.write([visit(1), Record(requests=(asked(1), probe, told_to_wait))])

        async with self.open(name) as records:
            assert await requests_of(auditable(records)) == [asked(1), probe, told_to_wait]
            assert await records.find(HOME) == [visit(1)]
            assert await records.tally() == Tally({visit(1).page.metadata.status: 1}, 10)  # type: ignore[union-attr]

    async def test_a_batch_that_is_written_again_is_there_once(self, name: str) -> None:
        """After `StoreUnavailable` nobody knows whether it was written: so it is said again."""
        batch = [visit(1), Record(requests=(asked(1), asked(2)), robots=(heard(1.0),), manners=(Manners("bot"),))]
        async with self.open(name) as records:
            await records.write(batch)
            await records.write(batch)

            assert await requests_of(auditable(records)) == [asked(1), asked(2)]
            assert await robots_of(auditable(records)) == [heard(1.0)]
            assert len(await pages_of(records)) == 1

    async def test_a_visit_that_was_made_twice_has_the_requests_of_both(self, name: str) -> None:
        """The first worker was killed once this was on record: the page is one, but the site was asked twice."""
        async with self.open(name) as records:
            await records.write([visit(1), Record(requests=(asked(1),))])
            await records.write([visit(1), Record(requests=(asked(60, turn=1, url=asked(1).url),))])

            assert [one.at for one in await requests_of(auditable(records))] == [1_001.25, 1_060.25]
            assert len(await pages_of(records)) == 1

    async def test_each_body_of_a_robots_txt_is_kept_with_what_was_heard_of_it(self, name: str) -> None:
        later = (heard(5.0), heard(3.0, "a.org", None), heard(4.0, "a.org", b""))
        async with self.open(name) as records:
            await records.write([Record(robots=(heard(7.0),))])
            await records.write([Record(robots=later)])

            found = await robots_of(auditable(records))

        assert found == [heard(3.0, "a.org", None), heard(4.0, "a.org", b""), heard(5.0), heard(7.0)]

    async def test_manners_are_kept_by_their_name(self, name: str) -> None:
        quick = Manners("bot", delay=0.5, breaker_ladder=(1.0, 2.0), max_pages=7)
        async with self.open(name) as records:
            await records.write([Record(manners=(Manners("bot"), quick)), Record(manners=(quick,))])

            found = await auditable(records).manners()

        assert found == {Manners("bot").name: Manners("bot"), quick.name: quick}
        assert len(found) == 2

    async def test_a_url_of_the_model_and_half_a_character_do_no_harm(self, name: str) -> None:
        odd = asked(1, url=Url("http://example.org/ä"), site="\udcff", reason="\ud800")
        file = replace(heard(1.0).file, detail="\ud800\x00")
        async with self.open(name) as records:
            await records.write([Record(requests=(odd,), robots=(RobotsAnswer("example.org", file),))])

            (found,) = await requests_of(auditable(records))
            (answer,) = await robots_of(auditable(records))

        assert (found.url, found.site, found.reason) == ("http://example.org/%C3%A4", "\ufffd", "\ufffd")
        assert answer.file.body == BODY
        assert answer.file.detail in {"\ufffd\x00", "\ufffd\ufffd"}
