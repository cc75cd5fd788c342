"""A visit as a person reads it. The Fetch is made by hand: no network, no clock."""

import pytest
from rich.text import Text

from outrider.cli.timeline import phases, timeline
from outrider.client import Fetch
from outrider.model.outcome import (
    Body,
    Failed,
    Failure,
    Fetched,
    Hop,
    NotModified,
    Outcome,
    Skipped,
    Timing,
    Try,
    Validators,
    Visit,
)
from outrider.model.reason import Reason
from outrider.model.robots import RobotsBasis, RobotsVerdict
from outrider.model.url import Url

START = 1_000.0
OLD = Url("https://example.org/old")
NEW = Url("https://example.org/new")
EVIL = "\x1b[2J\x1b]0;pwned\x07"
DIGEST = "0123456789abcdef" * 4
BY_RULE = RobotsVerdict(False, RobotsBasis.RULE, 7, "Disallow: /old", "*", DIGEST)
TIMING = Timing(dns=0.010, connect=0.030, tls=0.060, first_byte=0.090, total=0.100)
FETCHED = Fetched(NEW, 200, Body(12_345, DIGEST, 3_456, "text/html", "utf-8", ("gzip",)))


def fetch(
    outcome: Outcome,
    hops: tuple[Hop, ...] = (),
    tries: tuple[Try, ...] = (),
    robots: RobotsVerdict | None = None,
    requests: int = 0,
) -> Fetch:
    visit = Visit("id", OLD, START, START + 2.5, outcome, hops, tries, robots, requests)
    return Fetch(visit, b"", None, ())


def told(fetched: Fetch, width: int = 80, *, verbose: bool = False) -> list[str]:
    return [line.plain for line in timeline(fetched, width, verbose=verbose)]


def hop(url: Url = NEW, status: int = 200, at: float = START, **more: object) -> Hop:
    return Hop(url, status, at=at, timing=TIMING, address="127.0.0.1", http_version="2", **more)  # type: ignore[arg-type]


def test_a_fetch_is_told_from_the_first_request_to_the_verdict() -> None:
    hops = (hop(OLD, 301, START + 1.0, location="/new"), hop(at=START + 2.1))
    fetched = Fetched(NEW, 200, FETCHED.body, Validators('"v1"', "Mon, 01 Jan 2024 00:00:00 GMT"))
    robots = RobotsVerdict(True, RobotsBasis.RULE, 3, "Allow: /new", "*", DIGEST, 0.5)

    lines = told(fetch(fetched, hops, robots=robots, requests=3))

    assert lines == [
        "   waited 1.00 s: robots.txt, then the site's turn",
        "1  GET https://example.org/old                                           +1.00 s",
        "   301 Moved Permanently · 127.0.0.1 · HTTP/2",
        "   dns         ━━━━━                                                     10.0 ms",
        "   connect          ━━━━━━━━━━━                                          20.0 ms",
        "   tls                         ━━━━━━━━━━━━━━━━                          30.0 ms",
        "   first byte                                  ━━━━━━━━━━━━━━━━          30.0 ms",
        "   body                                                        ━━━━━     10.0 ms",
        "   → /new",
        "   waited 1.00 s: the site's turn",
        "2  GET https://example.org/new                                           +2.10 s",
        "   200 OK · 127.0.0.1 · HTTP/2",
        *lines[12:17],
        "",
        "robots      allowed by line 3: Allow: /new",
        "            group for user-agent * · file sha256 0123456789abcdef…",
        "            asks for 0.5 s between requests",
        "content     text/html · utf-8 · 12,345 bytes (3,456 bytes as sent, gzip)",
        "            sha256 0123456789abcdef…",
        'validators  ETag "v1"',
        "            Last-Modified Mon, 01 Jan 2024 00:00:00 GMT",
        "time        2.50 s · 3 requests, robots.txt included · 0 retries",
        "",
        "Fetched: HTTP 200 after 1 redirect, 12,345 bytes; confidence high.",
    ]


def test_the_phases_are_differences_and_those_that_did_not_happen_are_left_out() -> None:
    kept = Timing(dns=0.000_01, connect=0.0, tls=0.0, first_byte=0.2, total=0.3)

    assert [(phase.name, round(phase.end - phase.start, 3)) for phase in phases(TIMING)] == [
        ("dns", 0.01),
        ("connect", 0.02),
        ("tls", 0.03),
        ("first byte", 0.03),
        ("body", 0.01),
    ]
    assert [(phase.name, round(phase.end - phase.start, 1)) for phase in phases(kept)] == [
        ("first byte", 0.2),
        ("body", 0.1),
    ]


def test_a_kept_connection_is_said() -> None:
    kept = Hop(NEW, 200, timing=Timing(first_byte=0.2, total=0.3))

    assert "   200 OK · kept connection" in told(fetch(FETCHED, (kept,)))


def test_bars_of_all_requests_share_one_scale() -> None:
    quick = Hop(OLD, 301, at=START, timing=Timing(first_byte=0.1, total=0.1), location="/new")
    slow = Hop(NEW, 200, at=START + 0.1, timing=Timing(first_byte=1.0, total=1.0))

    bars = [line.count("━") for line in told(fetch(FETCHED, (quick, slow))) if "first byte" in line]

    assert bars[1] == pytest.approx(10 * bars[0], abs=5)


def test_retries_are_told_with_reason_and_wait_before_the_answer() -> None:
    busy = Failure(Reason.HTTP_503, transient=True, status=503, retry_after=3.0)
    lost = Failure(Reason.CONNECTION_LOST, transient=True, detail="reset by peer")
    tries = (Try(NEW, START, busy, 3.0), Try(NEW, START + 3.1, lost, 4.25))

    lines = told(fetch(FETCHED, (hop(at=START + 8),), tries, requests=3))

    start = lines.index("1  GET https://example.org/new                                           +0.00 s")
    assert lines[start + 1 : start + 4] == [
        "   http_503: 503 Service Unavailable, it asks for 3 s · asked again after 3.0 s",
        "   connection_lost: reset by peer · asked again after 4.2 s",
        "   200 OK · 127.0.0.1 · HTTP/2",
    ]
    assert "time     2.50 s · 3 requests · 2 retries" in lines


def test_an_answer_that_was_the_last_try_is_told_once() -> None:
    gone = Failure(Reason.HTTP_404, status=404)

    lines = told(fetch(Failed(gone), (hop(OLD, 404),), (Try(OLD, START, gone),), requests=1))

    assert sum("404" in line for line in lines) == 2  # the answer, and the verdict
    assert lines[-1] == "Failed: http_404: 404 Not Found; confidence medium."


def test_a_request_without_an_answer_is_told_too() -> None:
    refused = Failure(Reason.CONNECT_REFUSED, detail="nobody listens")

    lines = told(fetch(Failed(refused), tries=(Try(OLD, START, refused),), requests=1))

    assert lines[0].startswith("1  GET https://example.org/old")
    assert lines[1] == "   connect_refused: nobody listens · no further try"
    assert lines[-1] == "Failed: connect_refused: nobody listens; confidence low."


def test_a_page_that_robots_forbids_quotes_the_line() -> None:
    """S1-20: the deciding line, its group and the file's digest."""
    lines = told(fetch(Skipped(Reason.ROBOTS_DISALLOWED, BY_RULE.reason), robots=BY_RULE, requests=1))

    assert lines == [
        "robots  disallowed by line 7: Disallow: /old",
        "        group for user-agent * · file sha256 0123456789abcdef…",
        "time    2.50 s · 1 request, robots.txt included · 0 retries",
        "",
        "Refused: robots_disallowed: disallowed by line 7 of robots.txt (Disallow: /old)",
        "for user-agent *; confidence low.",
    ]


def test_a_rule_of_our_own_names_the_way_out() -> None:
    lines = told(fetch(Skipped(Reason.NON_TEXT_EXTENSION, "skip_extensions: .pdf")))

    assert lines == [
        "time  2.50 s · nothing was sent",
        "",
        "Refused: non_text_extension: skip_extensions: .pdf; confidence low.",
        "To fetch it all the same, add --set 'skip_extensions=[]'",
    ]


def test_a_body_that_was_cut_says_so() -> None:
    cut = Fetched(NEW, 200, Body(10, DIGEST, truncated=True))

    lines = told(fetch(cut, (hop(),)))

    assert "         cut off at the limit: this is the beginning only" in lines
    assert lines[-1] == "Fetched: HTTP 200, 10 bytes, cut off at the limit; confidence medium."


def test_not_modified_is_a_success_with_its_validators() -> None:
    lines = told(fetch(NotModified(NEW, Validators('"v1"')), (hop(status=304),)))

    assert 'validators  ETag "v1"' in lines
    assert lines[-1].startswith("Not modified")


def test_headers_are_told_when_asked_for() -> None:
    headers = (("Set-Cookie", "a=1"), ("set-cookie", "b=2"), ("X-Long", "y" * 100))
    one = fetch(FETCHED, (hop(headers=headers),))

    assert not any("ookie" in line for line in told(one))
    lines = told(one, verbose=True)
    assert "   Set-Cookie:        a=1" in lines
    assert "   set-cookie:        b=2" in lines
    assert "".join(line.strip() for line in lines if "yy" in line).removeprefix("X-Long:").strip() == "y" * 100


BROKEN = Failure(Reason.HTTP_500, detail=EVIL)
FORBIDDEN = RobotsVerdict(False, RobotsBasis.RULE, 1, EVIL, EVIL, DIGEST)
HOSTILE = [
    fetch(FETCHED, (hop(headers=((f"X{EVIL}", EVIL),), location=EVIL),)),
    fetch(Fetched(NEW, 200, Body(1, DIGEST, 1, EVIL, EVIL, (EVIL,)), Validators(EVIL, EVIL)), (hop(),)),
    fetch(Failed(Failure(Reason.INVALID_REDIRECT, detail=EVIL)), tries=(Try(OLD, START, BROKEN),)),
    fetch(Skipped(Reason.ROBOTS_DISALLOWED, EVIL), robots=FORBIDDEN),
    fetch(FETCHED, (Hop(NEW, 200, address=EVIL, http_version=EVIL),)),
    fetch(FETCHED, (hop(Url("https://example.org/" + "p" * 60_000)),)),
]


@pytest.mark.parametrize("one", HOSTILE)
@pytest.mark.parametrize("width", [40, 80, 100])
def test_nothing_from_the_web_steers_the_terminal_or_breaks_the_width(one: Fetch, width: int) -> None:
    lines = timeline(one, width, verbose=True)

    assert all(line.plain.isprintable() for line in lines)
    assert max(line.cell_len for line in lines) <= width
    assert any("\\x1b" in line.plain or "…pp" in line.plain for line in lines)


def test_lines_have_no_blanks_at_their_end() -> None:
    lines = timeline(HOSTILE[0], 80, verbose=True)

    assert [line for line in lines if line.plain != line.plain.rstrip()] == []


def test_the_verdict_has_the_colour_of_its_kind() -> None:
    def colour(outcome: Outcome) -> object:
        line: Text = timeline(fetch(outcome), 80)[-1]
        return {str(span.style) for span in line.spans} | {str(line.style)}

    assert "bold green" in str(colour(FETCHED))
    assert "bold yellow" in str(colour(Skipped(Reason.EXCLUDED_SITE)))
    assert "bold red" in str(colour(Failed(Failure(Reason.EMPTY_BODY))))
