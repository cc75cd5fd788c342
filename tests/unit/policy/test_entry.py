"""Anybody writes into the queue: a URL, an object that says more, or something else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.model.reason import Reason
from outrider.model.task import Candidate, Origin
from outrider.model.url import Url
from outrider.policy.entry import LONGEST, Unreadable, read_entry


@pytest.mark.parametrize(
    "text", ["http://example.org/a", "  http://example.org/a\n", '{"url": "http://example.org/a"}']
)
def test_a_url_is_a_candidate_from_the_queue(text: str) -> None:
    """S4-9."""
    assert read_entry(text.encode()) == Candidate(Url("http://example.org/a"), origin=Origin.QUEUE)


def test_an_object_may_say_how_urgent_it_is_and_that_it_is_a_list_of_pages() -> None:
    entry = read_entry(b'{"url": "https://example.org/sitemap.xml", "listing": true, "priority": 5, "depth": 2}')

    assert entry == Candidate(Url("https://example.org/sitemap.xml"), 2, 5, Origin.LISTING)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"\xff\xfe", "it is not UTF-8 text"),
        (b"not a url", "not a url"),
        (b"ftp://example.org/", "ftp"),
        (b"mailto:me@example.org", "mailto"),
        (b"{", "it is no JSON object with a url"),
        (b'{"uri": "http://example.org/"}', "it is no JSON object with a url"),
        (b'{"url": "http://example.org/", "prio": 1}', "prio"),
        (b'{"url": 5}', "it is no JSON object with a url"),
        (b'{"url": "http://example.org/", "priority": 9999999999}', "priority and depth"),
        (b'{"url": "http://example.org/", "depth": -1}', "priority and depth"),
        (b"http://example.org/" + b"a" * LONGEST, "bytes; an entry has"),
    ],
)
def test_what_is_no_entry_says_why(data: bytes, says: str) -> None:
    entry = read_entry(data)

    assert isinstance(entry, Unreadable)
    assert entry.reason is Reason.INVALID_URL
    assert says in entry.detail
    assert len(entry.entry) <= 2_100


@given(st.binary(max_size=300))
def test_nothing_that_stands_there_stops_the_intake(data: bytes) -> None:
    entry = read_entry(data)

    assert isinstance(entry, Candidate) or entry.entry.isprintable()
