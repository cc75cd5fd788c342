"""Which pages next: the conditions of a filter, and how far a reader has come."""

import sqlite3
from contextlib import closing

import pytest

from outrider.model.record import Page, PageFilter, PageStatus
from outrider.stores.page_query import MOST, PageQuery
from outrider.stores.page_rows import row_of
from outrider.testing.contracts.records import visit


def found(*numbers: int) -> list[tuple[object, ...]]:
    made: list[Page] = [page for n in numbers if (page := visit(n).page)]
    return [(n, *row_of(page)) for n, page in zip(numbers, made, strict=True)]


def test_without_wishes_there_are_no_conditions() -> None:
    query = PageQuery(PageFilter(), 70)

    assert query.conditions == ""
    assert query.values == {"after": 0, "last": 70, "most": MOST}
    assert not query.is_done


def test_every_wish_is_a_condition_with_a_value_of_its_own() -> None:
    """S0-18: the reason among them. No text of a filter is ever part of the statement."""
    wanted = PageFilter(PageStatus.FAILED, "x' OR 1", 404, "a'.org:81", 1.5)

    query = PageQuery(wanted, 70)

    assert query.conditions.count(" AND ") == 7, "six conditions, and one within that of the site"
    assert "'." not in query.conditions.replace("'.'", "")
    assert {name: value for name, value in query.values.items() if f":{name}" in query.conditions} == {
        "status": "failed",
        "reason": "x' OR 1",
        "status_code": 404,
        "host": "a'.org",
        "port": 81,
        "since": "1970-01-01T00:00:01.500Z",
    }


def test_a_reader_goes_on_behind_the_last_page_it_was_given() -> None:
    query = PageQuery(PageFilter(), 70)

    pages = query.take(found(3, 9))

    assert [page.fetch_id for page in pages] == ["fetch-3", "fetch-9"]
    assert (query.values["after"], query.values["last"], query.values["most"]) == (9, 70, MOST)


def test_nothing_found_changes_nothing() -> None:
    query = PageQuery(PageFilter(), 70)
    query.take(found(3))

    assert query.take([]) == []
    assert query.values["after"] == 3


@pytest.mark.parametrize(
    ("limit", "asked"),
    [(1, [1]), (MOST, [MOST]), (MOST + 3, [MOST, 3]), (0, []), (-5, []), (1 << 70, [MOST, MOST])],
)
def test_no_more_are_asked_for_than_are_wanted(limit: int, asked: list[int]) -> None:
    query = PageQuery(PageFilter(limit=limit), 5_000)
    sizes: list[int] = []

    while not query.is_done and len(sizes) < 2:
        most = int(query.values["most"])
        sizes.append(most)
        query.take(found(*range(1, most + 1)))

    assert sizes == asked
    assert query.is_done is (limit < 1 << 60)


@pytest.mark.parametrize(
    "wanted", [PageFilter(status_code=1 << 63), PageFilter(site="\ud800"), PageFilter(reason="\0")]
)
def test_what_nothing_can_match_is_not_asked_for(wanted: PageFilter) -> None:
    assert PageQuery(wanted, 70).is_done


@pytest.mark.parametrize(
    ("host", "site", "has"),
    [
        ("example.org", "example.org", True),
        ("www.example.org", "example.org", True),
        ("notexample.org", "example.org", False),
        ("example.org", "www.example.org", False),
        (".example.org", "example.org", True),
        ("example.org", "", False),
        ("日本.org", "org", True),
    ],
)
def test_a_domain_has_its_hosts_in_sql_too(host: str, site: str, *, has: bool) -> None:
    query = PageQuery(PageFilter(site=site), 1)
    with closing(sqlite3.connect(":memory:")) as connection:
        asked = f"SELECT 1 FROM (SELECT :asked AS host, 80 AS port) WHERE 1 {query.conditions}"  # noqa: S608 - the test above
        rows = connection.execute(asked, {**query.values, "asked": host}).fetchall()

    assert bool(rows) is has
