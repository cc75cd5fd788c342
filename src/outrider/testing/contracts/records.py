"""The contract of a store of records: what is written comes back as it was, once, all of it or none.

Inherit from `RecordsContract` in a test class and say in `open` how to reach your backend; `name` tells one store from
another, so that the same name opened twice is the same store. `visits` makes records for hypothesis.
"""

# ruff: noqa: S101 - a contract asserts

import asyncio
from contextlib import AbstractAsyncContextManager
from uuid import uuid4

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace

from outrider.model.record import (
    ChainStep,
    Confidence,
    Decision,
    Evidence,
    EvidenceContent,
    FetchError,
    FetchTiming,
    HttpHeaders,
    HttpResponse,
    Page,
    PageFilter,
    PageMetadata,
    PageStatus,
    Record,
    RedirectChain,
    RobotsCheck,
    Tally,
)
from outrider.model.url import Url
from outrider.ports import Records

HOME = Url("http://example.org/")
AT = "2026-11-16T00:42:14.123Z"
EVIDENCE: tuple[EvidenceContent, ...] = (
    RobotsCheck(True, Confidence.HIGH, "allowed", ("/a/",), 3, "Allow: /", "*", "ab"),
    RedirectChain((ChainStep("http://example.org/", 301, "/b", (("Location", "/b"),), AT, "127.0.0.1"),)),
    HttpResponse(200, "http://example.org/b", "text/html", 5, 1, success=True),
    HttpHeaders((("Set-Cookie", "a=1"), ("set-cookie", "b=2"), ("X", "é\x00\u2028"))),
    FetchTiming(AT, AT, 12, 0.1, 0.2, 0.3, 0.4, 0.5),
    FetchError("http_500: failed", "fetch_error", 500, "http_500"),
)
"""One of each kind: S1-17 to S1-22."""


def visit(
    n: int, url: str = HOME, final: str | None = None, code: int = 200, at: str = AT, **metadata: object
) -> Record:
    """One whole visit; `metadata` overrides fields of the page's."""
    wrong = code >= 400
    data = PageMetadata(
        PageStatus.FAILED if wrong else PageStatus.FETCHED,
        final or url,
        "text/html",
        5,
        int(final is not None),
        robots_blocked=False,
        confidence=Confidence.HIGH,
        skip_content_extraction=wrong,
        fetched_at=at,
        reason=f"http_{code}" if wrong else None,
        wire_length=10,
    )
    page = Page(f"fetch-{n}", "scan", str(url), code, 12, replace(data, **metadata))
    return Record(page, tuple(Evidence(page.fetch_id, page.url, one, {"n": n, "ok": True}) for one in EVIDENCE))


def decision(url: str = HOME, by: str = "robots", rule: str = "Disallow: /", at: float = 1.5) -> Decision:
    return Decision(url, by, "robots_disallowed", rule, "line 3", at, "http://example.org/parent")


async def pages_of(records: Records, wanted: PageFilter = PageFilter()) -> list[Page]:  # noqa: B008 - frozen
    return [page async for batch in records.pages(wanted) for page in batch]


async def ids(records: Records, wanted: PageFilter) -> list[int]:
    return [int(page.fetch_id.removeprefix("fetch-")) for page in await pages_of(records, wanted)]


_texts = st.text(st.characters(), max_size=20)  # halves of characters included
_maybe = st.none() | _texts
_counts = st.integers(0, 2**53)
_urls = st.sampled_from(
    ["http://example.org/", "https://www.example.org:8443/ä?x=1|2", "http://[::1]:81/", "http://b.net/%00"]
)
_headers = st.lists(st.tuples(_texts, _texts), max_size=3).map(tuple)
_contents: st.SearchStrategy[EvidenceContent] = st.one_of(
    *[st.just(content) for content in EVIDENCE],
    st.builds(HttpHeaders, _headers),
    st.builds(FetchError, _texts, _texts, st.integers(0, 999), _texts),
)
_metadata = st.builds(
    PageMetadata,
    *(st.sampled_from(PageStatus), _urls, _maybe, _counts, _counts, st.booleans(), st.sampled_from(Confidence)),
    *(st.booleans(), st.datetimes().map(lambda at: at.isoformat(timespec="milliseconds") + "Z")),
    *(
        _maybe,
        _maybe,
        _maybe,
        _counts,
        _counts,
        st.booleans(),
        _counts,
        _maybe,
        _counts,
        _texts,
        _maybe,
        _maybe,
        _maybe,
    ),
    *(st.lists(_texts, max_size=2).map(tuple), _counts),
)
_decisions = st.builds(Decision, _urls, _texts, _texts, _texts, _texts, st.floats(0, 1e10), _maybe)


@st.composite
def visits(draw: st.DrawFn) -> Record:
    """Any record that the model allows."""
    page = draw(st.builds(Page, st.uuids().map(str), _texts, _urls, st.integers(0, 999), _counts, _metadata))
    values = st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), _texts)
    found = draw(st.lists(_contents, max_size=6, unique_by=type))
    evidence = tuple(
        Evidence(
            page.fetch_id,
            draw(st.sampled_from([page.url, "", "http://other.org/"])),
            one,
            draw(st.dictionaries(_texts, values, max_size=2)),
        )
        for one in found
    )
    return Record(page, evidence, tuple(draw(st.lists(_decisions, max_size=2))))


class RecordsContract:
    def open(self, name: str) -> AbstractAsyncContextManager[Records]:
        raise NotImplementedError("say how to open the backend")

    @pytest.fixture
    def name(self) -> str:
        return f"t{uuid4().hex[:12]}"

    async def test_a_visit_comes_back_as_it_was_written(self, name: str) -> None:
        """S1-15 to S1-22: page, metadata and evidence of every kind, in order; headers may repeat."""
        written = visit(
            1, final="http://example.org/b", error="é: \x00", title="日本", directives=("noindex", "nofollow")
        )
        async with self.open(name) as records:
            await records.write([written])

        async with self.open(name) as records:
            assert await records.find(HOME) == [written]
            assert await pages_of(records) == [written.page]

    async def test_half_a_character_is_shown_as_one_that_was_lost(self, name: str) -> None:
        """A name of a file or an argument that is not UTF-8 brings lone surrogates: no store and no JSON can hold them.

        They must not cost the batch that they are in.
        """
        page = visit(2, title="a\ud800z", error="\udcff", content_key="\udfff:1", directives=("x\ud800",)).page
        assert page is not None
        evidence = (
            Evidence("fetch-2", page.url, HttpHeaders((("X\ud800", "é\udc80"),)), {"\ud800": "\ud800", "n": 1}),
            Evidence("fetch-2", "\ud800", FetchError("\udcff", "fetch_error", 0, "dns_failure"), {}),
        )
        decided = replace(decision(), rule="Disallow: /\udcff", evidence="\ud800", parent="\ud800")
        async with self.open(name) as records:
            await records.write([visit(1), Record(replace(page, scan_id="\udcff"), evidence, (decided,))])

            first, found, about = await records.find(HOME)

        assert first == visit(1)
        assert found.page is not None
        data = found.page.metadata
        assert (found.page.scan_id, data.title, data.error) == ("\ufffd", "a\ufffdz", "\ufffd")
        assert (data.content_key, data.directives) == ("\ufffd:1", ("x\ufffd",))
        assert found.evidence[0].content == HttpHeaders((("X\ufffd", "é\ufffd"),))
        assert found.evidence[0].metadata == {"\ufffd": "\ufffd", "n": 1}
        assert found.evidence[1].url == "\ufffd"
        assert about.decisions == (replace(decided, rule="Disallow: /\ufffd", evidence="\ufffd", parent="\ufffd"),)

    async def test_a_url_of_the_model_is_as_good_as_its_text(self, name: str) -> None:
        text, page = visit(1), visit(1).page
        assert page is not None
        data = replace(page.metadata, final_url=HOME, parent=HOME, canonical=HOME)
        proofs = tuple(replace(one, url=HOME) for one in text.evidence)
        async with self.open(name) as records:
            await records.write([Record(replace(page, url=HOME, metadata=data), proofs, (decision(HOME),))])

            found, decided = await records.find(HOME)

        assert found.evidence == text.evidence
        assert found.page is not None
        assert found.page.metadata == data
        assert decided.decisions == (decision(),)

    async def test_an_error_is_kept_in_all_three_places(self, name: str) -> None:
        """S1-23."""
        failed = visit(1, code=500, error="http_500: failed")
        async with self.open(name) as records:
            await records.write([failed])

            (found,) = await records.find(HOME)

        kinds = {one.kind for one in found.evidence}
        assert found.page is not None
        assert found.page.metadata.error == "http_500: failed"
        assert {"fetch_error", "http_response"} <= kinds

    async def test_a_visit_written_again_is_one_record(self, name: str) -> None:
        first, second = visit(1, code=500), visit(1, "http://other.org/")
        shorter = replace(second, evidence=second.evidence[:2])
        async with self.open(name) as records:
            await records.write([first, visit(2)])
            await records.write([shorter])

            assert await records.find(Url("http://other.org/")) == [shorter]
            assert await records.find(HOME) == [visit(2)]
            assert await pages_of(records) == [shorter.page, visit(2).page]

    async def test_of_a_visit_twice_in_one_batch_the_last_word_counts(self, name: str) -> None:
        async with self.open(name) as records:
            await records.write([visit(1, code=500), visit(2), visit(1)])

            assert await pages_of(records) == [visit(1).page, visit(2).page]
            assert await records.tally() == Tally({PageStatus.FETCHED: 2}, 20)

    async def test_a_batch_is_written_whole_or_not_at_all(self, name: str) -> None:
        """S1-35, S1-36: evidence goes in by the batch."""
        stray = replace(visit(3), evidence=visit(4).evidence)
        async with self.open(name) as records:
            await records.write([visit(1)])
            with pytest.raises(ValueError, match="evidence of another visit"):
                await records.write([visit(2), stray, Record(decisions=(decision(),))])

            assert await pages_of(records) == [visit(1).page]
            assert await records.find(HOME) == [visit(1)]
            assert await records.tally() == Tally({PageStatus.FETCHED: 1}, 10)

    async def test_evidence_without_a_page_and_twice_of_a_kind_is_refused(self, name: str) -> None:
        twice = visit(1)
        async with self.open(name) as records:
            with pytest.raises(ValueError, match="evidence of another visit"):
                await records.write([Record(evidence=twice.evidence)])
            with pytest.raises(ValueError, match="of one kind"):
                await records.write([replace(twice, evidence=(*twice.evidence, twice.evidence[0]))])

    async def test_a_url_is_found_where_it_was_asked_for_and_where_a_visit_ended(self, name: str) -> None:
        asked = visit(1, HOME, "http://example.org/b", at="2026-11-16T00:00:03.000Z")
        ended = visit(2, "http://example.org/c", HOME, at="2026-11-16T00:00:02.000Z")
        both = visit(3, HOME, at="2026-11-16T00:00:01.000Z")
        async with self.open(name) as records:
            await records.write([asked, ended, both, visit(4, "http://example.org/d")])

            assert await records.find(HOME) == [both, ended, asked]
            assert await records.find(Url("http://example.org/b")) == [asked]
            assert await records.find(Url("http://example.org/never")) == []

    async def test_a_decision_is_kept_once_and_told_with_its_url(self, name: str) -> None:
        """The same rule about the same URL is one decision, the first; another rule is another."""
        again, other, elsewhere = decision(at=9.0), decision(by="scope", at=0.5), decision("http://example.org/x")
        async with self.open(name) as records:
            await records.write([Record(decisions=(decision(), again, elsewhere)), visit(1)])
            await records.write([Record(decisions=(again, other))])

            assert await records.find(HOME) == [visit(1), Record(decisions=(other, decision()))]
            assert await records.find(Url(elsewhere.url)) == [Record(decisions=(elsewhere,))]

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (PageFilter(), [1, 2, 3, 4, 5]),
            (PageFilter(status=PageStatus.FAILED), [2, 3]),
            (PageFilter(reason="too_many_redirects"), [3]),
            (PageFilter(reason="no_such_reason"), []),
            (PageFilter(status_code=404), [2]),
            (PageFilter(status=PageStatus.FAILED, status_code=200), []),
            (PageFilter(site="example.org"), [1, 2]),
            (PageFilter(site="Example.ORG."), [1, 2]),
            (PageFilter(site="www.example.org"), [2]),
            (PageFilter(site="ample.org"), []),
            (PageFilter(site="127.0.0.1"), [3, 4]),
            (PageFilter(site="127.0.0.1:80"), [3]),
            (PageFilter(site="[::1]:81"), [5]),
            (PageFilter(site="[::1]"), [5]),
            (PageFilter(since=3.0), [3, 4, 5]),
            (PageFilter(since=1e300), []),
            (PageFilter(since=-1e300), [1, 2, 3, 4, 5]),
            (PageFilter(limit=2), [1, 2]),
            (PageFilter(limit=0), []),
            (PageFilter(limit=-1), []),
            (PageFilter(limit=1 << 70), [1, 2, 3, 4, 5]),
            (PageFilter(site="::1"), [5]),
            (PageFilter(site="[::1]:82"), []),
            (PageFilter(site="127.0.0.1:" + "8" * 5_000), []),
            (PageFilter(site="127.0.0.1:99999999999999999999"), []),
            (PageFilter(site=""), []),
            (PageFilter(site="."), []),
            (PageFilter(site="%.org"), []),
            (PageFilter(site="org"), [1, 2]),
            (PageFilter(site="\udcff.org"), []),
            (PageFilter(site="\x00.org"), []),
            (PageFilter(reason="\x00"), []),
            (PageFilter(reason="\ud800"), []),
            (PageFilter(status_code=1 << 70), []),
            (PageFilter(since=float("nan")), [1, 2, 3, 4, 5]),
            (PageFilter(since=float("inf")), []),
            (PageFilter(since=2.0, limit=2), [2, 3]),
        ],
    )
    async def test_pages_are_filtered_in_the_order_of_their_writing(
        self, name: str, wanted: PageFilter, found: list[int]
    ) -> None:
        """S0-18: by reason among others."""
        async with self.open(name) as records:
            await records.write([visit(1, "http://example.org/", at="1970-01-01T00:00:01.000Z")])
            await records.write(
                [
                    visit(2, "https://www.example.org/", code=404, at="1970-01-01T00:00:02.000Z"),
                    visit(3, "http://127.0.0.1/", code=500, reason="too_many_redirects", at="1970-01-01T00:00:03.000Z"),
                    visit(4, "http://127.0.0.1:8080/", at="1970-01-01T00:00:04.000Z"),
                    visit(5, "http://[::1]:81/x", at="1970-01-01T00:00:05.000Z"),
                ]
            )

            assert await ids(records, wanted) == found

    async def test_many_pages_come_in_batches_while_others_are_written(self, name: str) -> None:
        async with self.open(name) as records:
            for start in range(0, 2_500, 500):
                await records.write([replace(visit(n), evidence=()) for n in range(start, start + 500)])

            seen: list[str] = []
            sizes: list[int] = []
            async for batch in records.pages(PageFilter()):
                sizes.append(len(batch))
                seen += [page.fetch_id for page in batch]
                if len(sizes) == 1:
                    await records.write([visit(9_999)])

            assert len(sizes) > 1
            assert seen == [f"fetch-{n}" for n in range(2_500)]
            assert await ids(records, PageFilter(limit=1_001)) == list(range(1_001))

    async def test_the_tally_is_exact_also_after_a_replacement(self, name: str) -> None:
        async with self.open(name) as records:
            assert await records.tally() == Tally()
            await records.write([visit(1, wire_length=100), visit(2, code=404, wire_length=7), visit(3)])
            await records.write([visit(2, wire_length=1_000), visit(3), Record(decisions=(decision(),))])

            assert await records.tally() == Tally({PageStatus.FETCHED: 3}, 1_110)

    async def test_writers_at_once_lose_nothing(self, name: str) -> None:
        async with self.open(name) as one, self.open(name) as other:
            await asyncio.gather(
                *(one.write([visit(n), visit(n + 1)]) for n in range(0, 40, 2)),
                *(other.write([visit(n), visit(n + 1)]) for n in range(20, 60, 2)),
            )

            assert sorted(await ids(one, PageFilter())) == list(range(60))
            assert await other.tally() == Tally({PageStatus.FETCHED: 60}, 600)

    async def test_nothing_is_nothing(self, name: str) -> None:
        async with self.open(name) as records:
            await records.write([])
            await records.write([Record()])

            assert await pages_of(records) == []
            assert await records.tally() == Tally()
