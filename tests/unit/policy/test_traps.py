"""A URL that repeats itself, or has heaps of folders or parameters, is one of endlessly many."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.model.url import Url
from outrider.policy.traps import Trap, TrapLimits, trap

DEFAULTS = TrapLimits()


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/?",
        "/a/b/c/d/e/f.html",
        "/a/a/b",
        "/a/b/a/b",
        "/2011/11/11/11",
        "/1/1/1/1",
        "/x?u=/a/a/a/a",
        "/x?a=1&b=2&c=3&d=4",
        "/x?a=1&a=2",
        "/x?tag[]=a&tag[]=b&tag[]=c",
        "/x?tag%5B%5D=a&tag%5B%5D=b&tag%5b%5d=c&tag%5B%5D=d",
        "/" + "/".join(f"s{number}" for number in range(20)),
        "/?" + "&".join(f"p{number}=1" for number in range(20)),
    ],
)
def test_an_honest_url_is_no_trap(target: str) -> None:
    assert trap(Url(f"https://example.org{target}"), DEFAULTS) is None


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/a/a/a", Trap("repeated_segment=3", "/a")),
        ("/a/b/a/b/a/b", Trap("repeated_segment=3", "/a")),
        ("/x/a/y/a/z/a/", Trap("repeated_segment=3", "/a")),
        ("/a////b", Trap("repeated_segment=3", "/")),
        ("/2011/11/2011/11/2011/11", Trap("repeated_segment=3", "/2011")),
        ("/" + "/".join(f"s{number}" for number in range(21)), Trap("max_segments=20", "21 segments")),
        ("/" + "ab/" * 9, Trap("repeated_segment=3", "/ab")),
        ("/?" + "&".join(f"p{number}=1" for number in range(21)), Trap("max_parameters=20", "21 parameters")),
        ("/?a=1&b=2&a=2&a=3", Trap("repeated_parameter=3", "a")),
        ("/" + "/".join(["y" * 200] * 3), Trap("repeated_segment=3", "/" + "y" * 80)),
    ],
)
def test_a_trap_names_its_rule_and_what_was_seen(target: str, expected: Trap) -> None:
    assert trap(Url(f"https://example.org{target}"), DEFAULTS) == expected


def test_the_limits_are_the_callers() -> None:
    url = Url("https://example.org/a/b/a?x=1&y=2")

    assert trap(url, TrapLimits(repeats=2)) == Trap("repeated_segment=2", "/a")
    assert trap(url, TrapLimits(segments=2)) == Trap("max_segments=2", "3 segments")
    assert trap(url, TrapLimits(parameters=1)) == Trap("max_parameters=1", "2 parameters")


@given(
    st.lists(st.sampled_from(["a", "b", "cc", "", "11", "2011"]), max_size=12),
    st.integers(2, 5),
)
def test_counting_first_misses_nothing(segments: list[str], repeats: int) -> None:
    url = Url.trusted("https://example.org/" + "/".join(segments))

    expected = any(segments.count(name) >= repeats for name in segments if name != "11")

    assert (trap(url, TrapLimits(repeats=repeats)) is not None) == expected
