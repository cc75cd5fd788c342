"""`outrider fetch` with wrong input: one sentence and code 2, before anything is sent. The rest is in integration."""

from pathlib import Path

import pytest

from outrider.cli import main

PAGE = "http://127.0.0.1/"
WRONG = [
    ([], "Missing argument 'URL'"),
    ([" "], "' ' is empty"),
    (["http://"], "'http://' cannot be parsed as a URL"),
    (["javascript:alert(1)"], "'javascript:alert(1)' is not an http or https URL"),
    (["http://a/\x1b[2J:99999:"], "contact = none: to visit a"),
    (["http://\x1b[2J/"], "'http://\\x1b[2J/' cannot be parsed as a URL"),
    (["http://a/" + "x" * 10_000_000], "is longer than 65536 characters"),
    (["http://a/", "--contact", "nobody"], "contact = 'nobody' (flag): expected an http(s) URL or an e-mail address"),
    ([PAGE, "--allow-private", "10.0.0.1/8"], "allow_private = ['10.0.0.1/8'] (flag): expected a list of networks"),
    ([PAGE, "--profile", "odd"], "profile = 'odd' (flag): expected one of polite, service, audit, broad"),
    ([PAGE, "--set", "delay"], "--set 'delay': expected KEY=VALUE, as in --set delay=2"),
    ([PAGE, "--config", "missing.toml"], "missing.toml: the file cannot be read: No such file or directory"),
    ([PAGE, "--body", "no/such/file"], "--body 'no/such/file': there is no folder 'no/such'"),
    ([PAGE, "--body", "."], "--body '.': that is a folder; name a file in it"),
    ([PAGE, "--body", "x" * 300], "File name too long"),
    ([PAGE, "--body", "-", "--json"], "--json and --body - both want the standard output; give --body a file"),
    ([PAGE, "--jsn"], "No such option: --jsn"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG, ids=[sentence[:40] for _, sentence in WRONG])
def test_wrong_input_is_one_sentence_and_code_2(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    code = main(["fetch", *arguments])

    told = capsys.readouterr()
    assert (code, told.out) == (2, "")
    assert told.err.startswith("outrider: ")
    assert told.err.count("\n") == 1
    assert sentence in told.err
    assert len(told.err) < 500
    assert told.err.rstrip("\n").isprintable()
