"""Nothing from the web steers a terminal, and lines fit."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from outrider.cli.terminal import console_on, hanging, labelled, page_width, print_lines, shortened
from outrider.observe.words import visible

HOSTILE = [
    ("\x1b[31mred", "\\x1b[31mred"),
    ("\x1b]0;new title\x07", "\\x1b]0;new title\\x07"),
    ("a\r\nb\tc", "a\\r\\nb\\tc"),
    ("\x9b2J", "\\x9b2J"),
    ("\u202egnp.exe", "\\u202egnp.exe"),
    ("zero\u200bwidth", "zero\\u200bwidth"),
    ("\u2028", "\\u2028"),
    ("\udcff", "\\udcff"),
    ("\x00\x7f", "\\x00\\x7f"),
]


@pytest.mark.parametrize(("text", "spelled"), HOSTILE)
def test_what_is_not_plainly_printable_is_spelled_out(text: str, spelled: str) -> None:
    assert visible(text) == spelled
    assert shortened(text, 80) == spelled


def test_printable_text_stays_as_it_is() -> None:
    assert visible("Grüße, 你好 — é") == "Grüße, 你好 — é"


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("http://example.org/a", 20, "http://example.org/a"),
        ("http://example.org/a/long/path/page.html", 25, "http://example.o…age.html"),
        ("你好你好你好", 8, "你好…好"),
    ],
)
def test_a_long_text_loses_its_middle(text: str, width: int, short: str) -> None:
    got = shortened(text, width)

    assert got == short
    assert Text(got).cell_len <= width


def test_a_value_is_folded_under_itself() -> None:
    lines = hanging(Text("label"), Text("one two three four"), 7, 16)

    assert [line.plain for line in lines] == ["label  one two", "       three", "       four"]


def test_a_word_longer_than_the_line_is_folded_too() -> None:
    lines = hanging(Text(), Text("y" * 25), 2, 12)

    assert [line.plain for line in lines] == ["  " + "y" * 10, "  " + "y" * 10, "  " + "y" * 5]


def test_a_label_that_is_too_long_stands_above_its_value() -> None:
    lines = hanging(Text("a-long-label:"), Text("value"), 4, 12)

    assert [line.plain for line in lines] == ["a-long-label", ":", "    value"]


def test_labels_make_a_column() -> None:
    lines = labelled([("a", Text("1")), ("long", Text("2")), ("", Text("3"))], 80)

    assert [line.plain for line in lines] == ["a     1", "long  2", "      3"]


def test_only_the_label_is_bold() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system="standard", soft_wrap=True)

    print_lines(labelled([("a", Text("1")), ("b", Text("2", "green"))], 80), console)

    assert stream.getvalue() == "\x1b[1ma\x1b[0m  1\n\x1b[1mb\x1b[0m  \x1b[32m2\x1b[0m\n"


def test_a_pipe_gets_no_colour_and_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)
    stream = io.StringIO()
    console = console_on(stream)

    print_lines([Text("red", "red")], console)

    assert stream.getvalue() == "red\n"
    assert page_width(console) == 80


def test_a_stream_that_is_not_unicode_gets_other_signs_in_the_same_columns() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")

    print_lines([Text("━━ a · b → c… ü")], console_on(stream))
    stream.flush()

    assert raw.getvalue() == b"== a - b > c~ \\xfc\n"
