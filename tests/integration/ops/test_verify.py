"""`outrider verify` finds what is spoilt, each kind by its own name, and nothing where nothing is."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.crawls import farm
from tests.integration.ops import verify_damage as damage

from outrider.cli import main
from outrider.cli.exit_codes import ExitCode
from outrider.ops.verify import Check
from outrider.testing.webfarm.world import World

WORLD = World(3, sites=3, pages=40, hostile_share=0.0, seeds=3)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One real crawl, of which every test spoils a copy."""
    folder = tmp_path_factory.mktemp("verify")

    async def crawl() -> Path:
        async with farm(WORLD, folder) as web:
            crawl = web.crawl(workers=1, delay=0.02)
            ended = await crawl.run()
        assert ended.code == ExitCode.OK, ended.errors
        return crawl.directory

    return asyncio.run(crawl())


@pytest.fixture
def home(crawled: Path, tmp_path: Path) -> Path:
    return shutil.copytree(crawled, tmp_path / "crawl")


@pytest.fixture
def verified(capsys: pytest.CaptureFixture[str]) -> Callable[[Path], tuple[int, dict[str, Any]]]:
    def verify(home: Path) -> tuple[int, dict[str, Any]]:
        code = main(["verify", str(home), "--json"])
        said = capsys.readouterr()
        assert said.err == ""
        return code, json.loads(said.out)

    return verify


Verified = Callable[[Path], tuple[int, dict[str, Any]]]


def violated(report: dict[str, Any]) -> set[str]:
    return {check["name"] for check in report["checks"] if check["violations"]}


def test_a_real_crawl_is_sound(home: Path, verified: Verified) -> None:
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}

    code, report = verified(home)

    assert (code, report["sound"], report["running"]) == (ExitCode.OK, True, False)
    assert (violated(report), report["notes"], report["skipped"]) == (set(), [], [])
    checked = {check["name"]: check["checked"] for check in report["checks"]}
    assert list(checked) == [check.value for check in Check]
    assert min(checked.values()) > 0
    assert checked["content_hashes"] >= 40
    assert checked["index_lines"] == checked["listed"] == checked["recorded"] == checked["pages"]
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before


C = Check


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (damage.flip_a_byte_of_a_body, {C.WARC_RECORDS, C.INDEX_LINES, C.PAGES}),
        (damage.cut_a_file, {C.WARC_RECORDS, C.INDEX_LINES, C.PAGES}),
        (damage.cut_the_last_record, {C.WARC_RECORDS, C.INDEX_LINES, C.PAGES}),
        (damage.take_a_file_away, {C.INDEX_LINES, C.PAGES}),
        (damage.remove_an_index_line, {C.LISTED}),
        (damage.remove_an_index, {C.LISTED}),
        (damage.duplicate_an_index_line, {C.LISTED}),
        (damage.swap_two_index_lines, {C.INDEX_LINES}),
        (damage.point_an_index_line_elsewhere, {C.INDEX_LINES, C.LISTED}),
        (damage.doctor_the_status_of_an_index_line, {C.INDEX_LINES}),
        (damage.damage_an_index_line, {C.INDEX_LINES, C.LISTED}),
        (damage.add_an_index_without_a_file, {C.INDEX_LINES}),
        (damage.give_a_page_another_hash, {C.CONTENTS, C.TOLD}),
        (damage.give_a_page_another_length, {C.CONTENTS, C.TOLD}),
        (damage.give_a_page_another_status, {C.PAGES, C.TOLD}),
        (damage.give_a_page_another_url, {C.PAGES, C.TOLD}),
        (damage.give_a_page_the_answer_of_another, {C.PAGES, C.TOLD}),
        (damage.give_a_page_a_key_that_is_none, {C.PAGES, C.TOLD}),
        (damage.take_a_page_its_key, {C.PAGES, C.TOLD}),
        (damage.remove_a_page, {C.RECORDED, C.EVENTS, C.TALLY, C.LEDGER}),
        (damage.miscount_the_ledger, {C.LEDGER}),
        (damage.archive_a_stranger, {C.RECORDED}),
        (damage.archive_a_body_that_is_not_its_digest, {C.RECORDED, C.PAYLOADS}),
        (damage.archive_an_answer_with_the_metadata_of_another, {C.RECORDED, C.CAPTURES}),
        (damage.remove_an_event, {C.TOLD}),
        (damage.doctor_the_hash_of_an_event, {C.TOLD}),
        (damage.tell_of_a_page_that_never_was, {C.EVENTS}),
        (damage.damage_an_event, {C.EVENT_LINES, C.TOLD}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_what_is_spoilt_is_found_and_named(
    home: Path, verified: Verified, spoil: Callable[[Path], None], found: set[Check]
) -> None:
    spoil(home)

    code, report = verified(home)

    assert (code, report["sound"]) == (ExitCode.VIOLATIONS, False)
    assert violated(report) == found
    for check in report["checks"]:
        assert len(check["examples"]) == min(check["violations"], 10)


@pytest.mark.parametrize(
    ("spoil", "note"),
    [(damage.tell_of_a_page_twice, "told_twice"), (damage.leave_an_event_half_written, "torn_ends")],
)
def test_what_a_kill_may_leave_is_counted_and_no_violation(
    home: Path, verified: Verified, spoil: Callable[[Path], None], note: str
) -> None:
    spoil(home)

    code, report = verified(home)

    assert code == ExitCode.OK
    assert [(one["name"], one["count"]) for one in report["notes"]] == [(note, 1)]


def test_what_a_killed_crawl_did_not_settle_is_no_violation(home: Path, verified: Verified) -> None:
    damage.leave_it_as_killed(home)

    code, report = verified(home)

    assert (code, violated(report)) == (ExitCode.OK, set())
    assert [(one["name"], one["count"]) for one in report["notes"]] == [("unsettled", 1), ("torn_ends", 1)]


@pytest.mark.parametrize("records", [0.5, 1, 1.5, 2, 2.9])
def test_a_file_may_end_anywhere_while_it_is_open(home: Path, verified: Verified, records: float) -> None:
    damage.leave_a_capture_half_written(home, records)

    code, report = verified(home)

    assert (code, violated(report)) == (ExitCode.OK, set())
    assert [(one["name"], one["count"]) for one in report["notes"]] == [("torn_ends", 1)]


def test_a_file_may_have_just_begun(home: Path, verified: Verified) -> None:
    damage.leave_a_file_just_begun(home)

    code, report = verified(home)

    assert (code, violated(report)) == (ExitCode.OK, set())
    assert [(one["name"], one["count"]) for one in report["notes"]] == [("torn_ends", 1)]


def test_what_was_settled_before_a_kill_must_be_there(home: Path, verified: Verified) -> None:
    damage.leave_it_as_killed(home)
    damage.flip_a_byte_of_a_body(home)

    code, report = verified(home)

    assert (code, violated(report)) == (ExitCode.VIOLATIONS, {C.WARC_RECORDS, C.INDEX_LINES, C.PAGES})


def test_damage_costs_only_itself(home: Path, verified: Verified) -> None:
    """What lies behind a damaged record is read all the same."""
    _, before = verified(home)
    damage.flip_a_byte_of_a_body(home)

    _, after = verified(home)

    captures = {check["name"]: check["checked"] for check in before["checks"]}["captures"]
    assert {check["name"]: check["checked"] for check in after["checks"]}["captures"] == captures - 1
    assert sum(check["violations"] for check in after["checks"] if check["name"] == "pages") == 1


def test_a_person_is_told_in_eighty_columns(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    damage.remove_an_index(home)
    damage.tell_of_a_page_twice(home)

    code = main(["verify", str(home)])

    said = capsys.readouterr().out
    lines = said.splitlines()
    assert code == ExitCode.VIOLATIONS
    assert max(map(len, lines)) <= 80
    assert "… and" in said
    assert "told_twice: 1 events of visits" in said
    assert lines[-1].startswith("not sound: ")


def test_what_is_kept_elsewhere_is_left_out(home: Path, verified: Verified) -> None:
    settings = home / "outrider.toml"
    text = settings.read_text()
    text = text.replace("# contents = none", '# contents = "redis://:***@store/0"')
    settings.write_text(text.replace("# events = none", 'events = "kafka://store"'))

    code, report = verified(home)

    assert code == ExitCode.OK
    assert [check["name"] for check in report["checks"]] == ["tally", "ledger"]
    assert len(report["skipped"]) == 2


def _nothing(folder: Path) -> None:
    folder.rmdir()


def _a_file(folder: Path) -> None:
    folder.rmdir()
    folder.write_text("no folder")


def _empty(folder: Path) -> None:
    assert folder.is_dir()


def _no_crawl(folder: Path) -> None:
    (folder / "notes.txt").write_text("no crawl")


def _no_database(folder: Path) -> None:
    (folder / "outrider.toml").write_text("")


def _no_frontier(folder: Path) -> None:
    (folder / "crawl.db").write_text("not a database at all, whatever its name may say")


def _records_elsewhere(folder: Path) -> None:
    (folder / "outrider.toml").write_text('# records = "postgresql://me:***@store/crawl"\n')


@pytest.mark.parametrize(
    ("make", "code", "sentence"),
    [
        (_nothing, ExitCode.USAGE, "there is no such directory"),
        (_a_file, ExitCode.USAGE, "is not a directory"),
        (_empty, ExitCode.USAGE, "no crawl is here"),
        (_no_crawl, ExitCode.USAGE, "no crawl is here"),
        (_no_database, ExitCode.USAGE, "there is no such file"),
        (_no_frontier, ExitCode.STORE, "not a SQLite database"),
        (_records_elsewhere, ExitCode.USAGE, "name them with --store"),
    ],
)
def test_a_wrong_input_is_one_sentence(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    make: Callable[[Path], None],
    code: ExitCode,
    sentence: str,
) -> None:
    folder = tmp_path / "crawl"
    folder.mkdir()
    make(folder)

    answer = main(["verify", str(folder)])

    said = capsys.readouterr()
    assert (answer, said.out, said.err.count("\n")) == (code, "", 1)
    assert sentence in said.err


@pytest.mark.parametrize("forbidden", ["archive", "events", "indexes", "crawl.db", "."])
def test_what_may_not_be_read_is_one_sentence(home: Path, capsys: pytest.CaptureFixture[str], forbidden: str) -> None:
    is_root = os.geteuid() == 0
    for parent in home.parents:
        if is_root and parent.stat().st_uid == 0 and parent.is_relative_to("/tmp"):  # noqa: S108 - where tests live
            parent.chmod(0o755)
    (home / forbidden).chmod(0)
    try:
        if is_root:
            os.seteuid(65_534)
        code = main(["verify", str(home)])
    finally:
        if is_root:
            os.seteuid(0)
        (home / forbidden).chmod(0o755)

    said = capsys.readouterr()
    assert code in {ExitCode.ENVIRONMENT, ExitCode.STORE}
    assert (said.out, said.err.count("\n")) == ("", 1)
