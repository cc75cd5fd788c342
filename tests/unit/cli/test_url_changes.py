"""What became of a URL, told honestly: every change is one that the parser confirms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.cli.url_changes import Change, changes, identity_changes, without_password
from outrider.errors import InvalidUrl
from outrider.model.identity import Identity
from outrider.model.url import Url

BASE = Url("https://www.example.org/a/b/c?d=e")


def told(text: str, base: Url | None = None) -> list[tuple[str, str, str]]:
    return [(change.what, change.was, change.now) for change in changes(text, Url(text, base), base)]


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (" http://a/ ", ("blanks around it dropped", " http://a/ ", "http://a/")),
        ("http://a/\n", ("blanks around it dropped", "\n", "")),
        ("http://a/b\tc", ("tabs and line breaks dropped", "\t", "")),
        ("http:\\\\a/", ("backslashes turned", "\\\\", "//")),
        ("HTTP://a/", ("scheme in lower case", "HTTP", "http")),
        ("http:////a/", ("two slashes after the scheme", "//", "")),
        ("http:a/", ("two slashes after the scheme", "", "//")),
        ("http://me:secret@a/", ("userinfo dropped", "***@", "")),
        ("http://EXAMPLE.org/", ("host in lower case", "EXAMPLE", "example")),
        ("http://bücher.example/", ("host in ASCII (IDNA)", "bücher", "xn--bcher-kva")),
        ("http://0x7f.1/", ("IPv4 address rewritten", "0x7f", "127.0.0")),
        ("http://2130706433/", ("IPv4 address rewritten", "2130706433", "127.0.0.1")),
        ("http://[0:0::1]/", ("IPv6 address rewritten", "0:0", "")),
        ("http://%61.b/", ("host rewritten", "%61", "a")),
        ("http://a:80/", ("default port removed", ":80", "")),
        ("https://a:0443/", ("default port removed", ":0443", "")),
        ("http://a:/", ("default port removed", ":", "")),
        ("http://a:08080/", ("port rewritten", "0", "")),
        ("http://a", ("empty path made /", "", "/")),
        ("http://a/b/../c", ("dot segments removed", "b/../", "")),
        ("http://a/b/%2E%2e/c/.", ("dot segments removed", "b/%2E%2e/c/.", "c/")),
        ("http://a/b#top", ("fragment dropped", "#top", "")),
        ("http://a/b c", ("characters percent-encoded", " ", "%20")),
        ("http://a/?q=ü", ("characters percent-encoded", "ü", "%C3%BC")),
    ],
)
def test_one_peculiarity_is_one_change(text: str, change: tuple[str, str, str]) -> None:
    assert told(text) == [change]


@pytest.mark.parametrize(
    ("link", "joined"),
    [
        ("d", "https://www.example.org/a/b/"),
        ("/d", "https://www.example.org"),
        ("//other.example/d", "https:"),
        ("?q", "https://www.example.org/a/b/c"),
    ],
)
def test_a_link_is_joined_to_its_page(link: str, joined: str) -> None:
    assert told(link, BASE) == [("joined to the base", "", joined)]


def test_a_link_that_climbs_is_joined_first_and_tidied_afterwards() -> None:
    assert [change[0] for change in told("../x y#top", BASE)] == [
        "joined to the base",
        "fragment dropped",
        "dot segments removed",
        "characters percent-encoded",
    ]


def test_nothing_is_said_of_a_url_that_stays_as_it_is() -> None:
    assert told("https://example.org/a?b=%7e&c") == []


@pytest.mark.parametrize(
    "text",
    ["http://me:pa ss@a/", "http:\\\\me:pw@a\\b", " HTTP:/me:p\tw@a/", "http://me:p@w@a/", "http://me@a/"],
)
def test_a_password_is_never_told(text: str) -> None:
    url = Url(text)

    shown = without_password(text, url)

    said = shown + "".join(change.was + change.now for change in changes(text, url))
    assert "***@" in said
    assert not any(secret in said for secret in ("me", "pa ss", "pw", "p\tw", "p@w"))


@given(
    st.from_regex(
        r"[ ]?[hH]ttps?:[/\\]{0,3}([a-z]{0,3}:[a-z]?@)?[a-zA-Z0-9.%ü-]{1,8}(:[0-9]{0,4})?[/\\a-z.%2eE?#& \"üé]*",
        fullmatch=True,
    )
)
def test_there_are_changes_exactly_when_the_text_changed_and_they_never_fail(text: str) -> None:
    try:
        url = Url(text)
    except InvalidUrl:
        return

    found = changes(text, url)

    assert bool(found) == (text != url)
    assert all(change.was != change.now for change in found)


def test_the_identity_key_is_explained_by_the_rules_that_made_it() -> None:
    url = Url("http://a/%7e?b=1&utm_source=x&a=2")

    assert identity_changes(url, Identity()) == [
        Change("escapes spelled alike", "no server may tell them apart (RFC 3986 6.2.2)", "%7e", "~")
    ]
    assert [change.what for change in identity_changes(url, Identity(strip_tracking=True, sort_query=True))] == [
        "escapes spelled alike",
        "tracking parameters left out",
        "parameters sorted",
    ]
    assert identity_changes(Url("http://a/"), Identity(strip_tracking=True, sort_query=True)) == []
