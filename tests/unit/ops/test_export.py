"""Links, redirects, evidence and decisions as rows, out of records and answers in memory."""

import gzip
from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from typing import TypeVar

import pytest
from msgspec.structs import replace

from outrider.errors import StoreError, StoreUnavailable
from outrider.model.capture import Capture, Unchanged
from outrider.model.outcome import Headers
from outrider.model.record import ChainStep, Evidence, PageFilter, PageStatus, Record, RedirectChain
from outrider.model.url import Url
from outrider.ops.export.evidence import decisions, facts
from outrider.ops.export.links import Edge, Unread, edges
from outrider.ops.export.reading import limited
from outrider.ops.export.redirects import redirects
from outrider.ops.walks import walking
from outrider.stores.memory.records import MemoryRecords
from outrider.testing.contracts.records import AT, decision, visit

T = TypeVar("T")

PAGE = b"""<html><head><link rel=canonical href=/c><link rel=alternate type=application/rss+xml href=/feed>
<meta http-equiv=refresh content='0; url=/later'></head><body><a href=/a>1</a><a href=b#x>2</a><a href=/a>3</a>
<a href=/shy rel="nofollow ugc">4</a><iframe src=http://other.org/f></iframe><a href=mailto:x>5</a>"""
SITEMAP = b"<urlset><url><loc>http://a.org/1</loc></url><url><loc>http://a.org/2</loc></url></urlset>"
FEED = b"<rss><channel><item><link>http://a.org/news</link></item></channel></rss>"


class Answers:
    """Captures by their key; an error is raised."""

    def __init__(self, **kept: Capture | Exception) -> None:
        self._kept = kept

    async def get(self, key: str) -> Capture | None:
        found = self._kept.get(key)
        if isinstance(found, Exception):
            raise found
        return found


def answer(body: bytes, headers: Headers = ()) -> Capture:
    return Capture("id", Url("http://a.org/"), 1.0, 200, headers, body)


def page(n: int, content: bytes, url: str = "http://a.org/", **metadata: object) -> Record:
    digest = sha256(content).hexdigest()
    record = visit(n, url, content_key=f"k{n}", content_length=len(content), content_hash=digest)
    assert record.page is not None
    whole = replace(record.page, metadata=replace(record.page.metadata, **metadata))
    return Record(whole)


def chained(
    n: int,
    steps: Sequence[tuple[str, int, str | None]],
    final: str,
    code: int = 200,
    status: PageStatus = PageStatus.FETCHED,
    reason: str | None = None,
) -> Record:
    """A visit with a chain; the last step may be the answer itself. A Location that was not followed is in capitals."""
    chain = tuple(
        ChainStep(
            source,
            status,
            None if location is None or location.isupper() else location,
            () if location is None else (("Location", location.lower()),),
            AT,
            None,
        )
        for source, status, location in steps
    )
    url = steps[0][0]
    followed = sum(step.location is not None for step in chain)
    record = visit(n, url, final, code, redirect_count=followed, status=status, reason=reason)
    return replace(record, evidence=(Evidence(f"fetch-{n}", url, RedirectChain(chain), {}),))


async def all_of(rows: AsyncIterator[list[T]]) -> list[T]:
    return [row async for batch in rows for row in batch]


async def linked(answers: Answers, *records: Record) -> tuple[list[Edge], Unread]:
    store, unread = MemoryRecords(), Unread()
    await store.write(records)
    return await all_of(edges(store, answers, PageFilter(), unread)), unread


def told(found: list[Edge]) -> list[tuple[str, str, bool]]:
    return [(edge.target, str(edge.kind), edge.nofollow) for edge in found]


async def test_a_page_leads_where_the_crawl_saw_it_lead() -> None:
    found, unread = await linked(Answers(k1=answer(PAGE)), page(1, PAGE, "http://a.org/x/"))

    assert told(found) == [
        ("http://a.org/later", "link", False),
        ("http://a.org/a", "link", False),
        ("http://a.org/x/b", "link", False),
        ("http://other.org/f", "link", False),
        ("http://a.org/shy", "link", True),
        ("http://a.org/c", "canonical", False),
        ("http://a.org/feed", "feed", False),
    ]
    assert {(edge.source, edge.fetch_id, edge.fetched_at) for edge in found} == {("http://a.org/x/", "fetch-1", AT)}
    assert unread == Unread()


async def test_a_page_that_asks_for_it_has_no_link_to_follow() -> None:
    found, _ = await linked(Answers(k1=answer(b"<a href=/a>")), page(1, b"<a href=/a>", directives=("nofollow",)))

    assert told(found) == [("http://a.org/a", "link", True)]


async def test_what_was_sent_packed_or_in_another_charset_is_read_as_in_the_crawl() -> None:
    text = "<a href=/?ü=1>".encode("iso-8859-1")
    packed = answer(gzip.compress(text), (("Content-Encoding", "gzip"),))
    record = page(1, text, content_type="text/html; charset=iso-8859-1")

    found, _ = await linked(Answers(k1=packed), record)

    assert told(found) == [("http://a.org/?%C3%BC=1", "link", False)]


async def test_a_store_that_keeps_contents_decoded_is_read_as_it_is() -> None:
    kept = replace(answer(b""), content=b"<a href=/a>", headers=(("Content-Encoding", "gzip"),))

    found, _ = await linked(Answers(k1=kept), page(1, b"<a href=/a>"))

    assert told(found) == [("http://a.org/a", "link", False)]


async def test_a_listing_leads_to_what_it_lists() -> None:
    records = [page(n, body, origin="listing") for n, body in ((1, SITEMAP), (2, FEED), (3, b"no list"))]

    found, _ = await linked(Answers(k1=answer(SITEMAP), k2=answer(FEED), k3=answer(b"no list")), *records)

    assert told(found) == [
        ("http://a.org/1", "sitemap_entry", False),
        ("http://a.org/2", "sitemap_entry", False),
        ("http://a.org/news", "feed_entry", False),
    ]


async def test_redirects_are_edges_too() -> None:
    record = chained(1, [("http://a.org/", 301, "/b"), ("http://a.org/b", 200, None)], "http://a.org/b")

    found, unread = await linked(Answers(), record)

    assert told(found) == [("http://a.org/b", "redirect", False)]
    assert found[0].source == "http://a.org/"
    assert unread.gone == 1  # the page at the end has no answer here


async def test_a_content_that_a_later_visit_replaced_is_gone_for_the_earlier_one() -> None:
    """As in a store that keeps one content for each URL."""
    now = replace(answer(b""), content=b"<a href=/new>")

    found, unread = await linked(Answers(k1=now, k2=now), page(1, b"<a href=/old>"), page(2, b"<a href=/new>"))

    assert [(edge.fetch_id, edge.target) for edge in found] == [("fetch-2", "http://a.org/new")]
    assert unread.gone == 1


async def test_what_had_not_changed_is_not_told_twice() -> None:
    same = replace(answer(b""), unchanged=Unchanged.SAME_CONTENT)

    found, unread = await linked(Answers(k1=answer(PAGE), k2=same), page(1, PAGE), page(2, PAGE))

    assert {edge.fetch_id for edge in found} == {"fetch-1"}
    assert unread == Unread()


async def test_an_answer_that_is_gone_or_damaged_costs_only_itself() -> None:
    answers = Answers(
        k2=StoreError("k2 is damaged"),
        k3=answer(gzip.compress(b"x" * 99)[:12] + b"\xff" * 20, (("Content-Encoding", "gzip"),)),
        k4=answer(b"<a href=/a>"),
    )
    records = [page(n, b"<a href=/a>") for n in (1, 2, 3, 4)]

    found, unread = await linked(answers, *records, replace(visit(5, content_key=None), evidence=()))

    assert [edge.fetch_id for edge in found] == ["fetch-4"]
    assert (unread.gone, unread.damaged) == (2, 2)
    assert unread.complaint == "http://a.org/: k2 is damaged"


async def test_a_store_that_is_away_is_no_damage() -> None:
    with pytest.raises(StoreUnavailable):
        await linked(Answers(k1=StoreUnavailable("away")), page(1, b""))


async def test_a_chain_over_several_sites_is_told_to_its_end() -> None:
    first = [("http://a.org/", 301, "/b"), ("http://a.org/b", 302, "http://b.org/")]
    middle = [("http://b.org/", 308, "http://c.org/")]
    last = [("http://c.org/", 301, "/x"), ("http://c.org/x", 404, None)]
    store = MemoryRecords()
    await store.write(
        [
            chained(3, last, "http://c.org/x", 404, PageStatus.FAILED, "http_404"),
            chained(1, first, "http://b.org/", 302, PageStatus.MOVED),
            chained(2, middle, "http://c.org/", 308, PageStatus.MOVED),
            visit(4, "http://d.org/"),
        ]
    )

    rows = await all_of(redirects(store, store, PageFilter(site="a.org")))

    one, two = rows
    assert (one.url, one.hop, one.source, one.target) == ("http://a.org/", 1, "http://a.org/", "http://a.org/b")
    assert (two.hop, two.source, two.target, two.status_code) == (
        2,
        "http://a.org/b",
        "http://b.org/",
        302,
    )
    for row in rows:
        assert (row.hops, row.final_url, row.final_status) == (4, "http://c.org/x", 404)
        assert (row.result, row.reason, row.followed) == ("failed", "http_404", True)


async def test_a_chain_that_nobody_walked_to_its_end_says_so() -> None:
    store = MemoryRecords()
    away = [("http://a.org/", 301, "http://b.org/")]
    back = [("http://b.org/", 301, "http://a.org/")]
    await store.write([chained(1, away, "http://b.org/", 301, PageStatus.MOVED)])
    (alone,) = await all_of(redirects(store, store, PageFilter()))
    await store.write([chained(2, back, "http://a.org/", 301, PageStatus.MOVED)])

    circle = await all_of(redirects(store, store, PageFilter()))

    assert (alone.final_url, alone.final_status, alone.result) == ("http://b.org/", None, "moved")
    assert [row.result for row in circle] == ["moved", "moved"]


async def test_a_redirect_that_was_not_followed_is_told_with_where_it_leads() -> None:
    """Too many, in a circle, or to what is no URL."""
    store = MemoryRecords()
    loop = [("http://a.org/", 301, "/b"), ("http://a.org/b", 302, "HTTP://A.ORG/")]
    nowhere = [("http://a.org/c", 302, "HTTP://[")]
    await store.write(
        [
            chained(1, loop, "http://a.org/b", 0, PageStatus.FAILED, "redirect_loop"),
            chained(2, nowhere, "http://a.org/c", 0, PageStatus.FAILED, "invalid_redirect"),
        ]
    )

    rows = await all_of(redirects(store, store, PageFilter()))

    assert [(row.source, row.target, row.followed, row.reason) for row in rows] == [
        ("http://a.org/", "http://a.org/b", True, "redirect_loop"),
        ("http://a.org/b", "http://a.org/", False, "redirect_loop"),
        ("http://a.org/c", None, False, "invalid_redirect"),
    ]
    assert [(row.hop, row.hops, row.final_status) for row in rows] == [(1, 2, None), (2, 2, None), (1, 1, None)]


async def test_each_piece_of_evidence_is_a_row_with_its_kind() -> None:
    store = MemoryRecords()
    await store.write([visit(1), visit(2, "http://b.org/")])

    rows = await all_of(facts(store, PageFilter(site="b.org")))

    assert [row.kind for row in rows] == [one.kind for one in visit(1).evidence]
    assert {(row.fetch_id, row.url, row.fetched_at) for row in rows} == {("fetch-2", "http://b.org/", AT)}


async def test_decisions_are_filtered_by_what_they_have() -> None:
    store = MemoryRecords()
    one, two = decision("http://www.a.org/", at=1.0), replace(decision("http://b.org/", at=2.0), reason="too_deep")
    await store.write([Record(decisions=(one, two))])

    assert await all_of(decisions(store, PageFilter())) == [one, two]
    assert await all_of(decisions(store, PageFilter(site="a.org"))) == [one]
    assert await all_of(decisions(store, PageFilter(reason="too_deep"))) == [two]
    assert await all_of(decisions(store, PageFilter(since=1.5))) == [two]


async def test_whoever_has_enough_reads_no_further() -> None:
    closed = []

    async def batches() -> AsyncIterator[list[int]]:
        try:
            for start in range(0, 100, 10):
                yield list(range(start, start + 10))
        finally:
            closed.append(True)

    rows = await all_of(limited(batches(), 25))
    async with walking(batches()) as reading:
        await anext(reading)

    assert rows == list(range(25))
    assert closed == [True, True]
