"""Numbers and foreign texts, as a person reads them."""

import pytest
from rich.cells import cell_len

from outrider.observe.words import counted, duration, folded, moment, rate, shortened, size, visible, without_passwords


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0.0 s"),
        (4.21, "4.2 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (187, "3 min 07 s"),
        (3_599.9, "1 h 00 min"),
        (7_500, "2 h 05 min"),
        (273_600, "3 d 04 h"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("amount", "words"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (3_456_789_012, "3.2 GiB"), (2**55, "32,768.0 TiB")],
)
def test_a_size_is_in_steps_of_1024(amount: int, words: str) -> None:
    assert size(amount) == words


def test_counts_rates_and_moments() -> None:
    assert (counted(1, "page"), counted(2_000, "page"), counted(0, "retry", "retries")) == (
        "1 page",
        "2,000 pages",
        "0 retries",
    )
    assert (rate(0.04), rate(98.23), rate(1234.5)) == ("0.0/s", "98.2/s", "1,234/s")
    assert moment(0.5) == "1970-01-01T00:00:00.500Z"


@pytest.mark.parametrize("width", [0, 1, 3, 4, 7, 20, 60])
@pytest.mark.parametrize("text", ["", "short", "x" * 100, "漢字" * 50, "\x1b[2J" * 20, "é\u0301" * 40])
def test_what_is_shortened_fits(text: str, width: int) -> None:
    shown = shortened(text, width)

    assert cell_len(shown) <= width
    assert shown.isprintable()


@pytest.mark.parametrize("width", [4, 10, 30, 80])
def test_folded_pieces_fit_and_none_is_lost(width: int) -> None:
    pieces = [f"piece{n}"[:width] for n in range(8)]

    lines = folded(pieces, width)

    assert all(len(line) <= width for line in lines) or width == 4
    assert ", ".join(lines).replace(",, ", ", ").split(", ") == [shortened(piece, width) for piece in pieces]


def test_what_steers_a_terminal_is_spelled_out() -> None:
    assert visible("a\x1b[2J\r\n\u202e\x9b") == r"a\x1b[2J\r\n\u202e\x9b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://user:secret@host:6379/0 is away", "redis://user:***@host:6379/0 is away"),
        ("postgresql://u:a@b/c@host/db", "postgresql://u:***@host/db"),
        ("https://example.com/a?b=c", "https://example.com/a?b=c"),
        ("redis://:secret@host", "redis://:***@host"),
    ],
)
def test_a_password_in_a_text_is_not_shown(text: str, shown: str) -> None:
    assert without_passwords(text) == shown
