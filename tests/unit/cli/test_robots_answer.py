"""What `outrider robots` answers, by a file or by what came of asking the web."""

import pytest

from outrider.cli.robots_answer import RobotsAnswer, answer_by_file, answer_by_web, told
from outrider.fetch.robots_txt import Judged
from outrider.model.outcome import Failure
from outrider.model.reason import Reason
from outrider.model.robots import RobotsBasis, RobotsFile, RobotsStatus, RobotsVerdict
from outrider.model.url import Url
from outrider.policy.robots import Defer, parse

BODY = b"""\
Sitemap: https://example.org/one.xml
Sitemap: https://example.org/two.xml
User-agent: *
Disallow: /private
Crawl-delay: 2.5
User-agent: other
Disallow:
"""
PAGE = Url("https://example.org/private/diary")
DOWN = RobotsFile(PAGE.origin, RobotsStatus.UNREACHABLE, 0, 0, http_status=503)
BUSY = Failure(Reason.HTTP_503, status=503)


def by_file(agent: str = "outrider", url: Url = PAGE) -> RobotsAnswer:
    return answer_by_file(url, agent, BODY, "robots.txt", 524_288)


def test_a_verdict_names_line_group_delay_sitemaps_and_file() -> None:
    lines = [line.plain for line in told(by_file(), 80)]

    assert lines == [
        "url          https://example.org/private/diary",
        "verdict      disallowed by line 4: Disallow: /private",
        "agent        outrider",
        "group        user-agent *",
        "crawl-delay  2.5 s",
        "sitemaps     https://example.org/one.xml",
        "             https://example.org/two.xml",
        f"file         robots.txt · {len(BODY)} bytes",
        f"             sha256 {parse(BODY).digest[:16]}…",
    ]
    assert by_file().exit_code == 5


def test_another_agent_may_be_judged() -> None:
    assert by_file("other/2.0").exit_code == 0
    assert by_file("other/2.0").document()["allowed"] is True


def test_the_document_has_every_field_also_when_nothing_is_known() -> None:
    known = by_file().document()
    unknown = answer_by_web(PAGE, "outrider", Judged(Defer("later"), DOWN, failure=BUSY)).document()

    assert known["line"] == 4
    assert known["crawlDelay"] == 2.5
    assert known["sitemaps"] == ("https://example.org/one.xml", "https://example.org/two.xml")
    assert known["file"] == {
        "source": "robots.txt",
        "status": "found",
        "httpStatus": None,
        "size": len(BODY),
        "digest": parse(BODY).digest,
        "truncated": False,
    }
    assert unknown.keys() == known.keys()
    assert unknown["allowed"] is None


@pytest.mark.parametrize(
    "verdict", [Defer("later"), *(RobotsVerdict(allowed, RobotsBasis.UNREACHABLE) for allowed in (True, False))]
)
def test_a_file_that_was_never_had_is_no_verdict_whatever_the_settings(verdict: RobotsVerdict | Defer) -> None:
    answer = answer_by_web(PAGE, "outrider", Judged(verdict, DOWN, failure=BUSY))

    assert answer.exit_code == 4
    assert answer.reason == (
        "nobody can say: https://example.org/robots.txt cannot be reached (http_503: 503 Service Unavailable)"
    )


def test_a_missing_file_allows() -> None:
    file = RobotsFile(PAGE.origin, RobotsStatus.MISSING, 0, 0, http_status=404)

    answer = answer_by_web(PAGE, "outrider", Judged(RobotsVerdict(True, RobotsBasis.NO_FILE), file))

    assert answer.exit_code == 0
    assert told(answer, 80)[-1].plain == "file     https://example.org/robots.txt · HTTP 404 Not Found"


def test_a_refusal_by_the_guard_is_its_own_sentence_and_code() -> None:
    refused = Failure(Reason.BLOCKED_ADDRESS, detail="it is private")

    answer = answer_by_web(PAGE, "outrider", Judged(Defer("later"), DOWN, failure=refused))

    assert (answer.exit_code, answer.reason) == (5, "it is private")


def test_what_a_file_says_does_not_steer_the_terminal() -> None:
    body = b"User-agent: *\nDisallow: /\x1b[2J\nSitemap: http://a/\x1b]0;x\x07\n"

    lines = told(answer_by_file(Url("http://a/"), "\x1b[31m", body, "\x1b", 524_288), 80)

    assert all(line.plain.isprintable() for line in lines)
