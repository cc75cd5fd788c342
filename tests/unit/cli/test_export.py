"""`outrider export` says in one sentence what cannot be, and makes nothing then."""

import json
import os
import sys
from pathlib import Path

import pytest

from outrider.cli import main
from outrider.loop import run
from outrider.model.record import Record
from outrider.stores.records import open_records
from outrider.testing.contracts.records import decision, visit


@pytest.fixture(autouse=True)
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with records alone, and we are in it."""

    async def write() -> None:
        async with open_records(f"sqlite://{tmp_path}/crawl.db") as records:
            await records.write([visit(1), visit(2, "http://b.org/", code=404), Record(decisions=(decision(),))])

    run(write())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ledger",), "'ledger' is not one of"),
        (("pages", "nowhere"), "nowhere: there is no such directory"),
        (("pages", "empty"), "empty: no crawl is here"),
        (("pages", "crawl.db"), "is not a directory"),
        (("pages", "--format", "parquet"), "Parquet needs a file"),
        (("pages", "--spreadsheet", "-o", "x.parquet"), "--spreadsheet goes with CSV, not with parquet"),
        (("pages", "--contents", "warc:///x"), "--contents has nothing to do with them"),
        (("pages", "--records", "none:"), "keeps no records"),
        (("pages", "--records", "redis://127.0.0.1/"), "no store of records is named by redis:"),
        (("pages", "--reason", "too_many_redirect"), "did you mean too_many_redirects?"),
        (("pages", "--since", "yesterday"), "expected an age"),
        (("pages", "--limit", "0"), "--limit"),
        (("pages", "-o", "nowhere/x"), "there is no folder 'nowhere'"),
        (("links",), "archive: there is no archive here"),
        (("links", "--contents", "none:"), "keeps no answers"),
        (("links", "--contents", "warc:archive"), "expected warc:///path/to/archive"),
        (("links", "--records", "memory:"), "name the crawl's folder too, or --contents URL"),
        (("links", "elsewhere"), "the answers are at redis://:***@127.0.0.1/, and the password is not kept"),
        (("pages", "elsewhere"), "the records are at postgresql://u:***@127.0.0.1/x, and the password is not kept"),
        (("decisions", "--status", "failed"), "a decision has no status"),
        (("decisions", "--code", "404"), "a decision has no status"),
        (("cdxj",), "archive: there is no archive here"),
        (("cdxj", "--site", "a.org"), "it takes no filter"),
        (("cdxj", "--limit", "1"), "it takes no filter"),
        (("cdxj", "--format", "csv"), "cdxj is a format of its own"),
        (("cdxj", "--contents", "redis://127.0.0.1/"), "only an archive has an index"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(
    crawl: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    (crawl / "empty").mkdir()
    (crawl / "elsewhere").mkdir()
    (crawl / "elsewhere" / "outrider.toml").write_text(
        '# records = "postgresql://u:***@127.0.0.1/x"\n# contents = "redis://:***@127.0.0.1/"\n'
        if "pages" in arguments
        else 'records = "memory:"\n# contents = "redis://:***@127.0.0.1/"\n'
    )
    before = names(crawl)

    code = main(["export", *arguments])

    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert said in err
    assert names(crawl) == before


def test_rows_go_to_standard_output_and_nothing_else_does(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    code = main(["export", "decisions"])

    out, err = capfdbinary.readouterr()
    assert (code, err) == (0, b"")
    (row,) = map(json.loads, out.splitlines())
    assert (row["url"], row["by"], row["reason"]) == ("http://example.org/", "robots", "robots_disallowed")


def test_a_limit_counts_rows(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    main(["export", "evidence", "--limit", "2", "--site", "b.org"])

    out, _ = capfdbinary.readouterr()
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["url"], row["kind"]) for row in rows] == [
        ("http://b.org/", "robots_check"),
        ("http://b.org/", "redirect_chain"),
    ]
    assert rows[0]["content"]["rule"] == "Allow: /"


def test_parquet_is_written_to_a_file_and_how_many_is_said(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")

    code = main(["export", "evidence", "-o", "facts.parquet"])

    rows = parquet.read_table(crawl / "facts.parquet").to_pylist()
    assert (code, capsys.readouterr().err) == (0, "12 evidence written\n")
    assert [json.loads(row["content"])["kind"] for row in rows] == [row["kind"] for row in rows]
    assert rows[0]["metadata"] == '{"n":1,"ok":true}'


def test_nothing_that_matches_is_no_failure(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["export", "redirects", "--site", "nowhere.org", "-o", "r.csv"])

    assert (code, capsys.readouterr().err) == (0, "there are no redirects that match\n")
    assert (crawl / "r.csv").read_text().startswith("url,hop,hops,from,to,statusCode")


def test_without_pyarrow_it_is_said_what_to_install(
    crawl: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (crawl / "p.parquet").write_text("what was there")

    code = main(["export", "pages", "-o", "p.parquet"])

    assert code == 3
    assert capsys.readouterr().err == "outrider: Parquet needs pyarrow; pip install 'outrider[parquet]'\n"
    assert (crawl / "p.parquet").read_text() == "what was there"
    assert names(crawl) == ["crawl.db", "p.parquet"]


def test_pages_whose_answers_are_gone_are_counted(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (crawl / "archive").mkdir()

    code = main(["export", "links", "--status", "fetched", "-o", "l.csv"])

    assert code == 0
    assert "the answers of 1 pages are gone" in capsys.readouterr().err
    assert not (crawl / "indexes").exists()


def names(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if not name.startswith("crawl.db-"))  # noqa: PTH208 - names alone
