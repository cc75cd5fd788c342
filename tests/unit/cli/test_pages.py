"""What a person says of a time, and how much of a page is told in a line."""

import pytest

from outrider.cli.page_filter import moment
from outrider.cli.pages_table import Table, readable_size, story
from outrider.errors import ConfigError
from outrider.model.record import Page, PageStatus, Record
from outrider.testing.contracts.records import HOME, decision, visit

NOW = 1_000_000.0


def page(**fields: object) -> Page:
    made = visit(1, **fields).page  # type: ignore[arg-type]  # fields are those of `visit`
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", NOW - 90),
        ("90m", NOW - 5_400),
        (" 12h ", NOW - 43_200),
        ("7d", NOW - 604_800),
        ("1w", NOW - 604_800),
        ("0s", NOW),
        ("1970-01-02", 86_400.0),
        ("1970-01-01T00:00:01.5", 1.5),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01T00:00:00Z", 0.0),
    ],
)
def test_a_time_is_an_age_or_a_date_in_utc(text: str, seconds: float) -> None:
    assert moment(text, NOW) == seconds


@pytest.mark.parametrize("text", ["", "7", "d", "-1d", "1.5h", "7D", "1d 2h", "yesterday", "2026-02-30"])
def test_what_is_neither_is_said_to_be_so(text: str) -> None:
    with pytest.raises(ConfigError, match="expected an age such as 12h or 7d, or a date such as 2026-11-16"):
        moment(text, NOW)


@pytest.mark.parametrize(
    ("length", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1 kB"),
        (30_412, "30.4 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (10**15, "1000 TB"),
        (123 * 10**15, "123000 TB"),
    ],
)
def test_a_size_is_told_in_three_digits(length: int, shown: str) -> None:
    assert readable_size(length) == shown


def test_a_line_is_as_wide_as_its_page_allows() -> None:
    long = page(url="http://example.org/" + "x" * 300, code=404, reason="too_many_redirects")
    table = Table([page(), long], 80)

    lines = [table.head().plain, table.line(page()).plain, table.line(long).plain]

    assert max(map(len, lines)) == 80
    assert lines[1].split() == ["200", "fetched", "5", "B", "http://example.org/"]
    assert lines[2].split()[:2] == ["404", "too_many_redirects"]
    assert len({line.index(word) for line, word in zip(lines, ("URL", "http:", "http:"), strict=True)}) == 1


def test_a_visit_without_an_answer_has_no_code_and_no_size() -> None:
    refused = page(code=0, content_length=0, status=PageStatus.FAILED, reason="connect_refused")

    assert Table([refused], 80).line(refused).plain.split()[:3] == ["-", "connect_refused", "-"]


def test_nothing_of_a_page_steers_the_terminal() -> None:
    """Everything in a story came from the web."""
    evil = visit(1, title="\x1b[2J\u202e", error="\x07", content_type="\x9b0m")
    told = story(HOME, [evil, Record(decisions=(decision(rule="\x1b]0;x\x07"),))], 80)

    assert all(line.plain.isprintable() for line in told)


def test_a_story_names_the_url_only_where_it_is_another() -> None:
    moved = visit(1, "http://example.org/a", "http://example.org/b")

    asked = "\n".join(line.plain for line in story("http://example.org/b", [moved], 80))
    plain = "\n".join(line.plain for line in story(HOME, [visit(1)], 80))

    assert "asked for  http://example.org/a" in asked
    assert "ended at   http://example.org/b" in asked
    assert "asked for" not in plain
    assert "ended at" not in plain
