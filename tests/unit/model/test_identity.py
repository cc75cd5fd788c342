"""When are two URLs the same page?"""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.errors import InvalidUrl
from outrider.model.identity import Identity
from outrider.model.url import Url

PLAIN = Identity()
TIDY = Identity(strip_tracking=True, sort_query=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://example.com/%7euser", "http://example.com/~user"),
        ("http://example.com/?q=%7e", "http://example.com/?q=~"),
        ("http://example.com/%c3%a4", "http://example.com/%C3%A4"),
        ("http://example.com/ä", "http://example.com/%c3%a4"),
        ("http://EXAMPLE.com:80/a/../b#x", "http://example.com/b"),
    ],
)
def test_what_no_server_may_care_about_does_not_make_two_pages(one: str, other: str) -> None:
    assert PLAIN.key(Url(one)) == PLAIN.key(Url(other))
    assert PLAIN.hash(Url(one)) == PLAIN.hash(Url(other))
    assert PLAIN.sha256(Url(one)) == PLAIN.sha256(Url(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://example.com/A", "http://example.com/a"),
        ("http://example.com/?A", "http://example.com/?a"),
        ("http://example.com/a", "http://example.com/a/"),
        ("http://example.com/a", "https://example.com/a"),
        ("http://example.com/a%2Fb", "http://example.com/a/b"),
        ("http://example.com/?a=1&b=2", "http://example.com/?b=2&a=1"),
        ("http://example.com/?utm_source=x", "http://example.com/"),
        ("http://example.com/?", "http://example.com/"),
        ("http://example.com/%%37E", "http://example.com/%7E"),
        ("http://example.com/%", "http://example.com/%25"),
    ],
)
def test_what_a_server_may_care_about_makes_two_pages(one: str, other: str) -> None:
    assert PLAIN.key(Url(one)) != PLAIN.key(Url(other))
    assert PLAIN.hash(Url(one)) != PLAIN.hash(Url(other))


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://example.com/?utm_source=x&a=1&UTM=2", "http://example.com/?UTM=2&a=1"),
        ("http://example.com/?gclid=1&fbclid=2", "http://example.com/"),
        ("http://example.com/?b=2&a=1&a=0", "http://example.com/?a=1&a=0&b=2"),
        ("http://example.com/?b", "http://example.com/?b"),
        ("http://example.com/gclid=1", "http://example.com/gclid=1"),
    ],
)
def test_tracking_parameters_and_order_are_dropped_only_when_asked(url: str, key: str) -> None:
    assert TIDY.key(Url(url)) == key
    assert PLAIN.key(Url(url)) == url


@given(st.text("aZ%7eE2fF/?&=~ä.", max_size=30))
def test_the_key_of_a_key_is_the_key(rest: str) -> None:
    try:
        url = Url("http://example.com/" + rest)
    except InvalidUrl:
        return

    for identity in (PLAIN, TIDY):
        key = identity.key(url)
        assert identity.key(Url(key)) == key


def test_the_hash_is_keyed_signed_and_the_same_in_every_process() -> None:
    """H2-12: never Python's salted hash()."""
    url = Url("http://example.com/a")
    code = "from outrider.model import identity, url; print(identity.Identity(7).hash(url.Url('http://example.com/a')))"

    elsewhere = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert int(elsewhere.stdout) == Identity(7).hash(url)
    assert Identity(7).hash(url) != Identity(8).hash(url)
    hashes = [PLAIN.hash(Url(f"http://example.com/{n}")) for n in range(1000)]
    assert len(set(hashes)) == 1000
    assert any(value < 0 for value in hashes)
    assert all(-(2**63) <= value < 2**63 for value in hashes)


def test_the_seed_is_not_shown() -> None:
    assert repr(Identity(seed=4711)) == "Identity(seed=***, strip_tracking=False, sort_query=False)"
    assert "seed=0" in repr(Identity())
