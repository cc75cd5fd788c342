"""Which topic, which key, and what is no page?"""

from hashlib import sha256
from typing import get_args

import pytest
from tests.services.kafka_events import failed, fetched

from outrider.model.event import CrawlResumed, EntryRefused, Event, PageFetched, SiteProbed
from outrider.model.reason import Reason
from outrider.stores.kafka.messages import key_of, page_of, routes, value_of

PAGE = value_of(fetched(1))


def test_pages_and_failures_have_topics_and_the_rest_only_on_request() -> None:
    without, rest = routes("pages", "failures", ""), routes("pages", "failures", "rest")

    names = {kind.__name__ for kind, topic in without.items() if topic == "failures"}
    expected = "PageFailed PageSkipped PageMoved PageUnchanged UrlDied UrlRefused EntryRefused"
    assert without[PageFetched] == "pages"
    assert names == set(expected.split())
    assert len(without) == 8
    assert rest.keys() == set(get_args(Event))


@pytest.mark.parametrize(
    ("event", "about"),
    [
        (fetched(1), fetched(1).url),
        (failed(1), fetched(1).url),
        (EntryRefused(at=1.0, entry="no url", reason=Reason.OUT_OF_SCOPE), "no url"),
        (SiteProbed(at=1.0, site="a.example", alive=True), "a.example"),
    ],
)
def test_a_key_is_the_digest_of_what_an_event_is_about(event: Event, about: str) -> None:
    """S4-14: 32 raw bytes; in hexadecimal they end the cache key."""
    assert key_of(event) == sha256(about.encode()).digest()


def test_what_concerns_the_whole_crawl_has_no_key() -> None:
    assert key_of(CrawlResumed(at=1.0, cause="")) is None


def test_a_page_comes_back_as_it_went_in() -> None:
    assert page_of(PAGE) == fetched(1)


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"{",
        b"\xff",
        value_of(failed(1)),
        PAGE.replace(b'"url":"http://site-1.example', b'"url":"javascript:alert'),
        PAGE.replace(b'"final_url":"http://', b'"final_url":"HTTP://'),
        PAGE.replace(b"200", b'"200"'),
    ],
)
def test_what_is_no_page_of_ours_is_none(value: bytes | None) -> None:
    assert page_of(value) is None


def test_fields_that_we_do_not_know_are_ignored() -> None:
    """Fields are added, never renamed: an older reader must read a newer writer."""
    assert page_of(PAGE[:-1] + b',"colour":"red"}') == fetched(1)
