"""A story as a person reads it: it fits, it steers no terminal, and nothing is left out without a word."""

from typing import Final

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from outrider.cli.why_text import Answer, answer_to, told
from outrider.model.event import RequestRetried
from outrider.model.ledger import State
from outrider.model.reason import Reason
from outrider.model.record import FetchTiming, PageStatus, Record
from outrider.model.site import Breaker, BreakerState
from outrider.model.url import Url
from outrider.ops.story import Ancestor, Discovery, Knowledge, Outlook, Prospect, SiteNow, Standing, Story
from outrider.policy.admit_explained import Ruling
from outrider.testing.contracts.records import decision, visit

URL: Final = Url("http://a.org/page")
EVIL: Final = "\x1b[2J\x9b31m\u202e\r\n\x07"
SITE: Final = SiteNow("a.org", is_known=True, interval=1.0, base=1.0, admitted=2, fetched=1)
NEVER: Final = Outlook(Prospect.NEVER, because=("it was fetched",), remedies=("one " * 30, "two"))
STORY: Final = Story(URL, 1_000.0, SITE, Standing(Knowledge.LINE, State.FETCHED, status=200), NEVER)


def lines(story: Story, **answer: object) -> list[str]:
    return [line.plain for line in told(replace(answer_to(str(story.url), story), **answer), 80)]


def text(story: Story, **answer: object) -> str:
    return "\n".join(lines(story, **answer))


def unfolded(shown: str) -> str:
    return " ".join(shown.split())


def hostile() -> Story:
    """Everything that the web can write, written by somebody evil, and long."""
    bad = EVIL + "漢" * 60
    page = visit(1, URL, bad, title=bad, error=bad, content_type=bad, content_key=bad, reason=bad, canonical=bad)
    named = Discovery(bad, 1, bad, bad, (Ancestor(bad, bad), Ancestor(bad, on_record=False)))
    refused = replace(decision(), url=bad, by=bad, reason=bad, rule=bad, evidence=bad, parent=bad)
    standing = Standing(Knowledge.LINE, State.DEAD, Url("http://a.org/x"), Reason.TRAP, bad, of=Url("http://a.org/y"))
    return Story(
        *(URL, 1_000.0, replace(SITE, key=bad), standing),
        Outlook(Prospect.LATER, 2_000.0, (bad, bad), (bad, bad)),
        discovery=named,
        decisions=(refused,),
        visits=(page,),
        rulings=(Ruling(bad, passes=False, evidence=bad),),
    )


@pytest.mark.parametrize("width", [40, 80, 100])
def test_no_line_is_wider_than_the_terminal_and_none_steers_it(width: int) -> None:
    given = answer_to(f"HTTP://user:secret@a.org/./page#{EVIL.strip()}", replace(hostile(), other=hostile()))

    shown = [line.plain for line in told(given, width)]

    assert max(map(cell_len, shown)) <= width
    assert all(line.isprintable() for line in shown)
    assert "secret" not in "".join(shown)


def test_what_was_changed_in_the_url_is_told() -> None:
    shown = text(STORY) + "\n".join(line.plain for line in told(answer_to("http://A.org:80/page#x", STORY), 80))

    for words in (
        "given as    http://A.org:80/page#x",
        "host in lower case",
        "default port removed",
        "fragment dropped",
    ):
        assert words in shown


def test_the_sections_come_in_the_order_of_a_url_s_life() -> None:
    shown = lines(hostile())

    titles = ["Discovered", "Decisions", "Visits: 1", "Admission, rule by rule", "Now", "Next"]
    assert [line for line in shown if line in titles] == titles


def test_of_several_sentences_each_has_its_own_edge() -> None:
    shown = lines(STORY)

    start = next(number for number, line in enumerate(shown) if "what helps" in line)
    assert shown[start].startswith("  what helps  · one one")
    assert shown[start + 1].startswith(" " * 16 + "one")
    assert shown[-1] == "              · two"


def test_a_visit_is_told_with_its_hops_its_tries_and_its_times() -> None:
    page = visit(1, URL, "http://a.org/b", attempts=3, retries=1, content_hash="ab" * 32, title="Home")
    timing = FetchTiming("1970-01-01T00:16:40.000Z", "1970-01-01T00:16:41.000Z", 1_000, 1.0, 2.0, 2.0, 5.5, 6.0)
    evidence = tuple(
        replace(one, content=timing) if isinstance(one.content, FetchTiming) else one for one in page.evidence
    )
    retried = RequestRetried(at=1_000.5, url=URL, site="a.org", reason=Reason.HTTP_503, wait=2.0)
    elsewhere = replace(retried, at=5_000.0, reason=Reason.HTTP_502)

    shown = text(replace(STORY, visits=(replace(page, evidence=evidence),), retries=(retried, elsewhere)))

    for words in (
        "1.          2026-11-16T00:42:14.123Z  fetched, HTTP 200 OK",
        "hops        301  http://example.org/  127.0.0.1",
        "3 requests, 1 of them repeated one that had failed",
        "http_503: tried again after 2.0 s",
        "sha256 abababababababab…",
        "confidence  high",
        "record      fetch-1",
        "robots.txt  allowed",
    ):
        assert words in shown
    assert "http_502" not in shown
    assert "1,000 ms; the last answer: dns 1.0, connect 1.0, first byte 3.5, body 0.5 ms" in unfolded(shown)


def test_why_a_request_was_repeated_is_not_made_up() -> None:
    shown = text(replace(STORY, visits=(visit(1, URL, attempts=2, retries=1),)))

    assert "why is in the events of the crawl, of which none is at hand" in shown


def test_of_many_visits_the_first_and_the_last_are_told_and_the_rest_is_counted() -> None:
    shown = text(replace(STORY, visits=tuple(visit(n, URL) for n in range(1, 101))))

    assert "Visits: 100" in shown
    assert "80 more are left out here; --json has them all" in shown
    assert "record      fetch-3\n" in shown
    assert "record      fetch-4\n" not in shown
    assert "record      fetch-100\n" in shown


def test_what_is_known_by_its_hash_alone_says_so() -> None:
    shown = text(replace(STORY, standing=Standing(Knowledge.HASH, State.FETCHED)))

    assert "known by its hash alone" in shown
    assert "none is on record" in shown
    assert "no records are at hand" in text(STORY, has_records=False)


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("known_by", [Knowledge.LINE, Knowledge.HASH])
def test_every_state_has_a_sentence(state: State, known_by: Knowledge) -> None:
    shown = text(replace(STORY, standing=Standing(known_by, state)))

    assert "\n  state       " in shown


@pytest.mark.parametrize("prospect", Prospect)
def test_every_prospect_has_a_sentence(prospect: Prospect) -> None:
    shown = text(replace(STORY, outlook=Outlook(prospect, 1_060.0)))

    assert "\n  visit       " in shown


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_shown_with_its_meaning(reason: Reason) -> None:
    failed = visit(1, URL, code=0, status=PageStatus.FAILED, reason=reason.value)
    standing = Standing(Knowledge.LINE, State.DEAD, reason=reason, visits=3)

    shown = text(replace(STORY, standing=standing, visits=(failed,)))

    assert f"reason      {reason}: " in shown
    assert f"failed: {reason}" in shown


def test_whoever_asks_about_a_crawl_that_does_not_run_is_told_how_it_goes_on() -> None:
    owed = replace(STORY, standing=Standing(Knowledge.LINE, State.PENDING))

    assert "outrider crawl -d crawl-x goes on with it" in text(owed, running=False, directory="crawl-x")
    assert "goes on with it" not in text(owed, running=True, directory="crawl-x")


def test_a_site_that_is_down_or_set_aside_is_told() -> None:
    down = replace(SITE, breaker=Breaker(BreakerState.OPEN))

    assert "down: its circuit is open" in unfolded(text(replace(STORY, site=down)))
    assert "set aside" in unfolded(text(replace(STORY, site=replace(SITE, set_aside=True))))
    assert "its site" not in text(replace(STORY, site=SiteNow("a.org")))


def test_what_a_later_version_wrote_is_told_as_it_is() -> None:
    strange = Record(visit(1, URL, reason="eaten_by_a_grue").page)

    assert "fetched: eaten_by_a_grue" in text(replace(STORY, visits=(strange, Record())))


def test_what_is_not_utf_8_is_no_obstacle() -> None:
    answer = answer_to("http://a.org/page#\udc80", STORY)

    assert isinstance(answer, Answer)
    assert answer.given == "http://a.org/page#?"
