"""The last page: how it ended, that the ledger closes, where the files are, what comes next."""

import json

import pytest
from msgspec.structs import replace
from tests.unit.observe.crawls import BUSY, CENSUS

from outrider.model.ledger import Census
from outrider.model.progress import Progress
from outrider.model.reason import Reason
from outrider.observe.summary import UNKNOWN_END, finish_in_words, summary_json, summary_lines, summary_text

FILES = {"frontier": "/crawls/example/crawl.db", "events": "/crawls/example/events"}
ENDED = replace(BUSY, finish="max_pages")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_longer_than_the_page_and_the_facts_are_there(width: int) -> None:
    awkward = replace(ENDED, census=replace(CENSUS, dead=dict.fromkeys(Reason, 1_000_000)), directory="/d" * 100)

    for progress in (ENDED, awkward, Progress(0.0, 0.0)):
        lines = summary_lines(progress, {**FILES, "long": "/x" * 200}, width=width)
        assert max(map(len, lines)) <= width

    text = summary_text(ENDED, FILES)
    for fact in (
        *("Stopped at the limit of pages.", "12,345, 3.3/s", "3.2 GiB, 16,001 requests", "1 h 02 min, 4 workers"),
        *("http_404 200", "900,000 seen, 88,000 new", "/crawls/example/crawl.db", "adds up"),
        *("outrider dlq list /crawls/example tells", "goes on with the 61,200 URLs still owed"),
    ):
        assert fact in text


def test_the_states_are_told_with_their_reasons_and_their_sum() -> None:
    rows = {line.split()[0]: line.split()[1:] for line in summary_lines(ENDED, FILES) if line.startswith("  ")}

    assert rows["skipped"] == ["1,100", "out_of_scope", "1,000,", "robots_disallowed", "100"]
    assert rows["fetched"] == ["25,400"]
    assert rows["discovered"] == ["88,000", "adds", "up,", "2,500", "sites"]


def test_a_ledger_that_does_not_close_is_not_passed_over() -> None:
    broken = replace(ENDED, census=Census(discovered=5, fetched=4))

    assert "DOES NOT ADD UP" in summary_text(broken, {})
    assert json.loads(summary_json(broken, {}))["adds_up"] is False


@pytest.mark.parametrize(
    ("finish", "words"),
    [
        ("finished", "Finished: nothing is owed a visit any more."),
        ("interrupted", "Stopped by Ctrl-C; nothing is lost."),
        ("some_later\x1bcause", r"Stopped: some later\x1bcause."),
        (None, UNKNOWN_END),
    ],
)
def test_the_end_is_told_in_words(finish: str | None, words: str) -> None:
    assert finish_in_words(finish) == words


def test_only_what_there_is_cause_for_is_suggested() -> None:
    clean = Progress(20.0, 10.0, finish="finished", census=Census(discovered=1, fetched=1, sites=1), directory="d")

    assert "Next" not in summary_lines(clean, {})
    assert summary_lines(clean, {}, ["look at it"])[-1] == "  look at it"


def test_for_programs_it_is_one_object() -> None:
    told = json.loads(summary_json(ENDED, FILES))

    assert (told["finish"], told["pages"], told["files"]) == ("max_pages", 12_345, FILES)
    assert told["census"]["dead"] == {"http_404": 200}
    assert len(told["next"]) == 3


def test_what_is_foreign_steers_no_terminal() -> None:
    text = summary_text(replace(ENDED, directory="/\x1b[2J"), {"a\u202e": "/\x1b[2J"}, ["\x1b[2J"])

    assert text.replace("\n", "").isprintable()
