"""The live display: what it says, that it fits, and that it leaves the terminal as it should be."""

import io
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console
from tests.unit.observe.crawls import BUSY, COUNTS

from outrider.model.activity import Activity
from outrider.model.progress import Counts, Progress
from outrider.observe.progress import ProgressDisplay, screen

WORST = replace(
    BUSY,
    at=BUSY.started_at + 10_000_000,
    rate=123_456.7,
    counts=COUNTS.plus(COUNTS),
    paused="our own network is down: " + "x" * 300,
    waiting_for="漢字" * 100,
    directory="/a\x1b[2J/" + "long" * 100,
)


def rendered(progress: Progress, width: int) -> list[str]:
    console = Console(record=True, width=width, file=io.StringIO())
    with ProgressDisplay(console) as display:
        display.show(progress)
    return console.export_text().splitlines()


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("progress", [BUSY, WORST, Progress(0.0, 0.0)], ids=["busy", "worst", "fresh"])
def test_no_line_is_longer_than_the_terminal_and_all_fit_on_it(progress: Progress, width: int) -> None:
    lines = [line.plain for line in screen(progress, width)]

    assert all(cell_len(line) <= width for line in lines)
    assert all(line.isprintable() for line in lines)
    assert len(lines) <= 23
    assert len(rendered(progress, width)) <= len(screen(progress, width - 1))
    assert all(cell_len(line) < width for line in rendered(progress, width))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_facts_are_there(width: int) -> None:
    """H2-31: what a person needs to see that all is well, or what is not."""
    progress = replace(BUSY, waiting_for="example.com, in 30 s", paused="our own network is down")

    text = re.sub(r"\s+", " ", " ".join(rendered(progress, width)))

    for fact in (
        *("12,345 of 20,000", "98.2/s", "60,000 pending", "1,200 waiting", "48 visits", "4 workers"),
        *("50 held", "3 down", "3.2 GiB", "512.0 MiB", "1 h 02 min", "/crawls/example"),
        *("http_404 200", "read_timeout 50", "too_many_redirects 10", "dns_not_found 9", "others 11"),
        *("paused our own network is down", "waiting for example.com, in 30 s"),
    ):
        assert fact in text


def test_what_the_time_was_spent_on_adds_up_to_a_hundred() -> None:
    seconds = {Activity.TURN: 700.0, Activity.FIRST_BYTE: 200.0, Activity.READING: 50.0, Activity.TLS: 50.0}

    told = " ".join(rendered(replace(BUSY, counts=replace(BUSY.counts, activity=seconds)), 100))

    assert "waiting for turns 70 %" in told
    assert sum(map(int, re.findall(r"(\d+) %", told))) == 100


def test_the_time_left_is_told_when_it_is_known() -> None:
    assert "about 1 min 18 s left" in "\n".join(rendered(BUSY, 80))
    assert "left" not in "\n".join(rendered(replace(BUSY, rate=0.0), 80))


@pytest.mark.parametrize(("pages", "full"), [(0, 0), (10_000, 29), (20_000, 58), (30_000, 58)])
def test_the_bar_is_as_full_as_the_limit(pages: int, full: int) -> None:
    bar = screen(replace(BUSY, counts=Counts(pages=pages)), 60)[1].plain

    assert bar == "[" + "#" * full + "." * (58 - full) + "]"


def test_it_is_drawn_four_times_a_second_at_most_and_the_last_is_shown() -> None:
    now = 0.0
    console = Console(force_terminal=True, width=80, height=24, file=io.StringIO(), color_system=None)

    with ProgressDisplay(console, clock=lambda: now) as display:
        for tenth in range(1, 31):
            now = tenth / 10
            display.show(replace(BUSY, counts=Counts(pages=tenth)))

    drawn = [int(number) for number in re.findall(r"pages +(\d+) of", console.file.getvalue())]  # type: ignore[attr-defined]
    assert drawn[0] == 1
    assert drawn[-1] == 30
    assert len(set(drawn)) <= 3 * 4 + 1


def test_without_colours_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    console = Console(force_terminal=True, width=80, height=24, file=io.StringIO())

    with ProgressDisplay(console) as display:
        display.show(BUSY)

    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", console.file.getvalue())  # type: ignore[attr-defined]


SCRIPT = """
import sys
from msgspec.structs import replace
from tests.unit.observe.crawls import BUSY
from outrider.observe.plain import display_on
with display_on(sys.stdout) as display:
    for n in range(3):
        display.show(replace(BUSY, at=BUSY.at + n))
        print("a line between")
    if "fail" in sys.argv:
        raise KeyboardInterrupt
"""


def read_all(terminal: int) -> str:
    """Until nobody has the other end any more, which a terminal calls an error."""
    with os.fdopen(terminal, "rb", buffering=0) as file:
        parts = []
        with suppress(OSError):
            while part := file.read(4096):
                parts.append(part)
    return b"".join(parts).decode()


@pytest.mark.parametrize("how", ["end", "fail"])
def test_a_real_terminal_is_left_with_its_cursor_and_without_the_display(how: str) -> None:
    """Whatever ends it; what was printed meanwhile is there, line by line."""
    here, there = pty.openpty()
    environment = {
        **os.environ,
        "TERM": "xterm",
        "COLUMNS": "80",
        "LINES": "24",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, how], stdin=there, stdout=there, stderr=subprocess.DEVNULL, env=environment
    )
    os.close(there)

    shown = read_all(here)

    process.wait(60)
    assert shown.count("a line between\r\n") == 3
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l") >= 0
    assert (process.returncode == 0) is (how == "end")
