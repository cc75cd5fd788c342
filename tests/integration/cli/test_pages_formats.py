"""What `outrider pages` writes is what was put on record, in every format; and what it is asked wrongly, it says."""

import asyncio
import csv
import io
import json
import os
import sys
from asyncio.subprocess import PIPE
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.integration.cli.conftest import Run

from outrider.model.record import Page, PageMetadata, PageStatus, Record
from outrider.ports import FrontierRules
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier
from outrider.testing.contracts.records import decision, visit

AWKWARD = 'a "quoted", title;\r\nwith\nlines\tand\x00\x1b[2J ä 日本 =1+1'
S1_15 = ("scanId", "url", "statusCode", "loadTime")
S1_16 = (
    *("status", "finalUrl", "contentType", "contentLength", "redirectCount", "robotsBlocked", "confidence"),
    *("skipContentExtraction", "fetchedAt", "error"),
)
BLOCKED = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError("No module named 'pyarrow'", name=name)
sys.meta_path.insert(0, Missing())
from outrider.cli import main
sys.exit(main())
"""


def seconds(n: int) -> str:
    return f"1970-01-01T00:00:{n:02}.000Z"


def crawled() -> list[Record]:
    return [
        visit(1, "http://example.org/", title=AWKWARD, directives=("noindex", "nofollow"), at=seconds(1)),
        visit(2, "http://www.example.org/a?b=c,d", code=404, error='http_404: "gone"', at=seconds(2)),
        visit(3, "http://notexample.org/", code=301, reason="too_many_redirects", at=seconds(3)),
        visit(4, "http://127.0.0.1:8080/", code=0, status=PageStatus.FAILED, reason="connect_refused", at=seconds(4)),
        visit(
            5,
            "http://127.0.0.1:8081/",
            code=0,
            status=PageStatus.SKIPPED,
            reason="robots_disallowed",
            robots_blocked=True,
            content_type=None,
            at=seconds(5),
        ),
        Record(decisions=(decision(),)),
    ]


@pytest.fixture(autouse=True)
async def crawl(tmp_path: Path) -> None:
    async with open_records(f"sqlite://{tmp_path}/crawl.db") as records:
        await records.write(crawled())


def flat(page: dict[str, Any]) -> dict[str, Any]:
    data = page.pop("metadata")
    return {**page, **data}


async def as_json(outrider: Run, *arguments: str) -> list[dict[str, Any]]:
    code, out, err = await outrider("pages", "--format", "jsonl", *arguments)
    assert (code, err) == (0, "")
    return [flat(json.loads(line)) for line in out.strip().split("\n")]


async def test_json_lines_name_every_field_of_a_page(outrider: Run) -> None:
    """S1-15, S1-16: scan, asked URL, final status, milliseconds; and all of the metadata, null where there is none."""
    rows = await as_json(outrider)

    assert {*S1_15, *S1_16} <= set(rows[0])
    names = {*Page.__struct_encode_fields__[:-1], *PageMetadata.__struct_encode_fields__}
    assert [set(row) for row in rows] == [names] * 5
    assert {name: rows[0][name] for name in S1_15} == {
        "scanId": "scan",
        "url": "http://example.org/",
        "statusCode": 200,
        "loadTime": 12,
    }
    assert rows[0]["title"] == AWKWARD
    assert (rows[0]["error"], rows[1]["error"]) == (None, 'http_404: "gone"')
    assert (rows[4]["robotsBlocked"], rows[4]["contentType"], rows[4]["status"]) == (True, None, "skipped")


async def test_csv_is_read_back_as_it_was(outrider: Run, tmp_path: Path) -> None:
    expected = await as_json(outrider)

    code, _, err = await outrider("pages", "--output", "pages.csv")

    rows = list(csv.DictReader(io.StringIO(text(tmp_path / "pages.csv"), newline="")))
    assert (code, err) == (0, "")
    assert rows == [{name: cell(value) for name, value in row.items()} for row in expected]


def cell(value: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(value)
        case _:
            return str(value)


async def test_parquet_holds_what_the_json_lines_hold(outrider: Run, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    expected = await as_json(outrider)

    code, out, err = await outrider("pages", "--output", "pages.parquet")

    table = parquet.read_table(tmp_path / "pages.parquet")
    rows = table.to_pylist()
    assert (code, out, err) == (0, "", "")
    assert table.column_names == [*Page.__struct_encode_fields__[:-1], *PageMetadata.__struct_encode_fields__]
    assert rows == [{**row, "fetchedAt": datetime.fromisoformat(row["fetchedAt"])} for row in expected]


async def test_parquet_goes_through_a_pipe(outrider: Run, tmp_path: Path, environment: dict[str, str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "outrider", "pages", "--format", "parquet"),
        *("--reason", "too_many_redirects"),
        stdout=PIPE,
        cwd=tmp_path,
        env=environment,
    )
    out, _ = await process.communicate()

    (row,) = parquet.read_table(io.BytesIO(out)).to_pylist()
    (expected,) = await as_json(outrider, "--reason", "too_many_redirects")
    assert row["url"] == expected["url"]


@pytest.mark.parametrize(("form", "lines"), [("jsonl", 0), ("csv", 1), ("table", 0), ("parquet", None)])
async def test_no_pages_are_an_empty_output_and_a_word(
    outrider: Run, tmp_path: Path, form: str, lines: int | None
) -> None:
    code, out, err = await outrider("pages", "--site", "nowhere.org", "--format", form, "--output", "none")

    assert (code, out, err) == (0, "", "no pages on record that match\n")
    if lines is None:
        parquet = pytest.importorskip("pyarrow.parquet")
        assert parquet.read_table(tmp_path / "none").num_rows == 0
    else:
        assert text(tmp_path / "none").count("\n") == lines


async def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, environment: dict[str, str]) -> None:
    keep(tmp_path / "pages.parquet")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-c", BLOCKED, "pages", "--output", "pages.parquet"),
        stdout=PIPE,
        stderr=PIPE,
        cwd=tmp_path,
        env=environment,
    )
    out, err = await process.communicate()

    assert (process.returncode, out) == (3, b"")
    assert err.decode() == "outrider: Parquet needs pyarrow; pip install 'outrider[parquet]'\n"
    assert names(tmp_path) == ["crawl.db", "pages.parquet"]
    assert text(tmp_path / "pages.parquet") == "what was there"


async def test_everything_else_works_without_pyarrow(tmp_path: Path, environment: dict[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-c", BLOCKED, "pages", "--format", "csv"),
        stdout=PIPE,
        stderr=PIPE,
        cwd=tmp_path,
        env=environment,
    )
    out, err = await process.communicate()

    assert (process.returncode, err) == (0, b"")
    assert len(list(csv.reader(io.StringIO(out.decode(), newline="")))) == 6


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("--site", "example.org"), [1, 2]),
        (("--site", "www.example.org"), [2]),
        (("--site", "WWW.Example.ORG."), [2]),
        (("--site", "127.0.0.1"), [4, 5]),
        (("--site", "127.0.0.1:8081"), [5]),
        (("--reason", "http_404"), [2]),
        (("--code", "404"), [2]),
        (("--code", "0"), [4, 5]),
        (("--status", "skipped"), [5]),
        (("--status", "failed", "--code", "0"), [4]),
        (("--since", "1970-01-01T00:00:03"), [3, 4, 5]),
        (("--since", "1970-01-01T01:00:03+01:00"), [3, 4, 5]),
        (("--since", "999999999w"), [1, 2, 3, 4, 5]),
        (("--text", "www."), [2]),
        (("--limit", "2"), [1, 2]),
        (("--limit", "9" * 30), [1, 2, 3, 4, 5]),
        (("--since", "1970-01-01T00:00:02", "--limit", "1"), [2]),
    ],
)
async def test_pages_are_found_by_what_they_are(outrider: Run, arguments: tuple[str, ...], found: list[int]) -> None:
    rows = await as_json(outrider, *arguments)

    assert [int(row["fetchId"].removeprefix("fetch-")) for row in rows] == found


@pytest.mark.parametrize("reason", ["too_many_redirects", "robots_disallowed", "connect_refused"])
async def test_operators_filter_by_the_reason_that_was_stored(outrider: Run, reason: str) -> None:
    """S0-18."""
    rows = await as_json(outrider, "--reason", reason)

    assert [row["reason"] for row in rows] == [reason]


async def test_one_url_is_told_with_all_its_evidence(outrider: Run) -> None:
    """By its kind, headers with their repetitions."""
    code, out, err = await outrider("pages", "--url", "HTTP://Example.org", "--format", "jsonl")

    page, decided = map(json.loads, out.strip().split("\n"))
    by_kind = {one["content"]["kind"]: one["content"] for one in page["evidence"]}
    assert (code, err) == (0, "")
    assert list(by_kind) == [
        *("robots_check", "redirect_chain", "http_response", "http_headers", "fetch_timing", "fetch_error")
    ]
    assert by_kind["http_headers"]["headers"][:2] == [["Set-Cookie", "a=1"], ["set-cookie", "b=2"]]
    assert by_kind["redirect_chain"]["steps"][0]["statusCode"] == 301
    assert decided["decisions"][0]["rule"] == "Disallow: /"


async def test_the_story_of_a_url_does_not_steer_the_terminal(outrider: Run) -> None:
    code, out, _ = await outrider("pages", "--url", "http://example.org/")

    assert code == 0
    assert "\x1b" not in out
    assert r"\x1b[2J" in out
    assert "robots_disallowed, by robots" in out


async def test_a_url_that_is_not_on_record_is_no_failure(outrider: Run) -> None:
    code, out, err = await outrider("pages", "--url", "http://example.org/never")

    assert (code, out, err) == (0, "", "nothing is on record about http://example.org/never\n")


NOT_UTF8 = os.fsdecode(b"\xff")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("empty",), "empty/crawl.db: there is no such file; name the folder of a crawl, or a --store"),
        ((NOT_UTF8,), "its name is not UTF-8"),
        (("frontier",), "there are no records in this file"),
        (("foreign",), "the file is not a SQLite database"),
        (("--limit", "0"), "--limit"),
        (("--limit", "-1"), "--limit"),
        (("--limit", "all"), "--limit"),
        (("--code", "1000"), "--code"),
        (("--since", "2026-13-01"), "expected an age such as 12h or 7d, or a date such as 2026-11-16"),
        (("--since", "12y"), "expected an age"),
        (("--url", "gopher://example.org/"), "gopher"),
        (("--url", f"http://example.org/{NOT_UTF8}"), "cannot be parsed as a URL"),
        (("--url", "http://example.org/", "--format", "csv"), "--url goes with --format table or jsonl"),
        (("--output", "nowhere/pages.csv"), "there is no folder 'nowhere'"),
        (("--output", "empty"), "that is a folder; name a file in it"),
        (("--output", "n" * 300), "File name too long"),
        (("--output", "astray"), "there is no folder"),
        (("--store", "redis://127.0.0.1/"), "no store of records is named by redis:"),
        (("--store", f"sqlite:{NOT_UTF8}.db"), "there is no such file"),
    ],
)
async def test_what_cannot_be_is_said_in_one_sentence(
    outrider: Run, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    prepare(tmp_path)
    async with open_frontier(f"sqlite://{tmp_path}/frontier/crawl.db", FrontierRules()):
        pass
    before = names(tmp_path)

    code, out, err = await outrider("pages", *arguments)

    assert code in {2, 6}, err
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("outrider: ")
    assert said in err
    assert names(tmp_path) == before


async def test_a_site_that_is_no_name_is_on_no_page(outrider: Run) -> None:
    for site in (NOT_UTF8, "127.0.0.1:99999999999999999999", "%", "'; --"):
        code, out, err = await outrider("pages", "--site", site)

        assert (code, out, err) == (0, "", "no pages on record that match\n")


async def test_a_folder_may_have_any_name(outrider: Run, tmp_path: Path) -> None:
    for name in ("with space", "a?b#c%20d", "日本"):
        (tmp_path / "crawl.db").rename(make(tmp_path / name) / "crawl.db")

        code, out, err = await outrider("pages", name, "--format", "jsonl")

        (tmp_path / name / "crawl.db").rename(tmp_path / "crawl.db")
        assert (code, out.count("\n"), err) == (0, 5, "")


def prepare(folder: Path) -> None:
    for name in ("empty", "frontier", "foreign", NOT_UTF8):
        (folder / name).mkdir()
    (folder / NOT_UTF8 / "crawl.db").touch()
    (folder / "foreign" / "crawl.db").write_text("not a database\n" * 100)
    (folder / "astray").symlink_to(folder / "nowhere" / "pages.csv")


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder


def keep(path: Path) -> None:
    path.write_text("what was there")


def text(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        return file.read()


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
