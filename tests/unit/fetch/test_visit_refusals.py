"""One visit that does not take place: robots.txt that cannot be had, addresses that are refused."""

from typing import Final

import pytest
from tests.unit.fetch.scripted import ROBOTS, ROOT, START, A, B, Scene, rules, to

from outrider.app import (
    settle_rules,
)
from outrider.errors import (
    AddressRefused,
    ConnectError,
    DnsError,
    Phase,
    TimedOut,
    TlsError,
    TlsFault,
    TransportError,
)
from outrider.model.outcome import (
    Failed,
    Fetched,
    Outcome,
    Scope,
    Skipped,
)
from outrider.model.reason import Reason
from outrider.model.settlement import Later
from outrider.model.site import Breaker
from outrider.model.task import Task
from outrider.policy.settle import settle
from outrider.settings import settings_of
from outrider.testing.site import Script, page

# ── robots.txt that cannot be had ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (page(status=500), "HTTP 500"),
        (page(status=503), "HTTP 503"),
        (TimedOut("too long in phase idle", Phase.IDLE), "too long in phase idle"),
        (page(b"User-agent: *", content_encoding="gzip"), "not valid gzip"),
    ],
)
async def test_without_its_robots_txt_the_site_waits(answer: Script, detail: str) -> None:
    """C13: nothing is lost, nothing is asked for, and the site is left alone until the file is asked for again."""
    settings = settings_of(delay=0, max_retries=0)
    scene = Scene({ROBOTS: answer, A: page()}, settings)
    task = Task(A)

    haul = await scene.visit(task)
    settled, site = settle(task, haul.visit, scene.hold.site, settle_rules(settings), url=1, jitter=0.0)

    assert isinstance(haul.visit.outcome, Failed)
    failure = haul.visit.outcome.failure
    assert (failure.reason, failure.scope) == (Reason.ROBOTS_UNREACHABLE, Scope.SITE)
    assert failure.detail.startswith(f"robots.txt of {ROOT} cannot be reached: {detail}")
    assert scene.asked == ["GET /robots.txt"]
    assert site.not_before == START + 300
    assert settled == Later(START + 300, Reason.ROBOTS_UNREACHABLE, 0, deferrals=1, deferred_at=START)


async def test_a_second_page_does_not_ask_for_the_missing_robots_txt_again() -> None:
    """H4-6, C15: a failure is remembered, for minutes, and what is remembered counts once against the site."""
    settings = settings_of(delay=0, max_retries=0)
    scene = Scene({ROBOTS: page(status=500), A: page(), B: page()}, settings)

    for number, url in enumerate([A, B]):
        haul = await scene.visit(url)
        _, scene.hold.site = settle(
            Task(url), haul.visit, scene.hold.site, settle_rules(settings), url=number, jitter=0.0
        )

        assert isinstance(haul.visit.outcome, Failed)
        assert haul.visit.outcome.failure.reason is Reason.ROBOTS_UNREACHABLE
    assert scene.asked == ["GET /robots.txt"]
    assert scene.hold.site.breaker.failures == 1


async def test_a_429_for_robots_txt_is_the_site_asking_for_silence() -> None:
    """C13, C17."""
    settings = settings_of(delay=1)
    scene = Scene({ROBOTS: page(status=429, retry_after="4000")}, settings)
    task = Task(A)

    haul = await scene.visit(task)
    _, site = settle(task, haul.visit, scene.hold.site, settle_rules(settings), url=1, jitter=0.0)

    assert isinstance(haul.visit.outcome, Failed)
    assert (haul.visit.outcome.failure.reason, haul.visit.outcome.failure.retry_after) == (
        Reason.ROBOTS_UNREACHABLE,
        4000.0,
    )
    assert site.not_before == START + 4000
    assert site.breaker == Breaker()


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DnsError("no such name", exists=False), Reason.DNS_NOT_FOUND),
        (ConnectError("refused"), Reason.CONNECT_REFUSED),
        (TimedOut("no connection", Phase.CONNECT), Reason.CONNECT_TIMEOUT),
        (TlsError("expired", TlsFault.EXPIRED), Reason.TLS_EXPIRED),
    ],
)
async def test_a_site_that_cannot_be_connected_to_is_told_as_that(error: TransportError, reason: Reason) -> None:
    """S1-24, S4-17: robots.txt is asked for first, but it is not what is wrong."""
    scene = Scene({ROBOTS: error}, settings_of(delay=0, max_retries=0))

    outcome = await scene.outcome()

    assert isinstance(outcome, Failed)
    assert (outcome.failure.reason, outcome.failure.scope) == (reason, Scope.SITE)
    assert outcome.failure.detail == f"robots.txt of {ROOT} cannot be reached: {error}"
    assert scene.hold.site.not_before == START + 300


async def test_what_is_wrong_where_robots_txt_was_moved_to_says_nothing_of_the_site() -> None:
    elsewhere = "http://elsewhere.example/robots.txt"
    scene = Scene({ROBOTS: to(elsewhere), elsewhere: DnsError("gone", exists=False)})

    outcome = await scene.outcome()

    assert isinstance(outcome, Failed)
    assert outcome.failure.reason is Reason.ROBOTS_UNREACHABLE
    assert outcome.failure.detail.endswith("redirected: gone")


@pytest.mark.parametrize(("unreachable", "kind"), [("allow", Fetched), ("deny", Skipped), ("defer", Failed)])
async def test_an_unreachable_robots_txt_means_what_the_setting_says(unreachable: str, kind: type[Outcome]) -> None:
    """S4-35, S4-51, C13."""
    settings = settings_of(delay=0, max_retries=0, robots_unreachable=unreachable)
    scene = Scene({ROBOTS: page(status=500), A: page()}, settings)

    assert isinstance(await scene.outcome(), kind)


async def test_the_last_good_robots_txt_outlives_an_outage() -> None:
    """C13."""
    script = [rules("User-agent: *\nDisallow: /a"), page(status=500)]
    scene = Scene({ROBOTS: script, A: page(), B: page()}, settings_of(delay=0, max_retries=0))

    await scene.visit(A)
    scene.clock.advance(86_401)
    later = [await scene.outcome(A), await scene.outcome(B)]

    assert isinstance(later[0], Skipped)
    assert isinstance(later[1], Fetched)


# ── addresses ─────────────────────────────────────────────────────────────────────────────────────────────────────────

REFUSED: Final = AddressRefused("example.com is not visited: its address 127.0.0.1 is loopback")


@pytest.mark.parametrize("unreachable", ["allow", "deny", "defer"])
async def test_an_address_that_is_refused_is_a_skip_by_our_own_rule(unreachable: str) -> None:
    """DESIGN 2.8: for every URL alike, and no fault of the site."""
    settings = settings_of(delay=0, robots_unreachable=unreachable)
    scene = Scene({ROBOTS: REFUSED, A: REFUSED, B: REFUSED}, settings)

    outcomes = [await scene.outcome(A), await scene.outcome(B)]

    assert outcomes == [Skipped(Reason.BLOCKED_ADDRESS, str(REFUSED))] * 2
    assert scene.hold.site.robots == ()
    assert scene.hold.site.not_before <= START


async def test_an_address_may_be_refused_on_a_later_hop() -> None:
    scene = Scene({A: to("/b"), B: REFUSED})

    haul = await scene.visit()

    assert haul.visit.outcome == Skipped(Reason.BLOCKED_ADDRESS, str(REFUSED))
    assert [hop.url for hop in haul.visit.hops] == [A]
