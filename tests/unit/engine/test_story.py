"""A settled visit, told for everybody who listens."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from outrider.engine.gate import Found
from outrider.engine.story import capture_of, events_of, fetch_id, record_of, site_events
from outrider.extract.links import PageFacts
from outrider.fetch.sent import RequestHeads
from outrider.fetch.visit import Haul
from outrider.model.capture import Unchanged
from outrider.model.event import Event, PageFetched
from outrider.model.outcome import (
    Body,
    Failed,
    Failure,
    Fetched,
    Hop,
    Moved,
    NotModified,
    Outcome,
    Scope,
    Skipped,
    Try,
    Validators,
    Visit,
)
from outrider.model.reason import Reason
from outrider.model.record import Record
from outrider.model.settlement import Dead, Done, Later, MovedTo, Settlement, Skip
from outrider.model.site import Breaker, BreakerState, Pace, Site
from outrider.model.task import Changes, Origin, Task
from outrider.model.url import Url
from outrider.policy.recrawl import RecrawlRules
from outrider.policy.settle import SettleRules, expired, settle, settle_site
from outrider.policy.transition import Owed, apply, revived
from outrider.ports import Response

A, B = Url("http://example.com/a"), Url("http://example.com/b")
SECRET = 7
NOW = 1_000.0
TASK = Task(A, depth=1, origin=Origin.LINK, parent=B, sequence=4)
SITE = Site("example.com")
BODY = Body(3, "new", wire_length=3, content_type="text/html")
HEADS = RequestHeads("us/1.0")
RECRAWL = SettleRules(recrawl=RecrawlRules(first=100.0, least=10.0, most=1_000.0, tombstone_after=3))
REFUSED = Failed(Failure(Reason.CONNECT_REFUSED, Scope.SITE, transient=True))
BROKEN = Failed(Failure(Reason.HTTP_500, transient=True, status=500))
MISSING = Failed(Failure(Reason.HTTP_404, status=404))
LIMITED = Failed(Failure(Reason.RATE_LIMITED, Scope.SITE, transient=True, status=429, retry_after=5.0))


def visit_of(outcome: Outcome, at: float = NOW, hops: Sequence[Hop] = (), tries: Sequence[Try] = ()) -> Visit:
    return Visit("id", A, at - 1, at, outcome, tuple(hops), tuple(tries), requests=1)


def haul_of(outcome: Outcome, response: Response | None, *hops: Hop) -> Haul:
    return Haul(visit_of(outcome, hops=hops or (Hop(A, 200, at=NOW),)), b"new", response)


def settled(task: Task, outcome: Outcome, site: Site = SITE, at: float = NOW) -> tuple[Settlement, Site]:
    return settle(task, visit_of(outcome, at), site, RECRAWL, url=1, jitter=0.0)


# which owed visit is this?


@pytest.mark.parametrize(
    "settlement",
    [
        Later(NOW, Reason.HTTP_500, TASK.visits + 1),
        Later(NOW, Reason.CONNECT_REFUSED, TASK.visits, TASK.deferrals + 1, NOW),
        Later(NOW, Reason.INTERNAL_ERROR, TASK.visits + 1),
        Later(NOW, Reason.HTTP_404, TASK.visits, gone=TASK.changes.gone + 1),
        Done(A, A, 200, Validators(), Changes(), "new", due_at=NOW + 100, visited_at=NOW),
        Done(B, A, 200, Validators(), Changes(), "new", due_at=NOW + 100, visited_at=NOW),
    ],
)
def test_every_settlement_makes_it_another_visit(settlement: Settlement) -> None:
    """C19: two visits are two records; the archive keeps both."""
    after = apply(TASK, settlement, "example.com")

    assert isinstance(after, Owed)
    assert fetch_id(after.task, SECRET) != fetch_id(TASK, SECRET)


@pytest.mark.parametrize("outcome", [REFUSED, LIMITED, BROKEN, MISSING, Fetched(A, 200, BODY), NotModified(A)])
def test_no_two_visits_of_a_long_life_have_the_same_name(outcome: Outcome) -> None:
    """The same, by what `settle` really decides: each outcome over and over, after a first good visit."""
    task: Task = replace(TASK, visited_at=1.0, content_sha256="old")
    site, names, at = SITE, [], NOW
    for _ in range(8):
        names.append(fetch_id(task, SECRET))
        at += 10_000.0
        settlement, site = settled(task, outcome, replace(site, alive_at=at - 1), at)
        after = apply(task, settlement, "example.com")
        if not isinstance(after, Owed):
            break
        task = after.task

    assert len(set(names)) == len(names) > 1


def test_a_visit_that_is_repeated_after_a_crash_has_the_same_name() -> None:
    """C19: its record is one. A lease that expires changes only what the frontier counts of it."""
    again = expired(TASK, NOW, RECRAWL)

    assert isinstance(again, Later)
    assert fetch_id(replace(TASK, recoveries=1, due_at=NOW), SECRET) == fetch_id(TASK, SECRET)


def test_a_revived_url_is_another_visit_and_so_is_another_crawl() -> None:
    assert fetch_id(revived(TASK, 5), SECRET) != fetch_id(TASK, SECRET)
    assert fetch_id(TASK, SECRET) != fetch_id(TASK, SECRET + 1)
    assert fetch_id(TASK, -(1 << 63)) != fetch_id(TASK, (1 << 63) - 1)


@pytest.mark.parametrize("sequence", [0, 1, (1 << 24) - 1, 1 << 24, 1 << 40])
def test_names_of_visits_are_of_one_length_and_follow_the_order_of_their_site(sequence: int) -> None:
    name, later = (fetch_id(replace(TASK, sequence=number), SECRET) for number in (sequence, sequence + 1))

    assert len(name) == len(later) == 24
    assert name < later or (sequence + 1) % (1 << 24) == 0


# what the archive gets


def test_an_answer_is_archived_as_it_was_sent_with_its_request() -> None:
    response = Response(200, (("Content-Type", "text/html"),), b"new", address="127.0.0.1", http_version="1.1")

    capture = capture_of(TASK, haul_of(Fetched(A, 200, BODY), response), HEADS)

    assert capture is not None
    assert (capture.url, capture.status, capture.body, capture.at) == (A, 200, b"new", NOW)
    assert capture.request == HEADS.of(A, None)
    assert (capture.payload_sha256, capture.unchanged, capture.truncated) == ("new", None, False)


def test_where_nothing_answered_there_is_nothing_to_archive() -> None:
    assert capture_of(TASK, Haul(visit_of(REFUSED)), HEADS) is None


def test_not_modified_is_a_revisit_of_what_we_had() -> None:
    """C16."""
    task = replace(TASK, validators=Validators('"1"'), visited_at=500.0, content_sha256="new")

    capture = capture_of(task, haul_of(NotModified(A), Response(304, (), b""), Hop(A, 304, at=NOW)), HEADS)

    assert capture is not None
    assert (capture.unchanged, capture.earlier_at) == (Unchanged.NOT_MODIFIED, 500.0)
    assert b'If-None-Match: "1"\r\n' in capture.request


def test_the_same_bytes_again_are_a_revisit_too() -> None:
    task = replace(TASK, visited_at=500.0, content_sha256="new")

    capture = capture_of(task, haul_of(Fetched(A, 200, BODY), Response(200, (), b"new")), HEADS)

    assert capture is not None
    assert (capture.unchanged, capture.earlier_at) == (Unchanged.SAME_CONTENT, 500.0)


def test_what_was_cut_or_encoded_has_no_digest_of_the_bytes_as_sent() -> None:
    cut, packed = replace(BODY, truncated=True), replace(BODY, encodings=("gzip",))

    of_cut = capture_of(TASK, haul_of(Fetched(A, 200, cut), Response(200, (), b"new")), HEADS)
    of_packed = capture_of(TASK, haul_of(Fetched(A, 200, packed), Response(200, (), b"zip")), HEADS)
    unread = capture_of(TASK, haul_of(MISSING, Response(404, (), b"n", complete=False)), HEADS)

    assert of_cut is not None
    assert of_packed is not None
    assert unread is not None
    assert (of_cut.truncated, of_cut.payload_sha256) == (True, None)
    assert (of_packed.truncated, of_packed.payload_sha256) == (False, None)
    assert unread.truncated


def test_the_hops_that_led_here_are_its_chain_and_conditions_are_not_sent_along() -> None:
    """C12: also those walked on another site before."""
    before = Hop(Url("http://other.test/"), 301, location="http://example.com/a")
    first, last = Hop(A, 302, location="/b", at=NOW), Hop(B, 200, at=NOW)
    task = replace(TASK, via=(before,), validators=Validators('"1"'))

    capture = capture_of(task, haul_of(Fetched(B, 200, BODY), Response(200, (), b"new"), first, last), HEADS)

    assert capture is not None
    assert (capture.url, capture.chain) == (B, (before, first))
    assert capture.request == HEADS.of(B, None)


# its record


def test_the_record_says_where_the_page_comes_from_and_what_it_says() -> None:
    facts = PageFacts(links=(B,), title="T", canonical=B)
    found = Found([], [], [], [], [], facts, frozenset({"noindex", "noarchive"}), links=1)

    record = record_of(TASK, haul_of(Fetched(A, 200, BODY), None), found, "us", "memory:1")

    assert record.page is not None
    data = record.page.metadata
    assert (data.content_key, data.depth, data.origin, data.parent) == ("memory:1", 1, "link", B)
    assert (data.title, data.canonical, data.links) == ("T", B, 1)
    assert data.directives == ("noarchive", "noindex")


# what is told


@pytest.mark.parametrize(
    ("outcome", "settlement", "kinds"),
    [
        (Fetched(A, 200, BODY), Done(A, A, 200, Validators(), Changes()), ["webpage_fetched"]),
        (NotModified(A), Done(A, A, 304, Validators(), Changes()), ["page_unchanged"]),
        (Moved(Url("http://other.test/"), True), MovedTo(Url("http://other.test/")), ["page_moved"]),
        (Skipped(Reason.ROBOTS_DISALLOWED, "x"), Skip(Reason.ROBOTS_DISALLOWED), ["page_skipped"]),
        (BROKEN, Later(NOW, Reason.HTTP_500, 1), ["page_failed"]),
        (MISSING, Dead(Reason.HTTP_404, 1), ["page_failed", "url_died"]),
    ],
)
def test_each_outcome_is_told(outcome: Outcome, settlement: Settlement, kinds: list[str]) -> None:
    events = events_of(TASK, visit_of(outcome), settlement, "example.com", Record(), frozenset())

    assert [kind_of(event) for event in events] == kinds
    assert {event.at for event in events} == {NOW}


def test_retries_are_told_and_the_last_failure_is_the_outcome() -> None:
    tries = [Try(A, 1.0, BROKEN.failure, 2.0), Try(A, 3.0, BROKEN.failure, None)]
    later = Later(NOW + 60, Reason.HTTP_500, 1)

    events = events_of(TASK, visit_of(BROKEN, tries=tries), later, "example.com", Record(), frozenset())

    assert [kind_of(event) for event in events] == ["request_retried", "page_failed"]
    assert getattr(events[1], "due_at") == NOW + 60  # noqa: B009 - the union has no such attribute


def test_a_site_that_falls_silent_goes_down_and_comes_back() -> None:
    site, told = SITE, []
    for number in range(5):
        after = settle_site(site, visit_of(REFUSED, NOW + number), RECRAWL, url=number, jitter=0.0)
        told += site_events(site, after, visit_of(REFUSED, NOW + number))
        site = after
    back = settle_site(site, visit_of(Fetched(A, 200, BODY), NOW + 60), RECRAWL, url=1, jitter=0.0)
    told += site_events(site, back, visit_of(Fetched(A, 200, BODY), NOW + 60))

    assert [kind_of(event) for event in told] == ["site_went_down", "site_came_back"]
    assert getattr(told[1], "down_since") == NOW  # noqa: B009 - as above


def test_a_probe_that_fails_is_one_more_time_down() -> None:
    before = replace(SITE, breaker=Breaker(BreakerState.HALF_OPEN, 5, openings=1, probes=1, down_since=1.0))

    after = settle_site(before, visit_of(REFUSED), RECRAWL, url=1, jitter=0.0)

    assert [kind_of(event) for event in site_events(before, after, visit_of(REFUSED))] == ["site_went_down"]


def test_a_site_that_asks_for_less_slows_down() -> None:
    after = settle_site(SITE, visit_of(LIMITED), RECRAWL, url=1, jitter=0.0)

    assert [kind_of(event) for event in site_events(SITE, after, visit_of(LIMITED))] == ["site_slowed_down"]


def test_a_site_that_stays_down_is_set_aside() -> None:
    down = Breaker(BreakerState.HALF_OPEN, 5, openings=12, probes=12, down_since=1.0)
    before = replace(SITE, breaker=down)

    after = settle_site(before, visit_of(REFUSED, 5_000.0), RECRAWL, url=1, jitter=0.0)

    kinds = [kind_of(event) for event in site_events(before, after, visit_of(REFUSED, 5_000.0))]
    assert kinds == ["site_went_down", "site_set_aside"]


def test_an_ordinary_page_says_nothing_of_its_site() -> None:
    visit = visit_of(Fetched(A, 200, BODY))
    wide = replace(SITE, pace=Pace(interval=4.0))

    assert site_events(SITE, settle_site(SITE, visit, RECRAWL, url=1, jitter=0.0), visit) == []
    assert site_events(wide, settle_site(wide, visit, RECRAWL, url=1, jitter=0.0), visit) == []


def kind_of(event: Event) -> str:
    return str(event.__struct_config__.tag)


def test_a_fetched_page_is_told_with_what_a_reader_of_its_links_needs() -> None:
    """C10: where the redirects began, how deep it lies, its character set and what its header asks for."""
    hop = Hop(Url("http://first.test/"), 301, location="http://example.com/a")
    task = replace(TASK, via=(hop,), depth=3)

    (event,) = events_of(
        task,
        visit_of(Fetched(A, 200, BODY)),
        Done(A, A, 200, Validators(), Changes()),
        "example.com",
        Record(),
        frozenset({"nofollow"}),
    )

    assert isinstance(event, PageFetched)
    assert (event.requested_url, event.depth, event.directives) == (hop.url, 3, ("nofollow",))
    assert event.charset == BODY.charset
