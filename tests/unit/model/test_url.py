"""What is a URL? The URL Standard's own cases, then what we add to them."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.errors import InvalidUrl
from outrider.model.url import LONGEST, Url

WPT = Path(__file__).parents[4] / "shared" / "data" / "urltestdata.json"


def wpt_cases() -> list[dict[str, Any]]:
    if not WPT.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{WPT.name} is missing beside the checkout (../shared/data/)")
        pytest.skip(f"needs web-platform-tests' {WPT.name} in ../shared/data/")
    return [case for case in json.loads(WPT.read_text()) if isinstance(case, dict)]


def without_userinfo_and_fragment(case: dict[str, Any]) -> str:
    return f"{case['protocol']}//{case['host']}{case['pathname']}{case['search']}"


def test_every_case_of_the_url_standard_parses_as_specified_or_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    parsed = refused = 0
    for case in wpt_cases():
        crawlable = not case.get("failure") and case["protocol"] in {"http:", "https:"}
        try:
            url = Url(case["input"], case["base"])
        except InvalidUrl:
            assert not crawlable, case
            refused += 1
            continue

        assert crawlable, case
        expected = without_userinfo_and_fragment(case)
        # The standard tells `?` from no query at all; it keeps an empty one in href, and so do we.
        assert url in {expected, expected + "?"}, case
        assert url == case["href"].partition("#")[0] or "@" in case["href"]
        assert f"{url.scheme}:" == case["protocol"]
        assert url.host == case["hostname"]
        assert url.authority == case["host"]
        assert url.origin == case.get("origin", url.origin)  # a few cases leave it out
        assert url.path == case["pathname"]
        assert url.port == int(case["port"] or {"http": 80, "https": 443}[url.scheme])
        parsed += 1

    with capsys.disabled():
        print(f" [{parsed} of {parsed + refused} WPT cases parsed as specified, {refused} refused] ", end="")
    assert parsed > 200
    assert refused > 500


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("HTTP://EXAMPLE.com", "http://example.com/"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("http://user:secret@example.com/", "http://example.com/"),
        ("http://a@b@example.com/x@y", "http://example.com/x@y"),
        ("http://example.com/?a=@", "http://example.com/?a=@"),
        ("http://example.com/a#b", "http://example.com/a"),
        ("http://example.com/#", "http://example.com/"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/a/%2e%2E/c", "http://example.com/c"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://017700000001/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://127.0.0.1./", "http://127.0.0.1/"),
        ("http://[::FFFF:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
        ("  http://example.com/a b\t\n", "http://example.com/a%20b"),
        ("http://example.com/Ä?ä=Ü", "http://example.com/%C3%84?%C3%A4=%C3%9C"),
        ("http://example.com/%7eUser?Q=%7E", "http://example.com/%7eUser?Q=%7E"),
        ("http://example.com/CaSe?CaSe", "http://example.com/CaSe?CaSe"),
        ("http:\\\\example.com\\a", "http://example.com/a"),
        ("http://example.com?q", "http://example.com/?q"),
        ("http://example.com/a|b?c|d", "http://example.com/a|b?c|d"),
    ],
)
def test_the_form_to_fetch_is_what_the_standard_makes_of_the_text_and_nothing_more(text: str, url: str) -> None:
    assert Url(text) == url


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        (" \t ", "is empty"),
        ("example.com", "did you mean https://example.com"),
        ("ftp://example.com/", "has the scheme 'ftp'"),
        ("mailto:a@example.com", "is not an http or https URL"),
        ("javascript:alert(1)", "is not an http or https URL"),
        ("file:///etc/passwd", "has the scheme 'file'"),
        ("http://", "cannot be parsed"),
        ("http://a b/", "cannot be parsed"),
        ("http://example.com:99999/", "cannot be parsed"),
        ("http://[::1/", "cannot be parsed"),
        ("http://256.256.256.256/", "cannot be parsed"),
        ("http://\ud800/", "cannot be parsed"),
        ("http://a/" + "x" * LONGEST, f"is longer than {LONGEST} characters"),
    ],
)
def test_a_refused_text_is_named_with_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(InvalidUrl) as caught:
        Url(text)

    assert why in str(caught.value)
    assert len(str(caught.value)) < 250
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("", "https://example.org/a/b?c"),
        ("#x", "https://example.org/a/b?c"),
        ("?d", "https://example.org/a/b?d"),
        ("d", "https://example.org/a/d"),
        ("../../..", "https://example.org/"),
        ("/d", "https://example.org/d"),
        ("//other.org/d", "https://other.org/d"),
        ("http://other.org", "http://other.org/"),
        ("http:d", "http://d/"),
    ],
)
def test_a_link_is_resolved_against_its_page(link: str, url: str) -> None:
    assert Url("https://example.org/a/b?c").resolve(link) == url


def test_the_parts_of_a_url_are_cut_out_on_demand() -> None:
    """S0-9, S4-33: host, hash and the name of cached content come from the one parsed form."""
    url = Url("https://www.example.org:8443/a/b?c=d?e")

    assert (url.scheme, url.host, url.port) == ("https", "www.example.org", 8443)
    assert (url.authority, url.origin) == ("www.example.org:8443", "https://www.example.org:8443")
    assert (url.target, url.path, url.query) == ("/a/b?c=d?e", "/a/b", "c=d?e")
    assert url.sha256 == hashlib.sha256(b"https://www.example.org:8443/a/b?c=d?e").hexdigest()


@pytest.mark.parametrize(
    ("url", "domain", "host"),
    [
        ("http://example.com/", "example.com", "example.com"),
        ("http://www.example.com/", "example.com", "www.example.com"),
        ("http://www.example.com:8080/", "example.com", "www.example.com"),
        ("http://example.com./", "example.com", "example.com"),
        ("http://a.b.example.co.uk/", "example.co.uk", "a.b.example.co.uk"),
        ("http://one.github.io/", "one.github.io", "one.github.io"),
        ("http://github.io/", "github.io", "github.io"),
        ("http://a.b.unknown-tld/", "b.unknown-tld", "a.b.unknown-tld"),
        ("http://intranet/", "intranet", "intranet"),
        ("http://localhost/", "localhost:80", "localhost:80"),
        ("https://localhost/", "localhost:443", "localhost:443"),
        ("http://localhost.:8080/", "localhost:8080", "localhost:8080"),
        ("http://shop.localhost:8080/", "shop.localhost:8080", "shop.localhost:8080"),
        ("http://127.0.0.1/", "127.0.0.1:80", "127.0.0.1:80"),
        ("http://127.0.0.1:8080/", "127.0.0.1:8080", "127.0.0.1:8080"),
        ("http://[2001:db8::1]/", "[2001:db8::1]:80", "[2001:db8::1]:80"),
        ("http://xn--bcher-kva.example.ai/", "example.ai", "xn--bcher-kva.example.ai"),
    ],
)
def test_a_site_is_the_registrable_domain_or_the_host_and_an_address_is_its_own(
    url: str, domain: str, host: str
) -> None:
    """C22, S2-31, H2-26: private suffixes count, and nothing is dropped for want of a domain."""
    assert Url(url).site() == domain
    assert Url(url).site("host") == host


@given(st.text())
def test_no_text_raises_anything_but_invalid_url(text: str) -> None:
    for base in (None, "http://example.com/a"):
        try:
            url = Url(text, base)
        except InvalidUrl:
            continue
        assert url.startswith(("http://", "https://"))
        assert url.site()
        assert url.site("host")
        assert url.port < 65_536


@given(
    st.sampled_from(["http", "https", "HTTP"]),
    st.text("aA1-.%üß[]:@", min_size=1, max_size=20),
    st.text(max_size=40),
)
def test_parsing_is_idempotent(scheme: str, host: str, rest: str) -> None:
    try:
        url = Url(f"{scheme}://{host}/{rest}")
    except InvalidUrl:
        return

    again = Url(url)
    assert again == url
    assert "#" not in url
    assert "@" not in url.authority
    assert Url.trusted(url).target == url.target
