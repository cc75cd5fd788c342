"""A probe finds out with one request, or two, whether a site lives; and it always comes to an end."""

import pytest

from outrider.errors import (
    AddressRefused,
    ConnectError,
    ConnectionLost,
    DnsError,
    Phase,
    ProtocolError,
    TimedOut,
    TlsError,
    TlsFault,
    TransportError,
)
from outrider.fetch.ask import Asker
from outrider.fetch.hold import Hold
from outrider.fetch.probe import probe
from outrider.model.outcome import Visit
from outrider.model.site import Breaker, BreakerState, Pace, Site
from outrider.model.url import Url
from outrider.policy.breaker import StayAway, next_step
from outrider.policy.retry import RetryLimits
from outrider.policy.settle import SettleRules, settle_site
from outrider.ports import Response
from outrider.testing.clock import FakeClock
from outrider.testing.site import Script, ScriptedSite, page

PAGE = Url("https://shop.test:8443/deep/page?id=1")
HEAD = "HEAD https://shop.test:8443/"
ROBOTS = "GET https://shop.test:8443/robots.txt"
DOWN = Site(
    "shop.test",
    not_before=1_000.0,
    pace=Pace(base=2.0, interval=2.0),
    breaker=Breaker(BreakerState.OPEN, failures=5, openings=1, probe_at=1_000.0, down_since=900.0),
)


async def probed(table: dict[str, Script]) -> tuple[ScriptedSite, Site, Visit]:
    """The referee's log, the site as settled, and the probe itself."""
    clock = FakeClock(start=1_000.0)
    site = ScriptedSite(table, clock)
    hold = Hold(DOWN, clock, until=2_000.0)
    # Retries are allowed, so that it is the probe that does without them.
    asker = Asker(site, clock, RetryLimits(total=3, network=3, gateway=3, server_error=3), lambda: 0.0)

    visit = await probe(PAGE, hold, asker, clock, lambda: "probe-1")

    return site, settle_site(hold.site, visit, SettleRules(), url=0, jitter=0.0), visit


@pytest.mark.parametrize("code", [200, 204, 301, 302, 304, 400, 401, 403, 404, 410, 451])
async def test_any_answer_below_500_to_one_head_of_the_root_is_life(code: int) -> None:
    """S4-23, C3, C6, H4-3: the original wanted 200 to 399."""
    site, settled, visit = await probed({HEAD: page(b"", code, location="https://elsewhere.test/")})

    assert [(asked.method, asked.url) for _, asked in site.asked] == [("HEAD", "https://shop.test:8443/")]
    assert settled.breaker == Breaker()
    assert settled.alive_at == 1_000.0
    assert (visit.id, visit.requests) == ("probe-1", 1)


@pytest.mark.parametrize("refusal", [405, 501])
@pytest.mark.parametrize("answer", [200, 301, 403, 404])
async def test_where_head_is_refused_robots_txt_is_asked_for(refusal: int, answer: int) -> None:
    """C6: many servers refuse HEAD."""
    site, settled, visit = await probed({HEAD: page(b"", refusal), ROBOTS: page(b"", answer)})

    assert [(asked.method, asked.url.path) for _, asked in site.asked] == [("HEAD", "/"), ("GET", "/robots.txt")]
    assert settled.breaker.state is BreakerState.CLOSED
    assert visit.requests == 2


@pytest.mark.parametrize("answer", [page(b"", 500), page(b"", 503), ConnectionLost("gone")])
async def test_where_head_is_refused_robots_txt_alone_decides(answer: Response | TransportError) -> None:
    _, settled, _ = await probed({HEAD: page(b"", 405), ROBOTS: answer})

    assert settled.breaker.state is BreakerState.OPEN


@pytest.mark.parametrize(
    "answer",
    [
        *(pytest.param(page(b"", code), id=str(code)) for code in (500, 502, 503, 504, 599)),
        pytest.param(ConnectError("nobody listens"), id="refused"),
        pytest.param(ConnectError("no route", refused=False), id="no route"),
        pytest.param(DnsError("timeout"), id="dns"),
        pytest.param(DnsError("no such name", exists=False), id="no name"),
        pytest.param(TlsError("expired", TlsFault.EXPIRED), id="certificate"),
        pytest.param(ConnectionLost("gone"), id="lost"),
        pytest.param(ConnectionLost("gone", reused=True), id="lost, kept connection"),
        pytest.param(ProtocolError("this is no HTTP"), id="no HTTP"),
        pytest.param(AddressRefused("10.0.0.1 is private"), id="refused by us"),
        *(pytest.param(TimedOut("slow", phase), id=f"timeout {phase}") for phase in Phase),
    ],
)
async def test_a_probe_that_finds_no_life_opens_the_breaker_for_longer_and_tries_nothing_again(
    answer: Response | TransportError,
) -> None:
    """S4-23, C5, C6: a probe that decided nothing would be repeated at once, and for ever."""
    site, settled, visit = await probed({HEAD: answer})

    assert len(site.asked) == visit.requests == 1
    assert settled.breaker.state is BreakerState.OPEN
    assert (settled.breaker.openings, settled.breaker.probes) == (2, 1)
    assert next_step(settled.breaker, visit.ended_at) == StayAway(1_060.0)
    assert settled.not_before == 1_060.0


@pytest.mark.parametrize("code", [429, 503])
async def test_a_site_that_answers_a_probe_with_retry_after_is_left_alone_for_as_long(code: int) -> None:
    """C17: it lives but wants no visitors, so the pause does not grow."""
    _, settled, _ = await probed({HEAD: page(b"", code, retry_after="500")})

    assert settled.breaker.state is BreakerState.OPEN
    assert settled.breaker.openings == 1
    assert settled.not_before == 1_500.0


async def test_a_probe_keeps_the_pace_of_the_site() -> None:
    """C6: it counts as requests, the second one at its distance."""
    site, settled, _ = await probed({HEAD: page(b"", 405), ROBOTS: page()})

    assert [at for at, _ in site.asked] == [1_000.0, 1_002.0]
    assert settled.not_before == 1_004.0
