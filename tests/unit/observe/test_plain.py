"""Progress where nobody watches: a line at a time."""

import io
import json

from msgspec.structs import replace
from tests.unit.observe.crawls import BUSY

from outrider.observe.plain import PlainProgress, display_on, json_line, plain_line


def test_a_line_tells_the_facts() -> None:
    assert plain_line(BUSY) == (
        "2001-09-09T02:48:43.000Z 12,345 pages, 98.2/s; 48 in flight; queue 60,000 + 1,200 waiting; "
        "sites 50 held, 3 down; 3.2 GiB; errors 300 (http_404 200, read_timeout 50, unsupported_content_type 20, "
        "others 30); memory 512.0 MiB; about 1 min 18 s left"
    )


def test_a_line_is_one_line_and_shows_no_password() -> None:
    told = plain_line(replace(BUSY, paused="redis://u:secret@host is away\n\x1b[2J", waiting_for="a site", finish="x"))

    assert told.isprintable()
    assert r"paused: redis://u:***@host is away\n\x1b[2J; waiting for a site; ended: x" in told


def test_for_programs_it_is_one_object_a_line() -> None:
    line = json_line(replace(BUSY, paused="\u202e\n"))

    assert line.isascii()
    assert "\n" not in line
    told = json.loads(line)
    assert (told["type"], told["counts"]["pages"], told["census"]["pending"]) == ("progress", 12_345, 60_000)
    assert (told["seconds"], told["eta"], told["paused"]) == (3_723.0, None, "\u202e\n")


def test_a_line_comes_each_interval_and_at_the_end() -> None:
    out = io.StringIO()

    with PlainProgress(out, "json", interval=60.0) as display:
        for second in range(150):
            display.show(replace(BUSY, at=1_000.0 + second))

    assert [json.loads(line)["at"] for line in out.getvalue().splitlines()] == [1_000.0, 1_060.0, 1_120.0, 1_149.0]


def test_what_was_told_is_not_told_again_at_the_end() -> None:
    out = io.StringIO()

    with PlainProgress(out) as display:
        display.show(BUSY)

    assert out.getvalue().count("\n") == 1


def test_in_a_pipe_there_are_lines() -> None:
    out = io.StringIO()

    with display_on(out) as display:
        display.show(BUSY)

    assert out.getvalue() == plain_line(BUSY) + "\n"
