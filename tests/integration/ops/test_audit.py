"""`outrider audit` finds what was not polite, each kind by its own name, and nothing where nothing was."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.crawls import farm
from tests.integration.ops import audit_faults as faults

from outrider.cli import main
from outrider.cli.exit_codes import ExitCode
from outrider.ops.audit import Rule
from outrider.testing.webfarm.world import World

WORLD = World(3, sites=2, pages=24, hostile_share=0.0, seeds=2, spiced=False)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One real crawl, of which every test spoils a copy of what is judged."""
    folder = tmp_path_factory.mktemp("audit")

    async def crawl() -> Path:
        async with farm(WORLD, folder) as web:
            crawl = web.crawl(workers=1, delay=0.02)
            ended = await crawl.run()
        assert ended.code == ExitCode.OK, ended.errors
        return crawl.directory

    return asyncio.run(crawl())


@pytest.fixture
def home(crawled: Path, tmp_path: Path) -> Path:
    return shutil.copytree(crawled, tmp_path / "crawl", ignore=shutil.ignore_patterns("archive", "indexes"))


Audited = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def audited(capsys: pytest.CaptureFixture[str]) -> Audited:
    def audit(*arguments: object) -> tuple[int, dict[str, Any]]:
        code = main(["audit", *map(str, arguments), "--json"])
        said = capsys.readouterr()
        assert said.err == ""
        return code, json.loads(said.out)

    return audit


def broken(report: dict[str, Any]) -> set[str]:
    return {rule["name"] for rule in report["rules"] if rule["violations"]}


def test_a_real_crawl_is_clean(home: Path, audited: Audited) -> None:
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}

    code, report = audited(home)

    assert (code, report["clean"], report["running"]) == (ExitCode.OK, True, False)
    assert (broken(report), report["examples"], report["skipped"]) == (set(), [], [])
    assert report["requests"] == len(faults.requests(home)) == sum(site["requests"] for site in report["sites"])
    judged = {rule["name"]: rule["checked"] for rule in report["rules"]}
    assert list(judged) == [rule.value for rule in Rule]
    assert min(count for name, count in judged.items() if name != Rule.BLOCK) > 0
    assert all(site["smallest"] >= site["allowed"] - 0.001 for site in report["sites"] if site["requests"] > 1)
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before


@pytest.mark.parametrize(
    ("fault", "rules", "evidence"),
    [
        (faults.ask_too_soon, {Rule.GAP}, "s too early: 0.02 s were due between requests"),
        (faults.ask_before_the_turn, {Rule.GAP}, "0.500 s before its turn"),
        (faults.ask_two_at_once, {Rule.GAP}, "s too early"),
        (faults.promise_too_little, {Rule.PROMISE}, "a pause of 0.001 s was in force, but delay=0.02"),
        (faults.forget_the_settings, {Rule.PROMISE}, "are not on record"),
        (faults.ignore_a_crawl_delay, {Rule.GAP, Rule.PROMISE}, "robots.txt asks for 5 s"),
        (faults.ignore_a_429, {Rule.BLOCK}, "was answered with 429 and Retry-After: 30 at"),
        (faults.ignore_a_503_with_retry_after, {Rule.BLOCK}, "with 503 and Retry-After: 1"),
        (faults.ask_while_the_breaker_is_open, {Rule.BREAKER}, "the breaker was open"),
        (faults.ask_between_opening_and_probe, {Rule.BREAKER}, "the breaker had opened by"),
        (faults.ask_after_a_failed_probe, {Rule.BREAKER}, "had failed, and none had succeeded since"),
        (faults.probe_too_early, {Rule.BREAKER}, "probed 7.000 s before"),
        (faults.ask_for_what_is_disallowed, {Rule.ROBOTS}, "disallowed by line 2 of robots.txt (Disallow: /"),
        (faults.ask_for_a_status_unasked, {Rule.ROBOTS}, "its status was asked for"),
        (faults.ask_without_robots_txt, {Rule.ROBOTS_UNASKED}, "nothing was known of the robots.txt of http://"),
        (faults.ask_with_an_old_robots_txt, {Rule.ROBOTS_UNASKED}, "had expired at 1970-01-01T00:00:02.000Z"),
        (faults.ask_another_site, {Rule.SITE, Rule.ROBOTS_UNASKED}, "and is of stranger.test"),
        (faults.ask_a_paused_site, {Rule.ORDER}, "was paused by an operator at"),
        (faults.ignore_an_ordered_delay, {Rule.GAP, Rule.PROMISE}, "delay=60"),
        (faults.drop_a_request, {Rule.RECORDED}, "requests, and"),
        (faults.skip_what_is_allowed, {Rule.ROBOTS}, "skipped: allowed"),
        (faults.fetch_too_many_pages, {Rule.LIMITS}, "pages are more than max_pages=3"),
        (faults.fetch_too_many_of_a_site, {Rule.LIMITS}, "pages are more than max_site_pages=2"),
        (faults.go_too_deep, {Rule.LIMITS}, "is more than max_depth=0"),
        (faults.follow_too_many_redirects, {Rule.LIMITS}, "6 is more than max_redirects="),
        (faults.try_too_often, {Rule.LIMITS}, "is more than max_retries="),
        (faults.read_too_much, {Rule.LIMITS}, "99,999,999 is more than max_body="),
        (faults.open_the_ledger, {Rule.LEDGER}, "the states do not add up"),
        (faults.fetch_without_a_record, {Rule.LEDGER}, "pages were fetched, and"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_each_violation_is_found_and_named(
    fault: Callable[[Path], str | None], rules: set[Rule], evidence: str, home: Path, audited: Audited
) -> None:
    url = fault(home)

    code, report = audited(home)

    assert (code, report["clean"]) == (ExitCode.VIOLATIONS, False)
    # Whoever ignores a 429 ignores the wider pause after it, too.
    assert rules == broken(report) - ({Rule.PROMISE, Rule.GAP} if Rule.BLOCK in rules else set())
    told = [one for one in report["examples"] if evidence in one["evidence"]]
    assert told, report["examples"]
    assert url is None or url in {one["url"] for one in told}
    of_requests = [one for one in report["examples"] if one["rule"] not in {Rule.RECORDED, Rule.LIMITS, Rule.LEDGER}]
    assert all(one["at"] and one["site"] and one["url"] for one in of_requests)
    assert report["violations"] >= len(report["examples"]) > 0


def test_a_delay_that_an_operator_has_shortened_counts_from_then_on(home: Path, audited: Audited) -> None:
    faults.set_manners(home, delay=5.0)
    assert audited(home)[0] == ExitCode.VIOLATIONS
    for site in {one.site for one in faults.requests(home)}:
        event = {"type": "site_ordered", "at": 1.0, "site": site, "delay": 0.0}
        [path, *_] = sorted((home / "events").glob("events-*.jsonl"))
        path.write_text(path.read_text() + json.dumps(event) + "\n")

    code, report = audited(home)

    assert (code, report["examples"]) == (ExitCode.OK, [])


def test_records_alone_can_be_audited_and_the_ledger_when_it_is_named(home: Path, audited: Audited) -> None:
    place = f"sqlite://{home / 'crawl.db'}"

    alone, without = audited(place)
    both, whole = audited(place, "--frontier", place, "--events", home, "--config", home / "outrider.toml")

    assert (alone, both) == (ExitCode.OK, ExitCode.OK)
    unsure = "whether all requests are on record: pages may have come meanwhile"
    assert without["skipped"] == [unsure, "the frontier was not named: the ledger was not looked at"]
    assert whole["skipped"] == [unsure]
    assert without["running"] is whole["running"] is None


def test_a_person_reads_sites_rules_and_violations_in_80_columns(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    url = faults.promise_too_little(home)

    code = main(["audit", str(home)])

    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert (code, said.err) == (ExitCode.VIOLATIONS, "")
    assert lines[0].split() == ["SITE", "REQUESTS", "SMALLEST", "DUE", "BROKEN"]
    assert max(map(len, lines)) <= 80
    assert url in " ".join(said.out.split())
    assert lines[-1].startswith("not clean: 1 violation in ")


@pytest.mark.parametrize(
    ("place", "code", "sentence"),
    [
        ("nowhere", ExitCode.USAGE, "nowhere: there is no such directory"),
        ("empty", ExitCode.USAGE, "empty: no crawl is here"),
        ("file", ExitCode.USAGE, "file: is not a directory"),
        ("none:", ExitCode.USAGE, "this crawl keeps no records"),
        ("gopher://x/", ExitCode.USAGE, "gopher"),
        ("sqlite:///nowhere/x.db", ExitCode.USAGE, "there is no such file"),
    ],
)
def test_a_wrong_place_gets_one_sentence(
    place: str, code: ExitCode, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        ended = main(["audit", place])
    finally:
        os.chdir(here)

    said = capsys.readouterr()
    assert (ended, said.out) == (code, "")
    assert sentence in said.err
    assert said.err.count("\n") == 1
