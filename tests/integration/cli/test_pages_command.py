"""`outrider pages` as people run it: a process of its own, over a real file."""

import csv
import io
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from outrider.model.codec import to_json
from outrider.model.record import Record
from outrider.ports import FrontierRules
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier
from outrider.testing.contracts.records import decision, visit

Run = Callable[..., Awaitable[tuple[int, str, str]]]


def looping() -> Record:
    return visit(2, "http://a.org/" + "x" * 200, code=404, reason="too_many_redirects", title="\x1b[2J")


@pytest.fixture(autouse=True)
async def crawl(tmp_path: Path) -> None:
    async with open_records(f"sqlite://{tmp_path}/crawl.db") as records:
        loop = looping()
        await records.write([visit(1), loop, Record(decisions=(decision(),))])


async def test_a_table_fits_eighty_columns(outrider: Run) -> None:
    code, out, err = await outrider("pages")

    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "…" in out


async def test_pages_are_filtered_by_reason_and_written_with_the_names_of_s1(outrider: Run) -> None:
    """S0-18, S1-15, S1-16."""
    _, lines, _ = await outrider("pages", "--reason", "too_many_redirects", "--format", "jsonl")
    _, cells, _ = await outrider("pages", "--status", "fetched", "--format", "csv")

    assert lines.encode() == to_json(looping().page) + b"\n"
    (row,) = csv.DictReader(io.StringIO(cells))
    assert (row["fetchId"], row["statusCode"], row["robotsBlocked"]) == ("fetch-1", "200", "false")


async def test_all_that_is_known_of_a_url_is_shown(outrider: Run) -> None:
    _, out, _ = await outrider("pages", "--url", "http://example.org/", "--format", "jsonl")

    page, decided = map(json.loads, out.strip().split("\n"))
    assert (page["page"]["fetchId"], len(page["evidence"])) == ("fetch-1", 6)
    assert decided["decisions"][0]["by"] == "robots"


@pytest.mark.parametrize(
    "arguments",
    [
        ("nowhere",),
        ("--status", "lost"),
        ("--reason", "too_many_redirect"),
        ("--since", "yesterday"),
        ("--limit", "0"),
        ("--store", "sqlite:none.db"),
        (".", "--store", "memory:"),
        ("--url", "http://example.org/", "--code", "200"),
    ],
)
async def test_a_wrong_input_is_one_sentence_and_makes_nothing(
    outrider: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    code, out, err = await outrider("pages", *arguments)

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert os.listdir(tmp_path) == ["crawl.db"]  # noqa: PTH208 - names alone


@pytest.mark.parametrize("records_first", [True, False])
async def test_records_and_a_frontier_share_a_file(tmp_path: Path, *, records_first: bool) -> None:
    url = f"sqlite://{tmp_path}/shared.db"
    if records_first:
        async with open_records(url):
            pass
    async with open_frontier(url, FrontierRules()):
        pass

    async with open_records(url) as records, open_frontier(url, FrontierRules()) as frontier:
        await records.write([visit(1)])
        assert (await frontier.census()).discovered == 0
