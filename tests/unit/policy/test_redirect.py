"""Where does this answer lead?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.model.identity import Identity
from outrider.model.outcome import Hop
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.policy.redirect import Arrived, Follow, Leave, NextHop, RedirectRules, Stop, next_hop

RULES = RedirectRules()
A = Url("http://example.com/a")


def hops(*paths: str, status: int = 301) -> tuple[Hop, ...]:
    return tuple(Hop(Url(f"http://example.com/{path}"), status, location="/next") for path in paths)


def walk(length: int, rules: RedirectRules) -> tuple[int, NextHop]:
    """Follow a chain of `length` redirects to a page: how many were followed, and how it ended."""
    walked: tuple[Hop, ...] = ()
    url = Url("http://example.com/0")
    for n in range(length):
        step = next_hop(url, 302, f"/{n + 1}", walked, rules)
        if not isinstance(step, Follow):
            return len(walked), step
        walked = (*walked, Hop(url, 302, location=f"/{n + 1}"))
        url = step.url
    return len(walked), next_hop(url, 200, None, walked, rules)


@pytest.mark.parametrize("limit", [0, 1, 5, 10])
def test_a_limit_of_n_follows_n_redirects_and_fails_on_the_next(limit: int) -> None:
    """C7, S0-3, S0-5, S0-22, S1-2, S4-30, H0-2, H1-1: exactly N, and N + 1."""
    rules = RedirectRules(limit=limit)

    assert walk(limit, rules) == (limit, Arrived())
    followed, end = walk(limit + 1, rules)
    assert followed == limit
    assert isinstance(end, Stop)
    assert end.reason is Reason.TOO_MANY_REDIRECTS


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_all_five_redirects_are_followed(status: int) -> None:
    assert next_hop(A, status, "/b", (), RULES) == Follow(Url("http://example.com/b"))


@pytest.mark.parametrize("status", [200, 204, 300, 304, 305, 306, 404, 500])
def test_nothing_else_is_a_redirect_even_with_a_location(status: int) -> None:
    assert next_hop(A, status, "/b", (), RULES) == Arrived()


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/b", "http://example.com/b"),
        ("b?c#d", "http://example.com/b?c"),
        ("//www.example.com/", "http://www.example.com/"),
        ("https://example.com/a", "https://example.com/a"),
        (" /b ", "http://example.com/b"),
        ("/\xc3\xa4", "http://example.com/%C3%A4"),
        ("/\xe4", "http://example.com/%C3%A4"),
        ("http://user:secret@example.com/b", "http://example.com/b"),
    ],
)
def test_a_location_is_read_as_browsers_read_it(location: str, url: str) -> None:
    assert next_hop(A, 301, location, (), RULES) == Follow(Url(url))


@pytest.mark.parametrize(
    "location", [None, "", "  ", "http://", "ftp://example.com/", "javascript:alert(1)", "http://a b/"]
)
def test_an_invalid_location_has_its_own_reason(location: str | None) -> None:
    """S1-26, H1-1: never reported as too many redirects."""
    step = next_hop(A, 301, location, hops("1", "2", "3", "4", "5"), RULES)

    assert isinstance(step, Stop)
    assert step.reason is Reason.INVALID_REDIRECT


@pytest.mark.parametrize("location", ["/a", "/a#x", "/1", "/%31", "/x/../a"])
def test_a_loop_is_found_at_once(location: str) -> None:
    """C9, S3-22: by normalised URL, also before the limit is reached."""
    step = next_hop(A, 302, location, hops("1", "2"), RULES)

    assert isinstance(step, Stop)
    assert step.reason is Reason.REDIRECT_LOOP


def test_a_loop_over_tracking_parameters_is_one_only_when_they_do_not_count() -> None:
    tidy = RedirectRules(identity=Identity(strip_tracking=True))

    assert isinstance(next_hop(A, 302, "/a?utm_source=x", (), RULES), Follow)
    assert isinstance(next_hop(A, 302, "/a?utm_source=x", (), tidy), Stop)


def test_a_hop_to_another_site_leaves_it() -> None:
    """C12."""
    other = Url("https://example.org/")
    assert next_hop(A, 301, "https://example.org/", (), RULES) == Leave(other, permanent=True)
    assert next_hop(A, 302, "https://example.org/", (), RULES) == Leave(other, permanent=False)
    assert next_hop(A, 308, "https://example.org/", hops("1", status=302), RULES) == Leave(other, permanent=False)

    by_host = RedirectRules(site_by="host")
    assert isinstance(next_hop(A, 301, "http://www.example.com/", (), by_host), Leave)


def test_the_hops_walked_on_earlier_sites_count() -> None:
    before = tuple(Hop(Url(f"http://other.org/{n}"), 301, location="/") for n in range(5))

    step = next_hop(A, 301, "/b", before, RULES)

    assert isinstance(step, Stop)
    assert step.reason is Reason.TOO_MANY_REDIRECTS


def test_a_redirect_is_handed_back_when_following_is_off() -> None:
    """S0-2, S0-6, S0-24."""
    step = next_hop(A, 302, "/b", (), RedirectRules(follow=False))

    assert step == Stop(Reason.REDIRECT_NOT_FOLLOWED, "302 to '/b'")


@given(st.lists(st.tuples(st.sampled_from([301, 302, 307]), st.text("ab/.?#%", max_size=4)), max_size=12))
def test_every_chain_ends_within_the_limit(answers: list[tuple[int, str]]) -> None:
    walked: tuple[Hop, ...] = ()
    url = A
    for status, location in answers:
        match next_hop(url, status, location, walked, RULES):
            case Follow(target):
                walked = (*walked, Hop(url, status, location=location))
                assert target not in {hop.url for hop in walked}
                url = target
            case _:
                break
        assert len(walked) <= RULES.limit
