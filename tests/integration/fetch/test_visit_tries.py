"""Sites that fail now and then, always, or by rule: how often they are asked, and what is left of it."""

from email.utils import formatdate
from time import time

import pytest
from tests.integration.fetch.visiting import HOST, HOSTS, impatient, reason_of, shop

from outrider.client import Client
from outrider.model.outcome import Failed, Fetched, Scope
from outrider.model.reason import Reason
from outrider.testing.webfarm import Behaviour, WebFarm, flaky, hang, page, redirect, reset, status, too_many


@pytest.mark.parametrize(
    ("failures", "retries"),
    [([500], 1), ([500, 500], 2), ([502], 1), ([503, 504], 2), ([500, 502], 2), ([503, 500, 500], 3), ([521], 1)],
)
async def test_a_server_that_stumbles_is_asked_again(failures: list[int], retries: int) -> None:
    """S1-10, S3-8, S4-20, C19: the page is there in the end, and its record tells how often it was asked for."""
    async with shop({"/x": flaky(failures, page("there"))}) as scene:
        haul = await scene.visit("/x")

        assert len(scene.farm.asked(target="/x")) == retries + 1
    assert haul.content == b"there"
    assert [past.failure.status for past in haul.visit.tries] == failures
    assert haul.visit.requests == retries + 2


@pytest.mark.parametrize(
    ("code", "scope", "polite", "service", "audit"),
    [
        (500, Scope.URL, 3, 4, 4),
        (501, Scope.URL, 3, 4, 4),
        (502, Scope.SITE, 3, 1, 4),
        (503, Scope.SITE, 3, 1, 4),
        (504, Scope.SITE, 3, 1, 4),
        (599, Scope.URL, 3, 4, 4),
        (400, Scope.URL, 1, 1, 1),
        (401, Scope.URL, 1, 1, 1),
        (403, Scope.URL, 1, 1, 1),
        (404, Scope.URL, 1, 1, 1),
        (410, Scope.URL, 1, 1, 1),
        (418, Scope.URL, 1, 1, 1),
        (451, Scope.URL, 1, 1, 1),
        (999, Scope.URL, 1, 1, 1),
    ],
)
async def test_a_server_that_fails_for_good_is_asked_as_often_as_the_profile_says(
    code: int, scope: Scope, polite: int, service: int, audit: int
) -> None:
    """S1-4, S1-25, S3-8, S3-14, S4-17, S4-18, S4-20, S4-32, C1, C2: how often, and whose fault it is in the end."""
    for profile, requests in (("polite", polite), ("service", service), ("audit", audit)):
        async with shop({"/x": status(code)}, profile=profile) as scene:
            haul = await scene.visit("/x")

            assert len(scene.farm.asked(target="/x")) == requests
        outcome = haul.visit.outcome
        assert isinstance(outcome, Failed)
        assert (outcome.failure.reason, outcome.failure.scope) == (Reason.of_status(code), scope)
        assert outcome.failure.status == code
        assert [hop.status for hop in haul.visit.hops] == [code]


@pytest.mark.parametrize("date", [True, False])
async def test_a_429_is_waited_for_as_it_asks(date: bool) -> None:  # noqa: FBT001 - a column of the table
    """S3-9, S4-19, C17: both forms of Retry-After."""
    retry_after = formatdate(time() + 1, usegmt=True) if date else "1"
    async with shop({"/x": flaky([too_many(retry_after)], page("there"))}) as scene:
        haul = await scene.visit("/x")

        assert len(scene.farm.asked(target="/x")) == 2
    assert haul.content == b"there"
    (past,) = haul.visit.tries
    assert past.failure.reason is Reason.RATE_LIMITED
    assert past.failure.retry_after is not None
    # A date has no fractions of a second.
    assert 0 <= past.failure.retry_after <= 1
    assert past.wait == past.failure.retry_after


@pytest.mark.parametrize("date", [True, False])
async def test_a_429_that_asks_for_longer_ends_the_visit(date: bool) -> None:  # noqa: FBT001 - a column of the table
    """S3-10, S3-11, C17: whoever settles is told when to come back."""
    retry_after = formatdate(time() + 3_600, usegmt=True) if date else "3600"
    async with shop({"/x": too_many(retry_after)}) as scene:
        haul = await scene.visit("/x")

    outcome = haul.visit.outcome
    assert isinstance(outcome, Failed)
    assert (outcome.failure.reason, outcome.failure.scope) == (Reason.RATE_LIMITED, Scope.SITE)
    assert outcome.failure.retry_after is not None
    assert 3_500 < outcome.failure.retry_after <= 3_600
    assert haul.visit.requests == 2


async def test_a_503_with_retry_after_is_a_request_to_wait() -> None:
    """C17."""
    async with shop({"/x": status(503, headers={"Retry-After": "3600"})}) as scene:
        haul = await scene.visit("/x")

    outcome = haul.visit.outcome
    assert isinstance(outcome, Failed)
    assert (outcome.failure.reason, outcome.failure.retry_after) == (Reason.HTTP_503, 3600.0)
    assert haul.visit.requests == 2


@pytest.mark.parametrize("lost", [hang(), reset("half"), status(500)])
async def test_a_hop_is_tried_again_where_it_failed(lost: Behaviour) -> None:
    """S3-12."""
    paths = {"/a": redirect(302, "/x"), "/x": flaky([lost], page("there"))}
    async with shop(paths, first_byte_timeout=0.2) as scene:
        haul = await scene.visit("/a")

        assert scene.asked == ["GET /robots.txt", "GET /a", "GET /x", "GET /x"]
    assert haul.content == b"there"


async def test_no_retry_is_spent_when_there_is_none() -> None:
    async with shop({"/x": flaky([500], page())}, max_retries=0) as scene:
        assert reason_of(await scene.visit("/x")) is Reason.HTTP_500


async def test_a_site_that_goes_down_is_left_alone_and_comes_back() -> None:
    """S4-21, S4-23, C6, H4-3: five failures open the breaker; one probe closes it, although HEAD is refused."""
    brief = {"breaker_backoff": 1e-6, "breaker_max_backoff": 1e-6, "max_retries": 0}
    settings = impatient(respect_robots=False, contact="owner@shop.test", **brief)
    paths = {f"/{number}": status(503) for number in range(5)}
    async with WebFarm({HOST: paths}) as farm, Client(settings=settings, hosts=HOSTS) as client:
        failed = [await client.fetch(farm.url(HOST, f"/{number}")) for number in range(5)]
        farm.sites[HOST] = {"/": status(405), "/robots.txt": status(404), "/5": page("back")}
        back = await client.fetch(farm.url(HOST, "/5"))

        assert [f"{asked.method} {asked.target}" for asked in farm.log[5:]] == ["HEAD /", "GET /robots.txt", "GET /5"]
    assert not any(fetch.ok for fetch in failed)
    assert isinstance(back.outcome, Fetched)
