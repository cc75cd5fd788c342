"""What is known of a body: its digest, and its type as the header declares it, else as the bytes look."""

import gzip
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.fetch.body import BodyLimits, content_type, decode, describe, is_wanted, sniff_type
from outrider.model.outcome import Body


def test_hash_and_length_are_of_the_decoded_bytes() -> None:
    """H4-10: not of re-encoded text."""
    sent = gzip.compress("é".encode("latin-1"))
    decoded = decode(sent, "gzip", complete=True, limits=BodyLimits())

    body = describe(decoded, len(sent), "text/html", "windows-1252")

    assert body == Body(
        length=1,
        sha256=hashlib.sha256(b"\xe9").hexdigest(),
        wire_length=len(sent),
        content_type="text/html",
        charset="windows-1252",
        encodings=("gzip",),
    )


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("text/html", ("text/html", None)),
        ("TEXT/HTML; Charset=UTF-8", ("text/html", "utf-8")),
        (" text/html ;charset=gbk ", ("text/html", "gbk")),
        ("text/html;charset", ("text/html", None)),
        ("text/html;charset=", ("text/html", None)),
        ("text/html;;; charset=gbk;", ("text/html", "gbk")),
        ('text/html; charset="utf-8"', ("text/html", "utf-8")),
        ('text/html; charset="utf-8', ("text/html", "utf-8")),
        ('text/html; charset="ut\\f-8"; x=y', ("text/html", "utf-8")),
        ("text/html; charset='utf-8'", ("text/html", "utf-8")),
        ("text/html; charset = utf-8", ("text/html", "utf-8")),
        ("text/html; charset=gbk; charset=big5", ("text/html", "gbk")),
        ('text/html; x="; charset=gbk"; charset=big5', ("text/html", "big5")),
        ("text/html; x=charset=gbk", ("text/html", None)),
        ("application/xhtml+xml", ("application/xhtml+xml", None)),
        ("text/html, text/html; charset=gbk", ("text/html", "gbk")),
        ("text/html; charset=gbk, text/html", ("text/html", "gbk")),
        ("text/html; charset=gbk, text/plain", ("text/plain", None)),
        ("text/plain, */*", ("text/plain", None)),
    ],
)
def test_a_content_type_is_parsed_by_the_standard_and_forgives(header: str, expected: tuple[str, str | None]) -> None:
    assert content_type(header, b"") == expected


@pytest.mark.parametrize(
    "header", [None, "", "html", "text/", "/html", "text html", "*/*", ";charset=gbk", "text/html charset=x"]
)
def test_without_a_type_that_can_be_understood_the_bytes_are_asked(header: str | None) -> None:
    assert content_type(header, b"<!doctype html><title>A page") == ("text/html", None)
    assert content_type(header, b"") == (None, None)


@given(header=st.text(alphabet="text/html;, charset=\"\\='x\té", max_size=60), body=st.binary(max_size=60))
def test_no_header_and_no_body_is_beyond_parsing(header: str, body: bytes) -> None:
    essence, charset = content_type(header, body)

    assert essence is None or essence.count("/") >= 1
    assert charset != ""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", None),
        (b"  \n", None),
        (b"\n <!DOCTYPE html>", "text/html"),
        (b"\xef\xbb\xbf<HTML>", "text/html"),
        (b"<p>hello", "text/html"),
        (b"<!-- x --><html>", "text/html"),
        (b"<?xml version='1.0'?><urlset/>", "text/xml"),
        (b"<pre-formatted>", "text/plain"),
        (b"User-agent: *\nDisallow:", "text/plain"),
        ("größer".encode(), "text/plain"),
        (b"%PDF-1.7\n", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "application/octet-stream"),
        (b"\x1f\x8b\x08\0\0\0\0\0", "application/octet-stream"),
    ],
)
def test_a_body_without_a_type_is_known_by_its_start(body: bytes, expected: str | None) -> None:
    assert sniff_type(body) == expected


@pytest.mark.parametrize(
    ("essence", "wanted", "expected"),
    [
        ("text/html", {"text/html"}, True),
        ("image/png", {"text/html"}, False),
        ("text/plain", {"text/*"}, True),
        ("image/png", set(), True),
        (None, {"text/html"}, True),
    ],
)
def test_a_body_of_another_type_is_not_wanted(essence: str | None, wanted: set[str], *, expected: bool) -> None:
    """H0-6: binary bodies never reach the parser."""
    assert is_wanted(essence, frozenset(wanted)) is expected
