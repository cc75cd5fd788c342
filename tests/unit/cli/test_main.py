"""What leaves the program: one sentence and a typed exit code, never a traceback for what a person can mend."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from outrider import __version__
from outrider.cli import app, main
from outrider.cli.exit_codes import ExitCode, code_of
from outrider.errors import (
    AddressRefused,
    ConfigError,
    DnsError,
    InvalidUrl,
    LeaseLost,
    OutriderError,
    StoreUnavailable,
)


@contextmanager
def a_command_that_raises(error: BaseException) -> Iterator[str]:
    """A real command of the real app, for as long as the test takes."""

    @app.command("fail-for-the-test")
    def fail() -> None:
        raise error

    try:
        yield "fail-for-the-test"
    finally:
        app.registered_commands.pop()


def test_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--version"])

    assert code == ExitCode.OK
    assert capsys.readouterr().out == f"outrider {__version__}\n"


def test_help_is_told_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    code = main([])

    captured = capsys.readouterr()
    assert code == ExitCode.USAGE
    assert "config" in captured.out + captured.err
    assert "outrider: \n" not in captured.err


@pytest.mark.parametrize("arguments", [["confg"], ["config", "show", "--jsn"], ["config", "show", "extra"]])
def test_wrong_usage_is_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code = main(arguments)

    error = capsys.readouterr().err
    assert code == ExitCode.USAGE
    assert error.startswith("outrider: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("it is wrong"), ExitCode.USAGE),
        (InvalidUrl("x", "is wrong"), ExitCode.USAGE),
        (DnsError("no such name"), ExitCode.FETCH_FAILED),
        (AddressRefused("private"), ExitCode.REFUSED),
        (StoreUnavailable("away"), ExitCode.STORE),
        (LeaseLost("gone"), ExitCode.STORE),
        (OutriderError("something else"), ExitCode.ENVIRONMENT),
        (PermissionError(errno.EACCES, "Permission denied", "/somewhere"), ExitCode.ENVIRONMENT),
        (OSError(errno.ENOSPC, "No space left on device"), ExitCode.ENVIRONMENT),
    ],
)
def test_an_error_is_one_sentence_and_its_code(
    error: Exception, code: ExitCode, capsys: pytest.CaptureFixture[str]
) -> None:
    with a_command_that_raises(error) as command:
        got = main([command])

    told = capsys.readouterr().err
    assert got == code
    assert told.startswith("outrider: ")
    assert told.count("\n") == 1
    assert isinstance(error, OSError) or code_of(error) == code  # type: ignore[arg-type]  # an OutriderError otherwise


def test_a_sentence_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with a_command_that_raises(ConfigError("two lines:\n  \x1b[2J\u202e")) as command:
        main([command])

    assert capsys.readouterr().err == "outrider: two lines:\n  \\x1b[2J\\u202e\n"


@pytest.mark.parametrize("error", [KeyError("a bug"), OSError(errno.ECONNRESET, "leaked")])
def test_a_bug_keeps_its_traceback(error: Exception) -> None:
    with a_command_that_raises(error) as command, pytest.raises(type(error)):
        main([command])


def test_ctrl_c_is_130() -> None:
    with a_command_that_raises(KeyboardInterrupt()) as command:
        assert main([command]) == 130


def test_a_command_says_its_own_code() -> None:
    @app.command("refuse-for-the-test")
    def refuse() -> int:
        return ExitCode.REFUSED

    try:
        assert main(["refuse-for-the-test"]) == 5
    finally:
        app.registered_commands.pop()


def test_every_code_has_a_meaning() -> None:
    assert all(code.meaning for code in ExitCode)


def run(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "outrider", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **variables},
    )


def test_python_dash_m_outrider_is_the_command_and_its_code_the_processes() -> None:
    done = run("config", "check", OUTRIDER_DELAY="fast")

    assert done.returncode == 2
    told = "outrider: delay = 'fast' (environment OUTRIDER_DELAY): expected "
    assert done.stderr == told + "seconds or a time like 10m, 1h30m, 0 or more\n"
    assert done.stdout == ""


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with (tmp_path / "stderr").open("w+") as errors:
        done = subprocess.run(
            [sys.executable, "-m", "outrider", "config", "show"],
            stdout=write_end,
            stderr=errors,
            check=False,
            timeout=60,
        )
        errors.seek(0)

        assert errors.read() == ""
    os.close(write_end)
    assert done.returncode == ExitCode.PIPE_CLOSED


@pytest.mark.parametrize(
    ("argument", "heavy"),
    [
        ("--version", ["pydantic", "rich", "ada_url", "msgspec", "asyncio", "pycurl", "outrider.settings"]),
        ("--help", ["ada_url", "msgspec", "publicsuffixlist", "pycurl", "uvloop", "outrider.settings"]),
    ],
)
def test_what_is_not_needed_is_not_loaded(argument: str, heavy: list[str]) -> None:
    script = (
        f"import sys; from outrider.cli import main; main([{argument!r}]); print(set({heavy!r}) & {{*sys.modules}})"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.splitlines()[-1] == "set()"
