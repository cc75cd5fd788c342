"""One question, asked again as often as is worth it: how often, when, and what is left afterwards."""

from typing import Final

import pytest

from outrider.app import pace_limits, retry_limits
from outrider.errors import (
    AddressRefused,
    BodyTooLarge,
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
from outrider.fetch.ask import Asker, Reply
from outrider.fetch.hold import Hold
from outrider.model.outcome import Failure, Scope
from outrider.model.reason import Reason
from outrider.model.site import Breaker, BreakerState, Site
from outrider.model.url import Url
from outrider.policy.pace import fresh_pace
from outrider.ports import Request
from outrider.settings import Settings, settings_of
from outrider.testing.clock import FakeClock
from outrider.testing.site import Answer, ScriptedSite, page

A: Final = Url("http://example.com/a")
START: Final = 1_000_000.0
QUICK: Final = settings_of(delay=0)
OK: Final = page()


class Scene:
    """A site that follows its script, and somebody who asks it. Luck is 0, so that moments are exact."""

    def __init__(
        self, *answers: Answer, settings: Settings = QUICK, breaker: Breaker | None = None, lease: float = 300.0
    ) -> None:
        self.clock = FakeClock(START)
        self.site = ScriptedSite({A: answers}, self.clock)
        pace = pace_limits(settings)
        self.asker = Asker(self.site, self.clock, retry_limits(settings), lambda: 0.0, pace)
        state = Site("example.com", pace=fresh_pace(pace), breaker=breaker or Breaker())
        self.hold = Hold(state, self.clock, START + lease)

    async def ask(self, *, conditional: bool = False, again: bool = True) -> Reply:
        return await self.asker.ask(Request(A), self.hold, conditional=conditional, again=again)

    @property
    def asked_at(self) -> list[float]:
        return [at - START for at, _ in self.site.asked]


async def test_an_answer_is_asked_for_once() -> None:
    scene = Scene(OK)

    reply = await scene.ask()

    assert reply == Reply(START, OK, None, tries=())
    assert scene.asked_at == [0.0]


@pytest.mark.parametrize(
    ("failing", "profile", "asked_at"),
    [
        (page(status=500), "polite", [0, 2, 6]),
        (page(status=503), "polite", [0, 2, 6]),
        (page(status=429), "polite", [0, 2]),
        (TimedOut("late", Phase.FIRST_BYTE), "polite", [0, 2]),
        (page(status=500), "audit", [0, 2, 6, 14]),
        (page(status=502), "audit", [0, 2, 6, 14]),
        (page(status=504), "audit", [0, 2, 6, 14]),
        (page(status=429), "audit", [0, 2, 6, 14]),
        (page(status=500), "service", [0, 2, 6, 14]),
        (page(status=503), "service", [0]),
        (ConnectError("no"), "service", [0]),
    ],
)
async def test_waits_double_and_end_with_the_budget_of_the_profile(
    failing: Answer, profile: str, asked_at: list[float]
) -> None:
    """S1-4, S1-5, S1-10, S1-11, S3-8, S4-32, C1, C19: 2, 4, 8 seconds; three retries are four requests."""
    scene = Scene(failing, settings=settings_of(profile=profile, delay=0))

    reply = await scene.ask()

    assert scene.asked_at == asked_at
    assert reply.failure is not None
    assert scene.hold.requests == len(asked_at)
    assert [past.wait for past in reply.tries] == [*([2.0, 4.0, 8.0][: len(asked_at) - 1]), None]


@pytest.mark.parametrize(
    "flaw",
    [
        DnsError("no answer"),
        ConnectionLost("reset"),
        TlsError("cut", TlsFault.HANDSHAKE),
        TimedOut("late", Phase.TOTAL),
        TimedOut("stalled", Phase.IDLE),
        ConnectError("refused"),
    ],
)
async def test_the_network_may_flake_once(flaw: TransportError) -> None:
    """S3-3 to S3-7: one more request, two seconds later, and nobody hears of it but the record."""
    scene = Scene(flaw, OK)

    reply = await scene.ask()

    assert (reply.response, reply.failure) == (OK, None)
    assert scene.asked_at == [0.0, 2.0]
    assert [(past.at, past.wait) for past in reply.tries] == [(START, 2.0)]
    assert scene.hold.requests == 2


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        *((page(status=status), Reason.of_status(status)) for status in (400, 401, 403, 404, 408, 410)),
        (page(status=304), Reason.UNSOLICITED_NOT_MODIFIED),
        (page(status=300), Reason.UNEXPECTED_STATUS),
        (page(status=305, location="/b"), Reason.UNEXPECTED_STATUS),
        (page(status=999), Reason.UNEXPECTED_STATUS),
        (DnsError("there is no such name", exists=False), Reason.DNS_NOT_FOUND),
        (TlsError("old", TlsFault.EXPIRED), Reason.TLS_EXPIRED),
        (AddressRefused("loopback"), Reason.BLOCKED_ADDRESS),
        (ProtocolError("gopher"), Reason.PROTOCOL_ERROR),
        (BodyTooLarge("endless"), Reason.BODY_TOO_LARGE),
    ],
)
async def test_what_would_end_the_same_is_asked_once(answer: Answer, reason: Reason) -> None:
    """S3-14, S3-16, C31, H3-3: not a 4xx, not an unsolicited 304, not a certificate, nothing unknown."""
    scene = Scene(answer, OK)

    reply = await scene.ask()

    assert reply.failure is not None
    assert reply.failure.reason is reason
    assert scene.asked_at == [0.0]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_an_answer(status: int) -> None:
    redirect = page(status=status, location="/b", retry_after="9")
    scene = Scene(redirect)

    assert (await scene.ask()).failure is None


async def test_a_304_is_welcome_when_it_was_asked_for() -> None:
    """C16."""
    assert (await Scene(page(status=304)).ask(conditional=True)).failure is None


async def test_asking_once_is_asking_once() -> None:
    scene = Scene(page(status=503), OK)

    reply = await scene.ask(again=False)

    assert reply.failure is not None
    assert scene.asked_at == [0.0]


async def test_a_connection_that_had_gone_stale_is_replaced_at_once() -> None:
    """DESIGN 2.1: the request most likely never arrived; only the site's pace is waited for."""
    scene = Scene(ConnectionLost("stale", reused=True), page(status=500), OK, settings=settings_of(delay=1))

    reply = await scene.ask()

    assert reply.response == OK
    assert scene.asked_at == [0.0, 1.0, 5.0]
    assert [past.wait for past in reply.tries] == [0.0, 4.0]


async def test_a_retry_takes_its_turn_at_the_site_pace() -> None:
    """C1: every try takes a permit again; a slow site is not asked sooner because it failed."""
    scene = Scene(page(status=500), OK, settings=settings_of(delay=10))

    await scene.ask()

    assert scene.asked_at == [0.0, 10.0]


@pytest.mark.parametrize("failing", [page(status=503), page(status=500), ConnectError("refused")])
async def test_an_outage_is_not_retried(failing: Answer) -> None:
    """DESIGN 2.1: no try is spent while the breaker counts anything."""
    scene = Scene(failing, OK, breaker=Breaker(failures=1))

    assert (await scene.ask()).failure is not None
    assert scene.asked_at == [0.0]


async def test_a_stale_connection_is_no_sign_of_an_outage() -> None:
    scene = Scene(ConnectionLost("stale", reused=True), OK, breaker=Breaker(failures=1))

    assert (await scene.ask()).response == OK


async def test_a_site_that_is_down_is_asked_once() -> None:
    scene = Scene(ConnectionLost("stale", reused=True), OK, breaker=Breaker(BreakerState.HALF_OPEN))

    assert (await scene.ask()).failure is not None


async def test_no_try_is_begun_that_the_lease_would_not_see() -> None:
    """C1: bounded by the lease's time, also when it is the site's pace that takes too long."""
    for settings, lease in ((QUICK, 2.0), (settings_of(delay=20), 15.0)):
        scene = Scene(page(status=500), OK, settings=settings, lease=lease)

        reply = await scene.ask()

        assert reply.failure == Failure(Reason.HTTP_500, transient=True, status=500)
        assert scene.asked_at == [0.0]


SOON: Final = "Mon, 12 Jan 1970 13:46:50 GMT"
"""Ten seconds after START."""


@pytest.mark.parametrize("retry_after", ["10", SOON])
@pytest.mark.parametrize("status", [429, 503])
async def test_a_short_retry_after_is_waited_for(retry_after: str, status: int) -> None:
    """S3-9, S4-19, C17: in both forms."""
    scene = Scene(page(status=status, retry_after=retry_after), OK)

    reply = await scene.ask()

    assert reply.response == OK
    assert scene.asked_at == [0.0, 10.0]


@pytest.mark.parametrize("retry_after", ["3600", "Mon, 12 Jan 1970 14:46:40 GMT"])
async def test_a_long_retry_after_is_left_to_whoever_settles(retry_after: str) -> None:
    """S3-10, S3-20, C17: a failure of the site that says when to come back; the pace is untouched until it settles."""
    scene = Scene(page(status=429, retry_after=retry_after), OK)

    reply = await scene.ask()

    assert scene.asked_at == [0.0]
    assert reply.failure == Failure(
        Reason.RATE_LIMITED, Scope.SITE, transient=True, status=429, retry_after=3600.0, detail=""
    )
    assert scene.hold.site.pace.interval == 0.0


@pytest.mark.parametrize("retry_after", ["soon", "-5", "", "Tue, 99 Foo"])
async def test_a_retry_after_that_says_nothing_is_not_there(retry_after: str) -> None:
    scene = Scene(page(status=429, retry_after=retry_after), OK)

    await scene.ask()

    assert scene.asked_at == [0.0, 2.0]


async def test_a_429_slows_the_site_down_although_the_next_try_succeeds() -> None:
    """C17: else every page of the site would cost two requests."""
    scene = Scene(page(status=429), OK, settings=settings_of(delay=5))

    await scene.ask()
    await scene.ask()

    assert scene.hold.site.pace.interval == 10.0
    assert scene.asked_at == [0.0, 10.0, 20.0]


async def test_a_503_without_retry_after_slows_nothing() -> None:
    scene = Scene(page(status=503), OK, settings=settings_of(delay=5))

    await scene.ask()

    assert scene.hold.site.pace.interval == 5.0


async def test_a_try_that_a_slower_pace_puts_behind_the_lease_is_not_begun() -> None:
    scene = Scene(page(status=429), OK, settings=settings_of(delay=20), lease=35.0)

    reply = await scene.ask()

    assert reply.failure is not None
    assert scene.asked_at == [0.0]
    assert scene.hold.site.pace.interval == 20.0
