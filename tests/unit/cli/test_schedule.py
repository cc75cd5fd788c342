"""`outrider schedule`: what is wrong is one sentence and a code, before anything is fed."""

import re
import sys
from pathlib import Path

import pytest

from outrider.app.sources import read_schedule
from outrider.cli import main

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "schedule.md"
NOWHERE = "redis://127.0.0.1:1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text("sources:\n  - {url: example.org, every: once}\n")
    (tmp_path / "wrong.yaml").write_text("sources:\n  - {url: example.org, every: x}\n  - {feed: ''}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ("no.yaml", 2, "no.yaml: the file cannot be read: No such file or directory"),
        ("sources.json", 2, "sources.json: expected a file whose name ends with .yaml, .yml, .toml"),
        ("wrong.yaml", 2, "2 problems with the schedule:"),
        ("good.yaml --log-format xml", 2, "--log-format 'xml': expected text or json"),
        ("good.yaml --max-queue-size 0", 2, "max_queue_size = '0' (flag): expected a whole number, 1 or more"),
        ("good.yaml --queue {a}", 2, "'{a}' is no name for a list; expected one without braces"),
        ("good.yaml --redis http://127.0.0.1", 2, "redis_url = 'http://127.0.0.1' (flag): expected a URL that begins"),
        ("good.yaml --redis unix:///redis", 2, "redis_url = 'unix:///redis' (flag): expected a URL that begins"),
        (f"good.yaml --redis {NOWHERE}?wait=1", 2, "no such option: wait; it knows pool, timeout"),
        (f"good.yaml --redis {NOWHERE}", 6, "the server cannot be reached"),
        (f"good.yaml --once --wrong --redis {NOWHERE}", 2, "No such option: --wrong"),
        ("good.yaml --frontier sqlite:///f.db --queue q", 2, "in place of a queue: leave --queue and --redis out"),
        ("good.yaml --frontier nothing://x", 2, "no frontier is named by nothing:"),
        ("good.yaml --metrics localhost", 2, "metrics_address = 'localhost' (flag): expected an address and a port"),
        ("", 2, "Missing argument 'FILE'"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_a_code(
    capsys: pytest.CaptureFixture[str], arguments: str, code: int, told: str
) -> None:
    ended = main(["schedule", *arguments.split(), "--set", "metrics_address=none"])
    out, err = capsys.readouterr()

    assert (ended, out) == (code, "")
    assert told in err


def test_a_dry_run_does_without_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    ended = main(["schedule", "good.yaml", "--dry-run", "--redis", NOWHERE])
    out, err = capsys.readouterr()

    assert ended == 0
    assert "as if nothing had been fed yet" in err
    assert out.endswith("Z  url https://example.org/  (once)\n")


def test_without_the_library_yaml_names_the_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)

    ended = main(["schedule", "good.yaml"])

    assert ended == 3
    assert "good.yaml: YAML cannot be read here; pip install 'outrider[service]'" in capsys.readouterr().err


def test_a_frontier_is_fed_once_and_remembers_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "two.toml").write_text("[[sources]]\nurl = 'a.org'\n[[sources]]\nfeed = 'b.org/feed.xml'\n")
    arguments = ["schedule", "two.toml", "--once", "--frontier", "sqlite:frontier.db"]

    codes = [main(arguments), main(arguments), main(["frontier", "stats", "sqlite:frontier.db"])]
    out, err = capsys.readouterr()

    assert codes == [0, 0, 0]
    assert err.count("2 URLs given; 2 wait to be visited") == 1
    assert err.count("feeding 2 sources of two.toml into sqlite:frontier.db") == 2
    assert "pending" in out
    assert (folder / "two.toml.fed.json").exists()

    main(["schedule", "two.toml", "--dry-run", "--frontier", "sqlite:frontier.db"])
    assert len(capsys.readouterr().out.splitlines()) == 10


def test_the_examples_of_the_page_say_the_same_and_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = dict(re.findall(r"^```(yaml|toml)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL))
    (folder / "seeds.txt").write_text("https://example.org/\n")
    for kind, text in blocks.items():
        (folder / f"sources.{kind}").write_text(text)

    files = [folder / f"sources.{kind}" for kind in ("yaml", "toml")]
    codes = [main(["schedule", str(file), "--dry-run", "--redis", NOWHERE]) for file in files]

    assert codes == [0, 0]
    assert read_schedule(files[0]) == read_schedule(files[1])
    shown = capsys.readouterr().out.splitlines()
    assert [line[22:] for line in shown[:10]] == [line[22:] for line in shown[10:]]
    assert "seeds seeds.txt  (once)" in shown[3]
