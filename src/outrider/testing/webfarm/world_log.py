"""What was asked of a world, and what was said: one line of JSON a request, written before the answer is.

So a server in another process, even one that is killed, leaves a log that does not lie.
"""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from outrider.testing.webfarm.wire import Asked


class Logged(msgspec.Struct, frozen=True):
    """One request. `monotonic_at` is the clock that all processes of a machine share; `at` is wall time.

    `status` is 0 when the answer was none, or none that is whole.
    """

    at: float
    monotonic_at: float
    host: str
    method: str
    target: str
    status: int = 0
    retry_after: float | None = None
    connection_id: int = 0
    tls: bool = False


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Logged)


def logged(asked: Asked, status: int, retry_after: float | None) -> Logged:
    return Logged(
        asked.at,
        asked.monotonic_at,
        asked.host,
        asked.method,
        asked.target,
        status,
        retry_after,
        asked.connection_id,
        asked.tls,
    )


class LogFile:
    """Appends; every line is with the kernel when `write` returns."""

    def __init__(self, path: Path) -> None:
        # Unbuffered: one system call a line is what it takes to survive a kill.
        self._file = path.open("ab", buffering=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def write(self, line: Logged) -> None:
        self._file.write(_ENCODER.encode(line) + b"\n")


def read_log(*paths: Path) -> list[Logged]:
    """All lines of all files in the order of arrival; a last line that is not whole yet is left out."""
    lines = [line for path in paths if path.exists() for line in _whole_lines(path)]
    return sorted(lines, key=lambda line: line.monotonic_at)


def _whole_lines(path: Path) -> Iterator[Logged]:
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield _DECODER.decode(line)
