"""Why a request was repeated: read from the events, and only when there is something to be read."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from outrider.errors import StoreError
from outrider.model.codec import to_json
from outrider.model.event import PageUnchanged, RequestRetried
from outrider.model.ledger import State
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.ops.retries import with_retries
from outrider.ops.story import Knowledge, Outlook, Prospect, SiteNow, Standing, Story
from outrider.testing.contracts.records import visit

URL = Url("http://a.org/page")
HOP = Url("http://example.org/")
"""The first step of the chain that the test kit's visits have."""
STORY = Story(URL, 1.0, SiteNow("a.org"), Standing(Knowledge.LINE, State.FETCHED), Outlook(Prospect.NEVER))


def retried(at: float, url: Url = URL) -> RequestRetried:
    return RequestRetried(at=at, url=url, site="a.org", reason=Reason.HTTP_503, wait=2.0)


def write(folder: Path, name: str, *lines: bytes) -> None:
    (folder / name).write_bytes(b"".join(lines))


def test_repeated_requests_for_the_url_and_its_hops_are_found_in_all_files(tmp_path: Path) -> None:
    elsewhere = retried(2.0, Url("http://a.org/elsewhere"))
    other = PageUnchanged(at=1.0, url=URL, site="a.org")
    write(tmp_path, "events-00-00000.jsonl", *(to_json(one) + b"\n" for one in (retried(3.0), elsewhere, other)))
    write(tmp_path, "events-01-00000.jsonl", to_json(retried(1.0, HOP)) + b"\n", b'{"type":"request_retried","at":')

    story = with_retries(replace(STORY, visits=(visit(1, URL, retries=2),)), tmp_path)

    assert story.retries == (retried(1.0, HOP), retried(3.0))


def test_without_a_repeated_request_no_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "events-00-00000.jsonl").mkdir()

    assert with_retries(replace(STORY, visits=(visit(1, URL),)), tmp_path).retries == ()


def test_the_page_of_an_alias_gets_its_own(tmp_path: Path) -> None:
    write(tmp_path, "events-00-00000.jsonl", to_json(retried(1.0)) + b"\n")
    other = replace(STORY, visits=(visit(1, URL, retries=1),))

    story = with_retries(replace(STORY, other=other), tmp_path)

    assert story.retries == ()
    assert story.other is not None
    assert story.other.retries == (retried(1.0),)


def test_events_that_cannot_be_read_are_an_error_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "events-00-00000.jsonl").mkdir()

    with pytest.raises(StoreError, match="Is a directory"):
        with_retries(replace(STORY, visits=(visit(1, URL, retries=1),)), tmp_path)
