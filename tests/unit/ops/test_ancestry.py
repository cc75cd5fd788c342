"""The way back to the seed: by what the records say, and never in a circle."""

from outrider.model.record import Record
from outrider.model.url import Url
from outrider.ops.ancestry import LONGEST, discovery_of, instant
from outrider.stores.memory.records import MemoryRecords
from outrider.testing.contracts.records import AT, decision, visit

LATER = "2026-11-16T00:50:00.000Z"


def url(n: int) -> str:
    return f"http://a.org/{n}"


def a_link(n: int, parent: int, at: str = AT) -> Record:
    return visit(n, url(n), at=at, origin="link", depth=n, parent=url(parent))


async def found(n: int, *written: Record) -> tuple[list[str], bool]:
    records = MemoryRecords()
    await records.write(written)
    story = await records.find(Url(url(n)))
    visits = [record for record in story if record.page is not None]
    discovery = await discovery_of([url(n)], None, visits, [], records)
    assert discovery is not None
    return [step.url for step in discovery.path], discovery.is_whole


async def test_the_path_leads_from_page_to_page_back_to_the_seed() -> None:
    path, is_whole = await found(2, visit(0, url(0), origin="seed"), a_link(1, 0), a_link(2, 1, LATER))

    assert (path, is_whole) == ([url(1), url(0)], True)


async def test_a_parent_that_is_not_on_record_ends_the_path_and_is_told_so() -> None:
    path, is_whole = await found(2, a_link(2, 1))

    assert (path, is_whole) == ([url(1)], False)


async def test_pages_that_name_each_other_end_the_path() -> None:
    path, is_whole = await found(1, a_link(1, 2), a_link(2, 3), a_link(3, 1))

    assert (path, is_whole) == ([url(2), url(3)], False)


async def test_a_path_without_an_end_is_cut_off() -> None:
    path, is_whole = await found(99, *(a_link(n, n - 1) for n in range(1, 100)))

    assert (len(path), is_whole) == (LONGEST, False)


async def test_a_parent_that_is_no_url_is_not_on_record() -> None:
    path, is_whole = await found(1, visit(1, url(1), origin="link", parent="\x1b[2J"))

    assert (path, is_whole) == (["\x1b[2J"], False)


async def test_a_page_that_a_redirect_led_to_was_found_by_it() -> None:
    records = MemoryRecords()
    await records.write([visit(0, url(0), url(1), origin="seed")])

    discovery = await discovery_of([url(1)], None, await records.find(Url(url(1))), [], records)

    assert discovery is not None
    assert (discovery.origin, discovery.parent, discovery.at, discovery.is_whole) == ("redirect", url(0), AT, True)


async def test_it_was_found_when_the_page_that_names_it_was_fetched() -> None:
    records = MemoryRecords()
    failed = visit(5, url(0), code=500, at="2026-11-16T00:00:00.000Z", origin="seed")
    again = visit(6, url(0), at="2026-11-16T09:00:00.000Z", origin="seed")
    await records.write([failed, visit(0, url(0), origin="seed"), again, a_link(1, 0, LATER)])

    discovery = await discovery_of([url(1)], None, await records.find(Url(url(1))), [], records)

    assert discovery is not None
    assert discovery.at == AT


async def test_what_was_refused_was_found_when_it_was_refused() -> None:
    records = MemoryRecords()
    refused = decision(url(1), at=1.5)

    discovery = await discovery_of([url(1)], None, [], [refused], records)

    assert discovery is not None
    assert (discovery.at, discovery.parent) == ("1970-01-01T00:00:01.500Z", refused.parent)


async def test_what_nobody_knows_was_not_found() -> None:
    assert await discovery_of([url(1)], None, [], [], MemoryRecords()) is None


def test_a_moment_on_record_is_seconds_and_another_text_is_none() -> None:
    assert instant("1970-01-01T00:00:01.500Z") == 1.5
    assert instant("1970-01-01T00:00:01") == 1.0
    assert instant("soon") is None
