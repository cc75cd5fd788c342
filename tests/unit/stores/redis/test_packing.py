"""Does every task come back from its bytes, and are there few of them?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from outrider.model.codec import to_bytes
from outrider.model.ledger import Entry, State
from outrider.model.outcome import Hop, Validators
from outrider.model.reason import Reason
from outrider.model.robots import RobotsFile, RobotsStatus
from outrider.model.site import Breaker, Pace, Site, Trouble
from outrider.model.task import Changes, Origin, Task
from outrider.model.url import Url
from outrider.stores.redis import packing

urls = st.sampled_from(
    [
        "http://example.com/",
        "https://www.example.com/a|b?c=|&d=%00",
        "https://deep.sub.example.com:8443/x",
        "http://[::1]:8080/é?ü",
        "https://example.com/" + "p" * 300,
    ]
).map(Url)
tasks = st.builds(
    Task,
    urls,
    depth=st.sampled_from([0, 3, 255, 256]),
    priority=st.integers(-5, 5),
    origin=st.sampled_from(Origin),
    parent=st.none() | urls,
    via=st.sampled_from([(), (Hop(Url("http://example.org/|"), 301, (("location", "x"),), "http://example.com/"),)]),
    sequence=st.sampled_from([0, 127, 128, 255, 256, 65_535, 65_536, 2**33]),
    due_at=st.sampled_from([0.0, 1_791_234_567.123457]),
    visits=st.integers(0, 2),
    deferred_at=st.none() | st.just(7.5),
    recoveries=st.integers(0, 6),
    validators=st.none() | st.just(Validators('"é"')),
    changes=st.sampled_from([Changes(), Changes(1.5, 0.5, 60.0, 1)]),
    visited_at=st.none() | st.just(5.5),
    content_sha256=st.none() | st.just("ab" * 32),
)


@given(tasks)
def test_a_task_comes_back_as_it_went_in(task: Task) -> None:
    """H2-18."""
    item = packing.pack_item(task, "example.com")

    assert packing.read_task(item, "example.com", task.priority, task.due_at) == task


@given(st.lists(st.integers(0, 2**40), min_size=2, max_size=2))
def test_items_sort_by_their_number(numbers: list[int]) -> None:
    """First come is first served among tasks that are due at the same moment: a sorted set compares bytes."""
    one, two = (packing.pack_item(Task(Url("http://a.org/"), sequence=number), "a.org") for number in numbers)

    assert (one < two) == (numbers[0] < numbers[1])


def test_a_new_task_takes_four_bytes_more_than_its_path() -> None:
    task = Task(Url("https://www.example.com/path?query"), depth=3, origin=Origin.LINK, sequence=99)

    assert len(packing.pack_item(task, "example.com")) == len("/path?query") + 4


@given(tasks, st.sampled_from([State.SKIPPED, State.DEAD]))
def test_a_line_comes_back_as_it_went_in(task: Task, state: State) -> None:
    entry = Entry(task.url, state, "example.com", task, Reason.HTTP_404, "gone", status=404, visits=2)

    assert packing.read_line(b"\0" * 8 + packing.pack_line(entry)) == entry


@pytest.mark.parametrize("state", [State.FETCHED, State.ALIAS, State.SKIPPED])
def test_what_cannot_be_revived_has_no_line(state: State) -> None:
    assert packing.pack_line(Entry(Url("http://a.org/"), state, "a.org")) == b""


def test_a_site_comes_back_as_it_went_in() -> None:
    site = Site(
        "a.org",
        5.5,
        Pace(2.0, 4.0, 3, 9.25),
        Breaker(failures=2, suspects=(1, -2)),
        8.0,
        (RobotsFile("http://a.org", RobotsStatus.FOUND, 1.0, 2.0, b"User-agent: *\xff"),),
        admitted=7,
        fetched=6,
        set_aside=True,
        trouble=Trouble(Reason.HTTP_503, 8.25),
    )
    numbers = packing.Numbers(5.5, 9.25, 4.0, 3, 1, 7, 7, 1, 0, 0, 0)

    read = packing.read_site("a.org", numbers, packing.pack_details(site), packing.pack_robots(site))

    assert read == site


def test_details_of_before_there_was_trouble_are_read() -> None:
    """They had six fields."""
    numbers = packing.Numbers(0, 0, 2.0, 1, 0, 1, 1, 0, 1, 0, 0)

    site = packing.read_site("a.org", numbers, to_bytes([2.0, 4.0, 1, None, 8.0, 6]), b"")

    assert (site.alive_at, site.fetched, site.trouble) == (8.0, 6, None)


def test_a_site_that_nobody_visited_needs_no_details() -> None:
    numbers = packing.Numbers(0, 0, 2.0, 1, 0, 1, 1, 0, 1, 0, 0)

    assert packing.read_site("a.org", numbers, b"", b"") == replace(Site("a.org", pace=Pace(2.0, 2.0, 1)), admitted=1)
