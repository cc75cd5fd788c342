"""What a crawl exports is what the web was: every link and every redirect of a world, and an index that finds them."""

import asyncio
import csv
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Struct, json
from tests.e2e.crawls import PATIENCE, Left, ended, farm
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]  # it ships no types

from outrider.cli import main
from outrider.cli.exit_codes import ExitCode
from outrider.model.record import Page, PageStatus
from outrider.model.url import Url
from outrider.testing.webfarm.kinds import Place
from outrider.testing.webfarm.world import World
from outrider.testing.webfarm.world_nodes import AtFirst, Link, Listing, Node, Redirect, Spelling, Spot
from outrider.testing.webfarm.world_nodes import Page as WorldPage

WORLD = World(7, sites=12, pages=50, hostile_share=0.0, seeds=12)
SETTLED = 10
Edge = tuple[str, str, str, bool]


class Crawled(Struct, frozen=True):
    """A crawl that is over, and what was exported while it ran: evidence and index."""

    folder: Path
    place: Place
    left: Left
    early: tuple[bytes, bytes]

    def rows(self, what: str, *options: str) -> list[dict[str, Any]]:
        """Exported by the command, in this process."""
        file = self.folder.parent / f"{what}.jsonl"
        assert main(["export", what, str(self.folder), "-o", str(file), *options]) == ExitCode.OK
        return [json.decode(line) for line in file.read_bytes().splitlines()]

    def node(self, url: str) -> Node | None:
        known = Url(url)
        site = WORLD.site(known.host)
        assert site is not None
        node = site.node(known.target)
        return node.then if isinstance(node, AtFirst) else node

    def url(self, spot: Spot) -> str:
        return str(Url(self.place.url(spot.host, spot.target)))


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return asyncio.run(_crawl(tmp_path_factory.mktemp("exported")))


async def _crawl(folder: Path) -> Crawled:
    async with farm(WORLD, folder) as web:
        crawl = web.crawl()
        process = await crawl.start()
        reading = asyncio.create_task(ended(process))
        await _has_settled(crawl.directory, SETTLED, process)
        early = await _exported("evidence", crawl.directory), await _exported("cdxj", crawl.directory)
        end = await reading
        assert end.code == ExitCode.OK, end.errors
        return Crawled(crawl.directory, web.served.place, await crawl.left(), early)


async def _has_settled(home: Path, pages: int, process: Process) -> None:
    """Until so many answers are in an index."""
    async with asyncio.timeout(PATIENCE):
        while _listed(home) < pages:
            assert process.returncode is None
            await asyncio.sleep(0.02)


def _listed(home: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in home.glob("indexes/*.cdxj"))


async def _exported(what: str, home: Path) -> bytes:
    command = (sys.executable, "-m", "outrider", "export", what, str(home))
    process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    out, errors = await process.communicate()
    assert (process.returncode, errors) == (ExitCode.OK, b"")
    return out


def test_the_links_are_those_of_the_world(crawled: Crawled) -> None:
    """Of every page and listing that was fetched, in whatever encoding and spelling it was served."""
    rows = crawled.rows("links")

    found = [(row["source"], row["target"], row["kind"], row["nofollow"]) for row in rows]
    read = [row for row in found if row[2] != "redirect"]
    expected = {edge for page in _fetched(crawled) for edge in _edges(crawled, page)}
    assert set(read) == expected
    assert {kind for _, _, kind, _ in read} == {"link", "canonical", "feed", "sitemap_entry", "feed_entry"}
    assert any(nofollow for *_, nofollow in read)
    assert len({(row["fetchId"], *edge) for row, edge in zip(rows, found, strict=True)}) == len(rows)


def test_the_redirects_are_those_of_the_world(crawled: Crawled) -> None:
    rows = crawled.rows("redirects")
    edges = {(row["source"], row["target"]) for row in crawled.rows("links") if row["kind"] == "redirect"}

    visited = {page.url: page for page in crawled.left.pages}
    assert rows
    for row in rows:
        node = crawled.node(row["from"])
        assert isinstance(node, Redirect)
        assert row["statusCode"] == node.code
        if node.to is not None:
            assert row["to"] == crawled.url(node.to)
        if row["to"] is not None:
            assert (row["from"], row["to"]) in edges
        assert (row["finalUrl"], row["finalStatus"], row["result"]) == _end(visited, row["url"])
    assert {row["result"] for row in rows} >= {"fetched", "failed"}
    assert {row["followed"] for row in rows} == {True, False}
    assert max(row["hops"] for row in rows) > 1


def test_evidence_and_decisions_are_those_on_record(crawled: Crawled) -> None:
    evidence, decisions = crawled.rows("evidence"), crawled.rows("decisions")
    pages = {page.fetch_id for page in crawled.left.pages}

    assert {row["fetchId"] for row in evidence} == pages
    assert {row["kind"] for row in evidence} >= {"http_response", "redirect_chain", "fetch_timing", "fetch_error"}
    refused = {(event["url"], event["reason"]) for event in crawled.left.told("url_refused")}
    assert {(row["url"], row["reason"]) for row in decisions} == refused
    assert refused


def test_pages_are_exported_as_they_are_listed(crawled: Crawled) -> None:
    rows = crawled.rows("pages", "--status", "fetched")

    assert [row["fetchId"] for row in rows] == [page.fetch_id for page in _fetched(crawled)]


def test_each_line_of_the_index_points_at_its_record(crawled: Crawled, tmp_path: Path) -> None:
    """By warcio, which opens the file at that place and finds the answer of that URL."""
    file = tmp_path / "all.cdxj"

    assert main(["export", "cdxj", str(crawled.folder), "-o", str(file)]) == ExitCode.OK

    lines = file.read_bytes().splitlines(keepends=True)
    parts = [path.read_bytes().splitlines(keepends=True) for path in (crawled.folder / "indexes").glob("*.cdxj")]
    assert lines == sorted({line for part in parts for line in part})
    for line in lines:
        _, stamp, value = line.decode().split(" ", 2)
        said = SimpleNamespace(**json.decode(value))
        with (crawled.folder / "archive" / said.filename).open("rb") as archive:
            archive.seek(int(said.offset))
            record = next(iter(ArchiveIterator(archive, no_record_parse=True)))
            assert record.rec_headers.get_header("WARC-Target-URI") == said.url
            moment = record.rec_headers.get_header("WARC-Date")
            assert "".join(filter(str.isdigit, moment))[:14] == stamp


def test_what_was_exported_while_it_ran_is_part_of_the_whole(crawled: Crawled) -> None:
    evidence, index = (early.splitlines() for early in crawled.early)

    whole = {row["fetchId"] for row in crawled.rows("evidence")}
    assert len(index) >= SETTLED
    assert index == sorted(index)
    seen = {json.decode(line)["fetchId"] for line in evidence}
    assert len(seen) >= SETTLED
    assert seen <= whole


def test_a_spreadsheet_gets_the_same_links(crawled: Crawled, tmp_path: Path) -> None:
    file = tmp_path / "links.csv"

    assert main(["export", "links", str(crawled.folder), "--spreadsheet", "-o", str(file)]) == ExitCode.OK

    with file.open(encoding="utf-8", newline="") as text:
        rows = [(row["source"], row["target"], row["kind"]) for row in csv.DictReader(text)]
    assert rows == [(row["source"], row["target"], row["kind"]) for row in crawled.rows("links")]


def _fetched(crawled: Crawled) -> Sequence[Page]:
    return [page for page in crawled.left.pages if page.metadata.status is PageStatus.FETCHED]


def _edges(crawled: Crawled, page: Page) -> Iterator[Edge]:
    """By the description of the world."""
    source = page.metadata.final_url
    match crawled.node(source):
        case WorldPage() as node:
            plain = {_target(crawled, source, link) for link in node.links if not link.nofollow}
            yield from ((source, target, "link", False) for target in plain)
            shy = {_target(crawled, source, link) for link in node.links if link.nofollow}
            yield from ((source, target, "link", True) for target in shy - plain)
            if node.canonical:
                yield source, source, "canonical", False
            if node.feed is not None:
                yield source, crawled.url(Spot(Url(source).host, node.feed)), "feed", False
        case Listing(kind, entries):
            name = "feed_entry" if kind == "rss" else "sitemap_entry"
            yield from ((source, crawled.url(spot), name, False) for spot in entries)
        case other:
            raise AssertionError(f"{source} was fetched, and is {other}")


def _target(crawled: Crawled, source: str, link: Link) -> str:
    """A link that names no host stays on that of its page, whichever of its two a site was asked by."""
    is_far = link.spelling in {Spelling.ABSOLUTE, Spelling.SCHEMELESS}
    return crawled.url(link.to if is_far else Spot(Url(source).host, link.to.target))


def _end(visited: dict[str, Page], url: str) -> tuple[str, int | None, str]:
    """Where the visits of the chain that begins here end, one site after the other."""
    page = visited[url]
    while page.metadata.status is PageStatus.MOVED and page.metadata.final_url in visited:
        page = visited[page.metadata.final_url]
    moved = page.metadata.status is PageStatus.MOVED
    return page.metadata.final_url, None if moved else page.status_code or None, page.metadata.status.value
