"""What pages add to the desk's answers: figures that agree with it, chains told to their end, forms that lead back."""

import pytest
from msgspec.structs import replace

from outrider.model.reason import Reason
from outrider.web.shapes import Overview, Point, Share, States, Totals
from outrider.web.site_book import SORTS
from outrider.web.story_shapes import Step, VisitShown
from outrider.web.views import (
    COLUMNS,
    OUTCOMES,
    back_path,
    crawl_in_words,
    hops_of,
    overview_parts,
    reasons_by_family,
    shares,
    site_columns,
)

VIEW = Overview(at=100.0, name="crawl", version="1", running=True, is_watched=True, can_act=True, started_at=40.0)
A, B, C = (f"http://a.test/{name}" for name in "abc")
VISIT = VisitShown("id", A, "fetched", 200, A, 1.0, 0.1)


def test_an_overview_of_nothing_can_be_drawn() -> None:
    parts = overview_parts(VIEW)

    assert parts["adds_up"]
    assert parts["area"].seconds == 0
    assert parts["activity"] == []


def test_the_ledger_adds_up_only_when_it_does() -> None:
    states = States(discovered=10, pending=1, waiting=2, fetched=3, skipped=1, dead=2, alias=1)

    assert overview_parts(replace(VIEW, states=states))["adds_up"]
    assert not overview_parts(replace(VIEW, states=replace(states, dead=3)))["adds_up"]


def test_worker_time_adds_up_to_a_hundred_percent() -> None:
    activity = (Share("turn", 1.0, 1 / 3), Share("first_byte", 1.0, 1 / 3), Share("brand_new", 1.0, 1 / 3))

    rows = overview_parts(replace(VIEW, activity=activity))["activity"]

    assert sum(percent for _, _, percent, _ in rows) == pytest.approx(100.0)
    assert [(name, shade) for name, shade, _, _ in rows] == [
        ("waiting for a site's turn", "busy-turn"),
        ("waiting for answers", "busy-first_byte"),
        ("brand new", "busy-other"),
    ]


def test_every_outcome_that_is_counted_is_drawn() -> None:
    point = Point(100.0, 2.0, pages=5, unchanged=4, moved=3, skipped=2, failed=1)

    area = overview_parts(replace(VIEW, history=(point,), totals=Totals(pages=5)))["area"]

    assert area.top == 10
    assert all(f'class="area {kind}"' in area.drawing for _, _, kind in OUTCOMES)


def test_a_crawl_that_is_over_is_drawn_up_to_its_end() -> None:
    busy, idle = Point(10.0, 2.0, pages=5), Point(100.0, 90.0)

    over = overview_parts(replace(VIEW, running=False, history=(busy, idle)))["area"]
    still = overview_parts(replace(VIEW, history=(busy, idle)))["area"]

    assert (over.seconds, still.seconds) == (2.0, 92.0)


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (VIEW, "running for 1 min 00 s"),
        (replace(VIEW, running=None, started_at=None), "its stores are watched"),
        (replace(VIEW, running=False, finish="finished"), "Finished: nothing is owed a visit any more"),
        (replace(VIEW, running=False), "It ended without a word, perhaps killed; nothing is lost"),
    ],
)
def test_every_page_says_whether_it_runs(view: Overview, words: str) -> None:
    assert crawl_in_words(view) == words


def test_sites_can_be_sorted_by_every_column_that_says_so() -> None:
    assert {key for _, key, _, _ in COLUMNS if key} <= SORTS.keys()


def test_the_head_of_the_sorted_column_says_so_and_turns_the_order() -> None:
    columns = {column.name: column for column in site_columns("-owed", can_act=True, text="x")}

    assert (columns["Owed"].sorted_as, columns["Owed"].href) == ("descending", "/sites?sort=owed&text=x")
    assert (columns["Site"].sorted_as, columns["Site"].href) == ("", "/sites?sort=name&text=x")
    assert columns["Fetched"].href == "/sites?sort=-fetched&text=x"
    assert columns["Orders"].href == columns["robots.txt"].href == ""


def test_every_reason_can_be_filtered_by() -> None:
    named = [name for _, names in reasons_by_family() for name in names]

    assert sorted(named) == sorted(Reason)


def test_a_visit_without_redirects_has_no_chain() -> None:
    assert hops_of(replace(VISIT, chain=(Step(A, 200),))) == ()
    assert hops_of(VISIT) == ()


def test_a_chain_ends_at_the_page() -> None:
    hops = hops_of(replace(VISIT, final_url=B, chain=(Step(A, 301, B), Step(B, 200))))

    assert [(hop.url, hop.status, hop.is_end, hop.is_trouble) for hop in hops] == [
        (A, 301, False, False),
        (B, 200, True, False),
    ]


def test_a_circle_is_told_by_the_hop_that_it_leads_back_to() -> None:
    headers = (("Location", "/a"),)
    visit = replace(
        VISIT, status="failed", reason="redirect_loop", headers=headers, chain=(Step(A, 301, B), Step(B, 301))
    )

    end = hops_of(visit)[-1]

    assert (end.url, end.back_to, end.is_trouble, end.note) == (A, 1, True, "not followed: redirect_loop")


def test_one_redirect_too_many_is_told_with_where_it_would_have_led() -> None:
    headers = (("location", C),)
    visit = replace(
        VISIT, status="failed", reason="too_many_redirects", headers=headers, chain=(Step(A, 302, B), Step(B, 302))
    )

    assert [(hop.url, hop.is_end) for hop in hops_of(visit)] == [(A, False), (B, False), (C, True)]


@pytest.mark.parametrize("location", ["http://[not an address", "ftp://files.test/", ""])
def test_a_redirect_to_nowhere_is_told_as_it_was_said(location: str) -> None:
    visit = replace(
        VISIT, status="failed", reason="invalid_redirect", headers=(("Location", location),), chain=(Step(A, 302),)
    )

    end = hops_of(visit)[-1]

    assert (end.url, end.is_end) == (location or A, True)


def test_a_hop_to_another_site_is_the_end_of_this_visit() -> None:
    hops = hops_of(replace(VISIT, status="moved", final_url="http://b.test/", chain=(Step(A, 301, "http://b.test/"),)))

    assert [(hop.url, hop.is_end, hop.is_trouble) for hop in hops] == [
        (A, False, False),
        ("http://b.test/", True, False),
    ]


@pytest.mark.parametrize(
    ("given", "led"),
    [
        ("/sites?sort=name", "/sites?sort=name"),
        ("//elsewhere.test/", "/letters"),
        ("https://elsewhere.test/", "/letters"),
        ("/\\elsewhere.test", "/letters"),
        ("/a\r\nSet-Cookie: x", "/letters"),
        ("", "/letters"),
        (None, "/letters"),
    ],
)
def test_a_form_leads_back_to_a_page_of_ours_alone(given: object, led: str) -> None:
    assert back_path(given, "/letters") == led


def test_bars_are_shares_of_the_longest() -> None:
    assert shares([4, 2, 0]) == [1.0, 0.5, 0.0]
    assert shares([]) == []
