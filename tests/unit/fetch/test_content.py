"""A 2xx becomes a page, or the reason why it is none; what is much to read is read elsewhere."""

import pytest

from outrider.fetch.body import BodyLimits
from outrider.fetch.content import is_heavy, read_page, validators_of
from outrider.model.outcome import Failed, Failure, Validators
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.ports import Response
from outrider.testing.site import page

HTML = frozenset({"text/html"})
A = Url("http://example.com/a")


@pytest.mark.parametrize(
    ("size", "encoded", "heavy"),
    [(65_536, True, False), (65_537, True, True), (1_048_576, False, False), (1_048_577, False, True)],
)
def test_what_takes_longer_than_the_loop_may_stand_still_is_heavy(
    size: int,
    encoded: bool,  # noqa: FBT001 - a column of the table
    heavy: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """H2-11."""
    headers = (("Content-Encoding", "gzip"),) if encoded else ()

    assert is_heavy(Response(200, headers, bytes(size))) is heavy


@pytest.mark.parametrize("status", [204, 205])
def test_an_answer_without_content_is_empty_whatever_type_it_claims(status: int) -> None:
    """S3-18, C28."""
    outcome, content = read_page(A, page(b"", status, content_type="image/png"), BodyLimits(), HTML)

    assert (outcome, content) == (Failed(Failure(Reason.EMPTY_BODY, status=status)), b"")


def test_several_headers_are_one_list_of_encodings() -> None:
    """RFC 9110 5.3: also when it is too long a list."""
    headers = (("content-type", "text/html"), *[("content-encoding", "gzip")] * 3)

    outcome, _ = read_page(A, Response(200, headers, b"x"), BodyLimits(), HTML)

    assert isinstance(outcome, Failed)
    assert outcome.failure.detail == "3 encodings in each other, at most 2 are undone"


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        ({}, Validators('"old"', "then")),
        ({"etag": '"new"'}, Validators('"new"', "then")),
        ({"etag": '"new"', "last_modified": "now"}, Validators('"new"', "now")),
        ({"etag": ""}, Validators('"old"', "then")),
        ({"etag": "a\nb"}, Validators('"old"', "then")),
    ],
)
def test_a_304_renews_what_it_repeats(headers: dict[str, str], kept: Validators) -> None:
    """C16, H0-10."""
    assert validators_of(page(b"", 304, **headers), Validators('"old"', "then")) == kept
