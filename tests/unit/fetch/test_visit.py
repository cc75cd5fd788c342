"""One visit: which steps, in which order, at which moments, and what it ends as."""

import asyncio

import pytest
from tests.unit.fetch.scripted import PAGE, ROBOTS, ROOT, START, A, B, Scene, rules, to

from outrider.app import (
    settle_rules,
)
from outrider.errors import (
    ConnectError,
    ConnectionLost,
    Phase,
    TimedOut,
)
from outrider.model.outcome import (
    Failed,
    Failure,
    Fetched,
    Scope,
    Skipped,
    Validators,
)
from outrider.model.reason import Reason
from outrider.model.settlement import Later
from outrider.model.site import Breaker
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.pace import ready_at
from outrider.policy.settle import settle
from outrider.settings import settings_of
from outrider.testing.site import Script, page

# ── order ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_page_is_fetched_with_its_whole_story() -> None:
    """S0-23, S1-1, S1-8, S1-9, S4-29: robots.txt first, then the page."""
    scene = Scene({A: page(PAGE, etag='"1"', server="farm")})

    haul = await scene.visit()

    assert scene.asked == ["GET /robots.txt", "GET /a"]
    visit = haul.visit
    assert isinstance(visit.outcome, Fetched)
    assert (visit.outcome.url, visit.outcome.status, visit.outcome.validators) == (A, 200, Validators('"1"'))
    assert (visit.outcome.body.content_type, visit.outcome.body.charset) == ("text/html", "utf-8")
    assert haul.content == PAGE.encode()
    assert [(hop.url, hop.status, hop.location) for hop in visit.hops] == [(A, 200, None)]
    assert ("server", "farm") in visit.hops[0].headers
    assert (visit.id, visit.requested, visit.final_url, visit.requests, visit.tries) == ("id", A, A, 2, ())
    assert visit.robots is not None
    assert visit.robots.allowed


async def test_a_skip_pattern_asks_nobody_not_even_robots_txt() -> None:
    """S1-1, S1-27, S1-29."""
    scene = Scene({}, settings_of(profile="audit", delay=0))

    outcome = await scene.outcome(Url(f"{ROOT}/admin/users"))

    assert outcome == Skipped(Reason.SKIP_PATTERN, "/admin: /admin/users")
    assert scene.asked == []


async def test_a_non_text_extension_asks_nobody() -> None:
    """S1-28, S2-17."""
    scene = Scene({})

    assert await scene.outcome(Url(f"{ROOT}/film.mp4")) == Skipped(Reason.NON_TEXT_EXTENSION, "skip_extensions: .mp4")
    assert scene.asked == []


async def test_a_disallowed_page_is_not_asked_for() -> None:
    """S1-14, S4-6, S4-31, C14, C15: a skip that quotes the deciding line."""
    scene = Scene({ROBOTS: rules("User-agent: *\nDisallow: /a")})

    haul = await scene.visit()

    assert haul.visit.outcome == Skipped(
        Reason.ROBOTS_DISALLOWED, "disallowed by line 2 of robots.txt (Disallow: /a) for user-agent *"
    )
    assert scene.asked == ["GET /robots.txt"]
    assert haul.visit.requests == 1
    assert haul.visit.hops == ()


async def test_robots_txt_is_asked_for_once_a_day_and_not_with_every_page() -> None:
    """S4-6, S4-40."""
    scene = Scene({A: page(), B: page()})

    first, second = await scene.visit(A), await scene.visit(B)
    scene.clock.advance(86_401)
    third = await scene.visit(A)

    assert scene.asked == ["GET /robots.txt", "GET /a", "GET /b", "GET /robots.txt", "GET /a"]
    assert [haul.visit.requests for haul in (first, second, third)] == [2, 1, 2]


async def test_with_robots_off_the_page_is_asked_for_at_once() -> None:
    """S1-7."""
    scene = Scene({A: page()}, settings_of(delay=0, respect_robots=False))

    await scene.visit()

    assert scene.asked == ["GET /a"]


@pytest.mark.parametrize(
    ("answer", "status"), [(page(b"", 200), 200), (page(b"", 405), 405), (ConnectionLost("gone"), None)]
)
async def test_a_disallowed_page_may_be_asked_for_its_status_by_one_head(answer: Script, status: int | None) -> None:
    """S1-14, C14, H1-5: one request, whatever becomes of it."""
    settings = settings_of(delay=0, robots_blocked="status")
    scene = Scene({ROBOTS: rules("User-agent: *\nDisallow: /a"), f"HEAD {A}": answer}, settings)

    haul = await scene.visit()

    assert isinstance(haul.visit.outcome, Skipped)
    assert (haul.visit.outcome.reason, haul.visit.outcome.status) == (Reason.ROBOTS_DISALLOWED, status)
    assert scene.asked == ["GET /robots.txt", "HEAD /a"]
    assert haul.visit.requests == 2


async def test_a_429_to_that_head_slows_the_site_down() -> None:
    """C17: a skip settles nothing, so it is heeded in the visit."""
    settings = settings_of(delay=1, robots_blocked="status")
    scene = Scene(
        {ROBOTS: rules("User-agent: *\nDisallow: /a"), f"HEAD {A}": page(b"", 429, retry_after="60")}, settings
    )

    await scene.visit()

    assert ready_at(scene.hold.site) == START + 1 + 60
    assert scene.hold.site.pace.interval == 2.0


# ── pace ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_robots_txt_hops_and_tries_all_take_their_turn() -> None:
    """C12, C23, S4-3, H4-6: no two requests closer than the delay, whatever they are for."""
    scene = Scene({A: to("/b"), B: [page(status=500), page()]}, settings_of(delay=3))

    haul = await scene.visit()

    assert scene.asked == ["GET /robots.txt", "GET /a", "GET /b", "GET /b"]
    assert scene.asked_at == [0, 3, 6, 9]
    assert haul.visit.requests == 4
    assert [hop.at - START for hop in haul.visit.hops] == [3, 9]
    assert (haul.visit.started_at, haul.visit.ended_at) == (START, START + 9)


async def test_a_crawl_delay_is_kept_from_the_next_request_on() -> None:
    """C21: it can only slow us."""
    scene = Scene({ROBOTS: rules("User-agent: *\nCrawl-delay: 7"), A: to("/b"), B: page()}, settings_of(delay=1))

    await scene.visit()

    assert scene.asked_at == [0, 7, 14]


async def test_a_crawl_delay_below_ours_changes_nothing() -> None:
    scene = Scene({ROBOTS: rules("User-agent: *\nCrawl-delay: 0.1"), A: to("/b"), B: page()}, settings_of(delay=1))

    await scene.visit()

    assert scene.asked_at == [0, 1, 2]


async def test_a_crawl_delay_beyond_the_limit_is_not_sat_out() -> None:
    """C21."""
    scene = Scene({ROBOTS: rules("User-agent: *\nCrawl-delay: 3600"), A: page()})

    assert await scene.outcome() == Skipped(
        Reason.CRAWL_DELAY_TOO_LONG, "robots.txt asks for 3600 s, the limit is 300 s"
    )
    assert scene.asked == ["GET /robots.txt"]


async def test_two_visits_of_one_site_share_robots_txt_and_count_their_own_requests() -> None:
    """H4-6, S4-3."""
    scene = Scene({A: page(), B: page()}, settings_of(delay=1))

    one, other = await asyncio.gather(scene.visit(A), scene.visit(B))

    assert sorted(scene.asked) == ["GET /a", "GET /b", "GET /robots.txt"]
    assert scene.asked_at == [0, 1, 2]
    assert [one.visit.requests, other.visit.requests] == [2, 1]


# ── tries ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_tries_are_part_of_the_story() -> None:
    """S1-11, S3-23, C19: three requests, two retries, and when each was made."""
    scene = Scene({A: [page(status=500), page(status=502), page()]})

    visit = (await scene.visit()).visit

    assert isinstance(visit.outcome, Fetched)
    assert scene.asked_at == [0, 0, 2, 6]
    assert [(past.url, past.at - START, past.failure.status, past.wait) for past in visit.tries] == [
        (A, 0.0, 500, 2.0),
        (A, 2.0, 502, 4.0),
    ]
    assert [hop.status for hop in visit.hops] == [200]
    assert visit.requests == 4


async def test_a_page_that_fails_for_good_says_how_it_failed_last() -> None:
    """S3-20."""
    scene = Scene({A: [page(status=503), page(status=500)]})

    visit = (await scene.visit()).visit

    assert visit.outcome == Failed(Failure(Reason.HTTP_500, Scope.URL, transient=True, status=500))
    assert [past.wait for past in visit.tries] == [2.0, 4.0, 8.0, None]
    assert [hop.status for hop in visit.hops] == [500]


async def test_a_hop_that_is_lost_is_tried_again_and_the_chain_is_not() -> None:
    """S3-12: redirect target times out, redirect chain fails by network error."""
    scene = Scene({A: to("/b"), B: [TimedOut("late", Phase.FIRST_BYTE), page()]})

    haul = await scene.visit()

    assert scene.asked == ["GET /robots.txt", "GET /a", "GET /b", "GET /b"]
    assert isinstance(haul.visit.outcome, Fetched)


async def test_what_was_walked_is_kept_when_the_next_hop_fails() -> None:
    scene = Scene({A: to("/b"), B: ConnectError("refused")})

    haul = await scene.visit()

    assert isinstance(haul.visit.outcome, Failed)
    assert haul.visit.outcome.failure.reason is Reason.CONNECT_REFUSED
    assert [hop.url for hop in haul.visit.hops] == [A]
    assert haul.response is None


async def test_a_site_that_has_failed_before_gets_no_second_try() -> None:
    scene = Scene({A: [page(status=503), page()]}, breaker=Breaker(failures=1))

    outcome = await scene.outcome()

    assert outcome == Failed(Failure(Reason.HTTP_503, Scope.SITE, transient=True, status=503))


@pytest.mark.parametrize("retry_after", ["3600", "Mon, 12 Jan 1970 14:46:40 GMT"])
async def test_a_long_429_leaves_the_site_slow_once_it_is_settled(retry_after: str) -> None:
    """S4-19, C17: the site waits, its delay is wider, the URL has spent nothing and the breaker counts nothing."""
    settings = settings_of(delay=1, respect_robots=False)
    scene = Scene({A: page(status=429, retry_after=retry_after)}, settings)
    task = Task(A)

    haul = await scene.visit(task)
    settled, site = settle(task, haul.visit, scene.hold.site, settle_rules(settings), url=1, jitter=0.0)

    assert scene.asked == ["GET /a"]
    assert settled == Later(START + 3600, Reason.RATE_LIMITED, 0, deferrals=1, deferred_at=START)
    assert site.not_before == START + 3600
    assert (site.pace.interval, site.breaker) == (2.0, Breaker())


async def test_each_429_slows_the_site_down_once() -> None:
    settings = settings_of(delay=1, respect_robots=False)
    scene = Scene({A: page(status=429)}, settings)
    task = Task(A)

    haul = await scene.visit(task)
    _, site = settle(task, haul.visit, scene.hold.site, settle_rules(settings), url=1, jitter=0.0)

    assert scene.asked_at == [0, 2]
    assert site.pace.interval == 4.0


# ── content ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [300, 305, 306, 399])
async def test_a_3xx_that_leads_nowhere_is_no_page(status: int) -> None:
    """C31."""
    scene = Scene({A: page(PAGE, status, location="/b")})

    assert await scene.outcome() == Failed(Failure(Reason.UNEXPECTED_STATUS, status=status))


async def test_a_large_body_is_read_in_a_thread_to_the_same_end() -> None:
    """H2-11: decoding it must not keep the loop from everybody else."""
    body = PAGE.encode() + b" " * 2_000_000
    scene = Scene({A: page(body)})

    haul = await scene.visit()

    assert isinstance(haul.visit.outcome, Fetched)
    assert (haul.visit.outcome.body.length, haul.content) == (len(body), body)


async def test_who_wants_pdf_gets_pdf() -> None:
    """C28: only what calls itself text has to be some."""
    pdf = b"%PDF-1.7\n" + bytes(range(256)) * 8
    scene = Scene({A: page(pdf, content_type="application/pdf")}, settings_of(delay=0, content_types="application/pdf"))

    haul = await scene.visit()

    assert isinstance(haul.visit.outcome, Fetched)
    assert (haul.visit.outcome.body.content_type, haul.visit.outcome.body.charset) == ("application/pdf", None)
    assert haul.content == pdf
