"""Values survive being written and read, a URL as its plain text."""

import msgspec
import pytest

from outrider.model import codec
from outrider.model.event import Event, PageFetched, PageMoved
from outrider.model.lease import Lease
from outrider.model.outcome import Body, Failed, Failure, Fetched, Hop, Outcome, Scope, Skipped, Validators, Visit
from outrider.model.reason import Reason
from outrider.model.robots import RobotsBasis, RobotsFile, RobotsStatus, RobotsVerdict
from outrider.model.settlement import Dead, Done, Later, MovedTo, Settlement, Skip
from outrider.model.site import Breaker, Pace, Site
from outrider.model.task import Candidate, Changes, Origin, Task
from outrider.model.url import Url

A = Url("http://example.com/a|b?c=|")
HOP = Hop(A, 301, (("location", "/b"), ("x", "1"), ("x", "2")), "/b", at=3.5, address="192.0.2.1")
ROBOTS = RobotsFile("http://example.com", RobotsStatus.FOUND, 1, 2, b"\xff\x00")
OUTCOMES: list[Outcome] = [
    Fetched(A, 200, Body(3, "abc", 2, "text/html", "utf-8", ("gzip",)), Validators('"1"')),
    Skipped(Reason.ROBOTS_DISALLOWED, "line 3"),
    Failed(Failure(Reason.HTTP_503, Scope.SITE, transient=True, status=503, retry_after=2.0)),
]
VALUES = [
    Candidate(A, 2, 5, Origin.LINK, A, (HOP,)),
    Task(A, via=(HOP,), validators=Validators(last_modified="x"), changes=Changes(1, 2, 3), visited_at=1.0),
    Lease(
        Site("example.com", pace=Pace(2, 3), breaker=Breaker(suspects=(1, -2)), robots=(ROBOTS,)),
        (Task(A),),
        token=7,
        leased_at=1,
        deadline=2,
    ),
    *(
        Visit("1", A, 1, 2, outcome, (HOP,), robots=RobotsVerdict(False, RobotsBasis.RULE, 3, "Disallow: /", "*"))
        for outcome in OUTCOMES
    ),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_read_back_is_the_value_written(value: object) -> None:
    """H2-18: a URL may hold any character, so nothing is joined by a separator."""
    assert codec.from_bytes(codec.to_bytes(value), type(value)) == value
    assert codec.from_json(codec.to_json(value), type(value)) == value


@pytest.mark.parametrize(
    "settlement",
    [
        Done(A, A, 200, Validators(), Changes()),
        MovedTo(A),
        Skip(Reason.TOO_DEEP),
        Later(1.0, Reason.HTTP_500, 1),
        Dead(Reason.HTTP_404, 1),
    ],
)
def test_a_settlement_knows_its_kind_when_read_back(settlement: Settlement) -> None:
    read: Settlement = codec.from_json(codec.to_json(settlement), Settlement)  # type: ignore[arg-type] # a union is no class

    assert read == settlement
    assert type(read) is type(settlement)


def test_an_event_names_its_type_and_writes_urls_as_text() -> None:
    event = PageMoved(at=1.0, url=A, site="example.com", to=Url("https://example.com/"))

    assert msgspec.json.decode(codec.to_json(event)) == {
        "type": "page_moved",
        "at": 1.0,
        "url": "http://example.com/a|b?c=|",
        "site": "example.com",
        "to": "https://example.com/",
        "fetch_id": "",
    }
    assert codec.from_json(codec.to_json(event), Event) == event  # type: ignore[arg-type] # a union is no class


def test_a_fetched_page_is_told_with_the_names_of_the_webpage_event() -> None:
    """S4-14, C10, H4-10."""
    event = PageFetched(
        at=0.0,
        url=A,
        requested_url=A,
        final_url=A,
        site="example.com",
        status_code=200,
        content_type="text/html",
        content_length=3,
        content_hash="abc",
        fetched_at="2026-01-01T00:00:00Z",
        cache_key="webpage:1",
    )

    told = msgspec.json.decode(codec.to_json(event))

    assert told["type"] == "webpage_fetched"
    fields = "url cache_key status_code content_type content_length content_hash fetched_at requested_url final_url"
    assert set(fields.split()) <= told.keys()


def test_a_strange_object_is_refused_by_name() -> None:
    with pytest.raises(NotImplementedError, match="object is not a value of the model"):
        codec.to_json(object())
    with pytest.raises(NotImplementedError, match="complex is not a value of the model"):
        codec.from_json(b'"1"', complex)
