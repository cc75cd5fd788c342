"""How a visit ended: the exit code and the way out. The sentences are in test_timeline."""

import pytest

from outrider.cli.verdict import exit_code, way_out
from outrider.client import Fetch
from outrider.model.outcome import Body, Failed, Failure, Fetched, NotModified, Outcome, Skipped, Visit
from outrider.model.reason import Reason
from outrider.model.url import Url

PAGE = Url("http://127.0.0.1/")


def fetch(outcome: Outcome, url: Url = PAGE) -> Fetch:
    return Fetch(Visit("id", url, 0.0, 0.0, outcome), b"", None, ())


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Fetched(PAGE, 200, Body(1, "")), 0),
        (NotModified(PAGE), 0),
        (Failed(Failure(Reason.HTTP_404, status=404)), 4),
        (Failed(Failure(Reason.DNS_NOT_FOUND)), 4),
        (Failed(Failure(Reason.ROBOTS_UNREACHABLE)), 4),
        (Failed(Failure(Reason.TOO_MANY_REDIRECTS)), 4),
        (Skipped(Reason.ROBOTS_DISALLOWED), 5),
        (Skipped(Reason.BLOCKED_ADDRESS), 5),
        (Skipped(Reason.SKIP_PATTERN), 5),
        (Skipped(Reason.REDIRECT_NOT_FOLLOWED), 5),
    ],
)
def test_every_end_has_its_code(outcome: Outcome, code: int) -> None:
    assert exit_code(fetch(outcome)) == code


def test_localhost_is_let_through_by_its_network() -> None:
    blocked = Skipped(Reason.BLOCKED_ADDRESS)

    assert way_out(fetch(blocked, Url("http://localhost/"))) == "--allow-private 127.0.0.0/8"
    assert way_out(fetch(blocked)) is None  # the guard's own sentence names the flag


def test_there_is_no_way_around_what_a_site_asks_for() -> None:
    assert way_out(fetch(Skipped(Reason.ROBOTS_DISALLOWED))) is None
    assert way_out(fetch(Failed(Failure(Reason.TLS_UNTRUSTED)))) is None
