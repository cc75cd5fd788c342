"""Is it them or us?"""

import pytest

from outrider.engine.brake import Brake, is_sign_of_life
from outrider.model.outcome import Body, Failed, Failure, Fetched, Outcome, Scope, Skipped, Visit
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.policy.network import NetworkLimits

URL = Url("http://example.com/")
LIMITS = NetworkLimits(window=30.0, least_sites=3, share=0.8)
ALIVE = Fetched(URL, 200, Body(1, ""))


def failed(reason: Reason) -> Failed:
    return Failed(Failure(reason, Scope.SITE))


SILENT = failed(Reason.CONNECT_TIMEOUT)


def visit(outcome: Outcome, at: float = 0.0) -> Visit:
    return Visit("", URL, at, at, outcome, requests=1)


@pytest.mark.parametrize(
    ("outcome", "alive"),
    [
        (ALIVE, True),
        (Skipped(Reason.ROBOTS_DISALLOWED), True),
        (failed(Reason.CONNECT_REFUSED), True),
        (failed(Reason.DNS_NOT_FOUND), True),
        (failed(Reason.CONNECTION_LOST), True),
        (failed(Reason.TLS_EXPIRED), True),
        (failed(Reason.HTTP_503), True),
        (failed(Reason.CONNECT_TIMEOUT), False),
        (failed(Reason.CONNECT_FAILED), False),
        (failed(Reason.DNS_FAILURE), False),
    ],
)
def test_a_refusal_is_an_answer_and_silence_is_not(outcome: Outcome, alive: bool) -> None:  # noqa: FBT001 - a column
    """C4."""
    assert is_sign_of_life(visit(outcome)) is alive


def test_it_takes_several_sites_and_most_of_them() -> None:
    brake = Brake(LIMITS)

    for _ in range(9):
        brake.hear("one.test", visit(SILENT))
    assert not brake.is_on
    brake.hear("two.test", visit(SILENT))
    assert not brake.is_on
    brake.hear("three.test", visit(SILENT))

    assert brake.is_on


def test_one_living_site_among_few_is_enough_to_go_on() -> None:
    brake = Brake(LIMITS)

    brake.hear("alive.test", visit(ALIVE))
    for number in range(3):
        brake.hear(f"{number}.test", visit(SILENT))
    assert not brake.is_on
    brake.hear("4.test", visit(SILENT))

    assert brake.is_on


def test_what_was_heard_long_ago_does_not_count() -> None:
    brake = Brake(LIMITS)

    brake.hear("one.test", visit(SILENT, 0.0))
    brake.hear("two.test", visit(SILENT, 20.0))
    brake.hear("three.test", visit(SILENT, 31.0))

    assert not brake.is_on


def test_one_sign_of_life_releases_it_and_the_past_is_forgotten() -> None:
    brake = Brake(LIMITS)
    for number in range(3):
        brake.hear(f"{number}.test", visit(SILENT))

    brake.hear("alive.test", visit(ALIVE, 1.0))
    assert not brake.is_on
    brake.hear("3.test", visit(SILENT, 2.0))

    assert not brake.is_on


def test_a_pause_that_lasts_too_long_is_ended_and_not_begun_again_for_a_while() -> None:
    """C4: so that a crawl over dead sites ends."""
    brake = Brake(LIMITS)
    for number in range(3):
        brake.hear(f"{number}.test", visit(SILENT))

    brake.ignore(1_000.0)
    for number in range(3):
        brake.hear(f"{number}.test", visit(SILENT, 999.0))
    assert not brake.is_on
    for number in range(3):
        brake.hear(f"{number}.test", visit(SILENT, 1_001.0))

    assert brake.is_on
