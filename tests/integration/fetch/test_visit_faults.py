"""The web lying, stalling and breaking: each fault has one name, and none takes longer than it may."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from tests.integration.fetch.visiting import HOST, fetched, reason_of, shop

from outrider.fetch import limits
from outrider.model.outcome import Failed, Fetched, Scope, Skipped
from outrider.model.reason import Reason
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.testing.webfarm import (
    Behaviour,
    blackhole,
    broken_chunks,
    close_early,
    dribble,
    endless_headers,
    flaky,
    garbage_status_line,
    hang,
    header_bomb,
    left_stale,
    longer_than_said,
    never_speaks,
    no_headers_end,
    page,
    refused_port,
    reset,
    script,
    server_sent_events,
    silent_close,
    slow_first_byte,
)
from outrider.testing.webfarm.faults import Close
from outrider.testing.webfarm.wire import head

HALF_A_PAGE = head(200, {"Content-Type": "text/html", "Content-Length": "1000"}) + b"<p>half a"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (reset("nothing"), Reason.CONNECTION_LOST),
        (reset("head"), Reason.CONNECTION_LOST),
        (reset("half"), Reason.CONNECTION_LOST),
        (silent_close(), Reason.CONNECTION_LOST),
        (close_early(), Reason.CONNECTION_LOST),
        (broken_chunks("ending"), Reason.CONNECTION_LOST),
        (no_headers_end(), Reason.CONNECTION_LOST),
        (broken_chunks("size"), Reason.PROTOCOL_ERROR),
        (broken_chunks("length"), Reason.PROTOCOL_ERROR),
        (garbage_status_line(), Reason.PROTOCOL_ERROR),
        (garbage_status_line(b"HTTP/3.7 200 OK"), Reason.PROTOCOL_ERROR),
        (garbage_status_line(b"HTTP/1.1 twohundred OK"), Reason.PROTOCOL_ERROR),
        (script(b"<p>an answer as in 1991", Close()), Reason.PROTOCOL_ERROR),
        (header_bomb(), Reason.PROTOCOL_ERROR),
        (endless_headers(), Reason.PROTOCOL_ERROR),
        (script(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", Close()), Reason.PROTOCOL_ERROR),
    ],
)
async def test_each_fault_has_its_name(fault: Behaviour, reason: Reason) -> None:
    """S1-24: a page that broke on the way is no page, not even half of one."""
    async with shop({"/x": fault}, max_retries=0) as scene:
        haul = await scene.visit("/x")

    outcome = haul.visit.outcome
    assert isinstance(outcome, Failed)
    assert (outcome.failure.reason, outcome.failure.scope) == (reason, Scope.URL)
    assert outcome.failure.transient == (reason is Reason.CONNECTION_LOST)
    assert (haul.content, haul.visit.hops) == (b"", ())


@pytest.mark.parametrize(
    "fault", [reset("nothing"), reset("head"), reset("half"), silent_close(), close_early(), no_headers_end()]
)
async def test_a_connection_that_is_lost_once_is_a_blip(fault: Behaviour) -> None:
    """S3-4, S3-7: asked again, and the page is there."""
    async with shop({"/x": flaky([fault], page("whole"))}) as scene:
        haul = await scene.visit("/x")

        assert scene.asked == ["GET /robots.txt", "GET /x", "GET /x"]
    assert haul.content == b"whole"
    # libcurl may keep a connection that was closed inside the headers: it is found out to be stale, at once.
    assert {past.failure.reason for past in haul.visit.tries} == {Reason.CONNECTION_LOST}
    assert sum(not past.failure.stale for past in haul.visit.tries) <= 1
    assert haul.visit.requests == 2 + len(haul.visit.tries)


async def test_a_protocol_error_is_not_asked_for_again() -> None:
    async with shop({"/x": garbage_status_line()}) as scene:
        haul = await scene.visit("/x")

    assert (reason_of(haul), haul.visit.requests) == (Reason.PROTOCOL_ERROR, 2)


@pytest.mark.parametrize("by_reset", [True, False])
async def test_a_kept_connection_that_has_died_costs_nothing_but_a_try(by_reset: bool) -> None:  # noqa: FBT001 - a column of the table
    """DESIGN 2.1: at once, and without a budget for the network."""
    paths = {"/robots.txt": left_stale(page(code=404), reset=by_reset), "/x": page("whole")}
    async with shop(paths, network_retries=0) as scene:
        haul = await scene.visit("/x")

        assert scene.farm.connections.accepted == 2
    assert haul.content == b"whole"
    assert [(past.failure.stale, past.wait) for past in haul.visit.tries] == [(True, 0.0)]


async def test_more_than_was_said_is_not_part_of_the_page() -> None:
    async with shop({"/x": longer_than_said(b"<p>the page<p>the rest"), "/y": page("next")}) as scene:
        haul, after = await scene.visit("/x"), await scene.visit("/y")

    assert haul.content == b"<p>the page"
    assert fetched(after).status == 200
    assert after.content == b"next"


@pytest.mark.parametrize(
    ("fault", "keys", "phase"),
    [
        (slow_first_byte(3600.0), {"first_byte_timeout": 0.2}, "first_byte"),
        (hang(), {"first_byte_timeout": 0.2}, "first_byte"),
        (hang(HALF_A_PAGE), {"idle_timeout": 0.2}, "idle"),
        (hang(b"HTTP/1.1 200 OK\r\nContent-Type: te"), {"idle_timeout": 0.2}, "idle"),
        (hang(b"HTTP/1.1 100 Continue\r\n\r\n"), {"idle_timeout": 0.2}, "idle"),
        (dribble(every=0.02), {"timeout": 0.4}, "total"),
        (server_sent_events(every=0.02), {"timeout": 0.4, "content_types": "text/*"}, "total"),
    ],
)
async def test_nobody_is_waited_for_longer_than_a_limit(fault: Behaviour, keys: dict[str, object], phase: str) -> None:
    """S1-3, S3-6: the limit that ran out is named; a server that never lets go is let go."""
    async with shop({"/x": fault}, max_retries=0, **keys) as scene:
        haul = await scene.visit("/x")

        async with asyncio.timeout(10):
            await scene.farm.until(lambda: scene.farm.connections.open == 0)
    outcome = haul.visit.outcome
    assert isinstance(outcome, Failed)
    assert outcome.failure.reason is Reason.READ_TIMEOUT
    assert outcome.failure.detail == f"too long in phase {phase}"


async def test_a_page_that_dribbles_is_given_up_for_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GRACE", 0.2)
    async with shop({"/x": dribble(every=0.02)}, max_retries=0, min_rate=100_000) as scene:
        haul = await scene.visit("/x")

    outcome = haul.visit.outcome
    assert isinstance(outcome, Failed)
    assert outcome.failure.detail == "too long in phase slow"


async def test_a_page_that_dribbles_fast_enough_is_waited_for() -> None:
    async with shop({"/x": dribble(page("worth waiting for"), every=0.001)}, idle_timeout=0.5) as scene:
        haul = await scene.visit("/x")

    assert haul.content == b"worth waiting for"


async def test_a_page_that_was_late_once_is_asked_for_again() -> None:
    """S3-6, S3-12: also where a redirect leads."""
    async with shop({"/x": flaky([hang()], page("now"))}, first_byte_timeout=0.2) as scene:
        haul = await scene.visit("/x")

    assert haul.content == b"now"
    assert [past.failure.reason for past in haul.visit.tries] == [Reason.READ_TIMEOUT]


async def test_a_page_may_take_its_time_within_the_limits() -> None:
    ready = asyncio.Event()
    async with shop({"/x": slow_first_byte(ready, page("ready"))}) as scene:
        visiting = asyncio.create_task(scene.visit("/x"))
        async with asyncio.timeout(10):
            await scene.farm.until(lambda: bool(scene.farm.asked(target="/x")))
        ready.set()

        assert (await visiting).content == b"ready"


async def test_a_visit_that_is_cancelled_lets_go_of_its_connection() -> None:
    async with shop({"/x": hang(HALF_A_PAGE), "/y": page()}) as scene:
        visiting = asyncio.create_task(scene.visit("/x"))
        async with asyncio.timeout(10):
            await scene.farm.until(lambda: bool(scene.farm.asked(target="/x")))
        visiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await visiting

        async with asyncio.timeout(10):
            await scene.farm.until(lambda: scene.farm.connections.open == 0)
        assert isinstance((await scene.visit("/y")).visit.outcome, Fetched)


@pytest.mark.parametrize("respect_robots", [True, False])
@pytest.mark.parametrize(
    ("hole", "scheme", "reason"),
    [
        (refused_port, "http", Reason.CONNECT_REFUSED),
        (refused_port, "https", Reason.CONNECT_REFUSED),
        (blackhole, "http", Reason.CONNECT_TIMEOUT),
        (never_speaks, "https", Reason.TLS_FAILURE),
    ],
)
async def test_where_nobody_answers_the_site_is_down(
    hole: Callable[[], AbstractContextManager[tuple[str, int]]],
    scheme: str,
    reason: Reason,
    respect_robots: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """S1-24, S3-5, S4-17, C2: told as what it is, although it is robots.txt that is asked for first."""
    keys = {"max_retries": 0, "connect_timeout": 0.2, "tls_timeout": 0.2, "respect_robots": respect_robots}
    with hole() as (_, port):
        async with shop({}, **keys) as scene:
            haul = await scene.visit_task(Task(Url(f"{scheme}://{HOST}:{port}/")))

    outcome = haul.visit.outcome
    assert isinstance(outcome, Failed)
    assert (outcome.failure.reason, outcome.failure.scope) == (reason, Scope.SITE)
    assert haul.visit.requests == 1


@pytest.mark.parametrize("respect_robots", [True, False])
async def test_an_address_that_is_refused_sees_no_packet(respect_robots: bool) -> None:  # noqa: FBT001 - a column of the table
    """DESIGN 2.8: a skip, by a rule of ours that is named."""
    async with shop({"/x": page()}, allow_private=(), respect_robots=respect_robots) as scene:
        haul = await scene.visit("/x")

        assert scene.farm.connections.accepted == 0
    outcome = haul.visit.outcome
    assert isinstance(outcome, Skipped)
    assert outcome.reason is Reason.BLOCKED_ADDRESS
    assert "--allow-private 127.0.0.1" in outcome.detail
