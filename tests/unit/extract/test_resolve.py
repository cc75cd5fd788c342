"""A link that is taken as written is what the whole parser would have made of it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from outrider.errors import InvalidUrl
from outrider.extract.resolve import Base
from outrider.model.url import Url

BASES = [
    Url("https://example.org/"),
    Url("http://example.org:8080/a/b/page.html?x=/y/z"),
    Url("https://example.org/a//b/?q"),
    Url("http://[::1]/x"),
]
PIECES = st.sampled_from(
    [
        *(
            ":80",
            ":8080",
            ":0",
            "/",
            "//",
            "/./",
            "/../",
            "..",
            ".",
            "%2e",
            "%2E.",
            "%2f",
            "%",
            "%zz",
            "?",
            "&",
            "=",
            "#",
            "#a",
            ":",
            "@",
        ),
        *(
            "a",
            "Page",
            "b.html",
            "ü",
            "'",
            '"',
            " ",
            "\t",
            "\n",
            "\\",
            "^",
            "|",
            "[",
            "]",
            "{",
            "<",
            "`",
            "~",
            "*",
            "-",
        ),
        *(
            "http:",
            "https:",
            "http://",
            "https://",
            "example.org",
            "EXAMPLE.org",
            "1.2",
            "0x7f",
            "xn--a",
            "..com",
            "\0",
        ),
        *("javascript:", "mailto:x", "data:,", "tel:1", "ftp://x/", "_", "!", "$", "(", ")", "+", ",", ";", "\u3002"),
    ]
)


def parsed(link: str, base: Url) -> Url | None:
    """What `Url` says, without any short cut."""
    try:
        return Url(link, base)
    except InvalidUrl:
        return None


@given(st.lists(PIECES, max_size=8).map("".join), st.sampled_from(BASES))
@example("/a/.b", BASES[0])
@example("http://1.2/a", BASES[0])
@example("https://example.org./a", BASES[0])
@example("http://example.org:80/a", BASES[0])
@example("http://example.org:443/a", BASES[0])
@example("https://example.org:8443/a?b", BASES[0])
@example("https://example.org:08443/a", BASES[0])
@example("https://example.org:65536/a", BASES[0])
@example("https://example.org:/a", BASES[0])
@example("a:b/c", BASES[1])
@example("/a#b c", BASES[1])
@example("/a #b", BASES[1])
@example("https://" + "a" * 300 + ".org/", BASES[0])
def test_a_plain_link_is_what_the_parser_makes_of_it(link: str, base: Url) -> None:
    bare = link.strip("".join(map(chr, range(33))))

    expected = None if not bare or bare.startswith("#") else parsed(link, base)

    assert Base(base).resolve(link) == expected


@given(st.text(max_size=30), st.sampled_from(BASES))
def test_any_text_resolves_to_a_url_or_to_nothing(link: str, base: Url) -> None:
    found = Base(base).resolve(link)

    assert found is None or found == Url(link, base)


@pytest.mark.parametrize(
    "link",
    ["", " ", "#", "#top", " #top", "javascript:void(0)", " JavaScript:x", "mailto:a@example.org", "tel:+1", "data:,x"],
)
def test_what_is_no_page_leads_nowhere(link: str) -> None:
    assert Base(BASES[0]).resolve(link) is None


def test_a_link_beyond_every_length_leads_nowhere() -> None:
    assert Base(BASES[0]).resolve("/" + "a" * 70_000) is None
