"""`outrider config show` and `check`: every value and where it came from."""

import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path

import pytest

from outrider.cli import main
from outrider.cli.options import load_settings
from outrider.settings import Settings


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_show_prints_a_line_per_key_in_columns_when_it_is_not_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["config", "show", "--profile", "audit", "--set", "delay=2"])

    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in lines if not line.startswith("#")}
    assert code == 0
    assert list(rows) == list(Settings.model_fields)
    assert re.fullmatch(r"delay +2 +flag", rows["delay"])
    assert re.fullmatch(r"max_redirects +10 +profile audit", rows["max_redirects"])
    assert re.fullmatch(r"burst +1 +default", rows["burst"])
    assert len({line.index(" default") for line in rows.values() if line.endswith(" default")}) == 1
    assert max(map(len, lines)) <= 80


def test_show_as_json_has_every_key_with_value_and_source(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTRIDER_REDIS_URL", "redis://:hunter2@h")

    main(["config", "show", "--json", "--set", "allow_private=10.0.0.0/8", "--set", "include=a.c"])

    told = json.loads(capsys.readouterr().out)
    assert list(told) == list(Settings.model_fields)
    assert told["delay"] == {"value": 1.0, "source": "default"}
    assert told["contact"]["value"] is None
    assert told["allow_private"] == {"value": ["10.0.0.0/8"], "source": "flag"}
    assert told["include"]["value"] == ["a.c"]
    assert told["redis_url"] == {"value": "redis://:***@h", "source": "environment OUTRIDER_REDIS_URL"}
    assert len(told["skip_extensions"]["value"]) == 71


def test_show_verbose_says_what_each_key_means(capsys: pytest.CaptureFixture[str]) -> None:
    main(["config", "show", "--verbose"])

    assert "# Shortest time between two requests to one site." in capsys.readouterr().out


def test_a_file_may_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.toml").write_text("burst = 4\n")

    code = main(["config", "show", "--config", "mine.toml"])

    assert code == 0
    assert re.search(r"burst +4 +file mine.toml line 1\n", capsys.readouterr().out)


def test_check_says_ok(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "check"]) == 0
    assert capsys.readouterr().out == "ok\n"


def test_check_lists_every_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "outrider.toml").write_text("dellay = 1\n")

    code = main(["config", "check", "--set", "burst=0", "--profile", "odd"])

    assert code == 2
    assert capsys.readouterr().err.splitlines() == [
        "outrider: 3 problems with the settings:",
        "  dellay = 1 (file outrider.toml line 1): no such key; did you mean delay?",
        "  profile = 'odd' (flag): expected one of polite, service, audit, broad",
        "  burst = '0' (flag): expected a whole number, 1 or more",
    ]


@pytest.mark.parametrize("assignment", ["delay", "=2", ""])
def test_set_wants_a_key_and_a_value(assignment: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["config", "check", "--set", assignment])

    assert code == 2
    assert "expected KEY=VALUE" in capsys.readouterr().err


def test_of_two_values_for_a_key_the_last_wins_and_an_option_beats_both() -> None:
    settings = load_settings(
        assignments=["delay=2", "delay=3", "burst=5"], flags={"burst": 6, "timeout": None}
    ).settings

    assert (settings.delay, settings.burst, settings.timeout) == (3, 6, 30)


def test_a_terminal_gets_a_table_of_its_own_width(tmp_path: Path) -> None:
    own, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "LINES"}}
    long_host = "a-host-with-a-long-name." * 4 + "example.org"

    process = subprocess.Popen(
        [sys.executable, "-m", "outrider", "config", "show", "--set", f"redis_url=redis://:pw@{long_host}"],
        stdout=theirs,
        cwd=tmp_path,
        env={**environment, "TERM": "xterm"},
    )
    os.close(theirs)
    text = _all_of(own)

    assert process.wait(timeout=60) == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    assert max(map(len, lines)) <= 80
    assert any(re.match(r"delay +1 +default", line) for line in lines)
    assert "redis://:***@a-host" in "\n".join(lines)
    assert "Politeness" in {line.strip() for line in lines}


def _all_of(terminal: int) -> str:
    """Linux ends a terminal whose other side is closed with EIO."""
    chunks = []
    while True:
        try:
            chunk = os.read(terminal, 65_536)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(terminal)
    return b"".join(chunks).decode()
