"""What must become of every URL: found by walking the description, for every kind of end there is."""

from collections import Counter

import pytest

from outrider.model.ledger import State
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.testing.webfarm.kinds import Place
from outrider.testing.webfarm.world import HERE, World, demo, small, vast
from outrider.testing.webfarm.world_truth import Expected, Fate, Rules, truth

PLACE = Place((HERE,), 8080, 8443)
WORLD = demo(7)
TRUTH = truth(WORLD, PLACE)


def of(target: str, world: World = WORLD) -> list[Expected]:
    """What is expected of this target, wherever it is."""
    known = TRUTH if world is WORLD else truth(world, PLACE)
    return [expected for url, expected in known.items() if Url(url).target == target]


def test_every_kind_of_end_occurs_in_the_demo() -> None:
    ends = Counter(expected.state for expected in TRUTH.values())

    assert set(ends) == set(Fate)
    assert 2_000 < ends[Fate.FETCHED] < 4_000
    assert ends[Fate.EITHER] < 10


def test_every_reason_that_a_world_knows_occurs_in_the_demo() -> None:
    reasons = {reason for expected in TRUTH.values() for reason in expected.reasons}

    assert reasons == {
        Reason.URL_TOO_LONG,
        Reason.NON_TEXT_EXTENSION,
        Reason.ROBOTS_DISALLOWED,
        Reason.ROBOTS_UNREACHABLE,
        Reason.CRAWL_DELAY_TOO_LONG,
        Reason.TOO_MANY_REDIRECTS,
        Reason.REDIRECT_LOOP,
        Reason.INVALID_REDIRECT,
        Reason.CONNECT_REFUSED,
        Reason.CONNECTION_LOST,
        Reason.READ_TIMEOUT,
        Reason.PROTOCOL_ERROR,
        Reason.BODY_TOO_LARGE,
        Reason.UNSUPPORTED_CONTENT_TYPE,
        Reason.EMPTY_BODY,
        Reason.UNDECODABLE,
        Reason.SITE_UNREACHABLE,
        Reason.HTTP_403,
        Reason.HTTP_404,
        Reason.HTTP_410,
        Reason.HTTP_500,
    }


def test_every_site_of_the_demo_is_reached() -> None:
    hosts = {Url(url).host for url in TRUTH}

    assert set(WORLD.hosts) <= hosts


@pytest.mark.parametrize(
    ("target", "state", "reason"),
    [
        ("/c/five", Fate.ALIAS, None),
        ("/c/five/3", Fate.HOP, None),
        ("/c/five/5", Fate.FETCHED, None),
        ("/c/six", Fate.DEAD, Reason.TOO_MANY_REDIRECTS),
        ("/c/loop", Fate.DEAD, Reason.REDIRECT_LOOP),
        ("/c/self", Fate.DEAD, Reason.REDIRECT_LOOP),
        ("/c/nowhere", Fate.DEAD, Reason.INVALID_REDIRECT),
        ("/r/302", Fate.ALIAS, None),
        ("/r/end/302", Fate.FETCHED, None),
        ("/r/known", Fate.DUPLICATE, None),
        ("/r/missing", Fate.DEAD, Reason.HTTP_404),
        ("/r/far", Fate.ALIAS, None),
        ("/private/", Fate.SKIPPED, Reason.ROBOTS_DISALLOWED),
        ("/private/open", Fate.FETCHED, None),
        ("/into", Fate.SKIPPED, Reason.ROBOTS_DISALLOWED),
        ("/paper.pdf", Fate.SKIPPED, Reason.NON_TEXT_EXTENSION),
        ("/no-content", Fate.DEAD, Reason.EMPTY_BODY),
        ("/error", Fate.DEAD, Reason.HTTP_500),
        ("/flaky/0", Fate.FETCHED, None),
        ("/endless", Fate.EITHER, None),
        ("/silence", Fate.DEAD, Reason.READ_TIMEOUT),
    ],
)
def test_each_trouble_has_its_end(target: str, state: Fate, reason: Reason | None) -> None:
    expected = of(target)

    assert expected
    assert {each.state for each in expected} == {state}
    assert reason is None or all(reason in each.reasons for each in expected)


def test_a_page_behind_a_closed_one_is_not_known() -> None:
    assert not of("/private/deeper")
    assert not of("/private/by-redirect")


def test_without_sitemaps_and_feeds_what_only_they_list_is_not_known() -> None:
    unlisted = truth(WORLD, PLACE, Rules(sitemaps=False, feeds=False))

    listed = {url for url, expected in TRUTH.items() if expected.listed}

    assert listed == TRUTH.keys() - unlisted.keys()
    assert {Url(url).target for url in listed} >= {"/hidden/5", "/news/0", "/sitemap.xml", "/feed.xml"}
    assert {Url(url).target for url in listed if TRUTH[url].listing} == {
        "/sitemap.xml",
        "/sitemap-one.xml",
        "/sitemap-two.xml.gz",
        "/feed.xml",
    }


def test_a_shy_page_is_known_to_those_who_follow_nofollow_links() -> None:
    followed = truth(small(7), PLACE, Rules(nofollow=True))

    assert not of("/shy", small(7))
    assert [url for url in followed if url.endswith("/shy")]


def test_more_redirects_may_be_allowed() -> None:
    patient = truth(small(7), PLACE, Rules(max_redirects=6))

    six = [expected for url, expected in patient.items() if url.endswith("/c/six")]

    assert {each.state for each in six} == {Fate.ALIAS}


def test_a_redirect_to_a_known_page_may_fetch_it_once_more() -> None:
    asked = [url for url, expected in TRUTH.items() if expected.state is Fate.DUPLICATE]

    for url in asked:
        assert TRUTH[Url(url).origin + "/"].gets == 2


def test_a_trap_ends_where_its_world_says() -> None:
    days = [url for url in truth(small(7), PLACE) if "/calendar/" in url]
    echoes = {url: expected for url, expected in TRUTH.items() if "/echo/" in url}

    assert len(days) in {0, 12}
    assert Reason.URL_TOO_LONG in {reason for expected in echoes.values() for reason in expected.reasons}
    assert max(map(len, echoes)) < 2_100


def test_the_truth_of_a_part_of_a_vast_world_is_found_in_a_moment() -> None:
    world = World(3, 200, pages=4_000, hostile_share=0.0, size=1_000, varied=False, spiced=False)

    known = truth(world, PLACE, Rules(tls=True))

    assert len(known) == 4_000
    assert vast(3).site(vast(3).host(9_999)) is not None
    assert all(url.startswith("https://") and url.partition(":8443")[1] for url in known)


@pytest.mark.parametrize(
    ("expected", "state", "reason", "allowed"),
    [
        (Expected(Fate.FETCHED), State.FETCHED, None, True),
        (Expected(Fate.FETCHED), State.ALIAS, None, False),
        (Expected(Fate.FETCHED), State.PENDING, None, False),
        (Expected(Fate.ALIAS), State.ALIAS, None, True),
        (Expected(Fate.DUPLICATE), State.FETCHED, None, True),
        (Expected(Fate.DUPLICATE), State.DEAD, None, False),
        (Expected(Fate.DEAD, frozenset({Reason.HTTP_404})), State.DEAD, Reason.HTTP_404, True),
        (Expected(Fate.DEAD, frozenset({Reason.HTTP_404})), State.DEAD, Reason.HTTP_410, False),
        (Expected(Fate.DEAD, frozenset({Reason.HTTP_404})), State.SKIPPED, Reason.HTTP_404, False),
        (Expected(Fate.SKIPPED, frozenset({Reason.TOO_DEEP})), State.SKIPPED, Reason.TOO_DEEP, True),
        (Expected(Fate.SITE_UNREACHABLE, frozenset({Reason.SITE_UNREACHABLE})), State.DEAD, None, False),
        (Expected(Fate.EITHER, frozenset({Reason.READ_TIMEOUT})), State.DEAD, Reason.READ_TIMEOUT, True),
        (Expected(Fate.EITHER, frozenset({Reason.READ_TIMEOUT})), State.FETCHED, None, True),
        (Expected(Fate.EITHER, frozenset({Reason.READ_TIMEOUT})), State.DEAD, Reason.HTTP_404, False),
        (Expected(Fate.HOP), State.ALIAS, None, True),
    ],
)
def test_what_the_ledger_says_is_held_against_the_truth(
    expected: Expected,
    state: State,
    reason: Reason | None,
    allowed: bool,  # noqa: FBT001  a column of the table
) -> None:
    assert expected.allows(state, reason) is allowed
