"""Is it running, and how far is it? One small file that is there whole or not at all, replaced each second.

It names the process that wrote it and when that process began: a number alone may be somebody else's by now.
"""

import os
import secrets
import socket
from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct

from outrider.errors import StoreError
from outrider.model.codec import from_json, to_json
from outrider.model.progress import Progress

_START_TIME: Final = 22
"""Which field of /proc/PID/stat is the moment at which the process began, in ticks since the machine did."""


class Status(Struct, frozen=True):
    """`began` is None where the system does not tell when a process began."""

    pid: int
    host: str
    began: int | None
    progress: Progress
    version: int = 1


def write_status(path: Path, progress: Progress) -> None:
    """As this process's. Raises `StoreError`; then the file says what it said before."""
    status = Status(os.getpid(), socket.gethostname(), _began(os.getpid()), progress)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(to_json(status) + b"\n")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error


def read_status(path: Path) -> Progress | None:
    """None when there is no such file. Raises `StoreError` when it cannot be read, or is no status."""
    status = whole_status(path)
    return None if status is None else status.progress


def whole_status(path: Path) -> Status | None:
    try:
        return from_json(path.read_bytes(), Status)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    except (DecodeError, UnicodeDecodeError) as error:
        raise StoreError(f"{path}: is not a status file: {error}") from error


def is_running(status: Status) -> bool | None:
    """Does the process that wrote it still live, and has it not said its last word? None: on another machine."""
    if status.progress.finish is not None:
        return False
    if status.host != socket.gethostname():
        return None
    try:
        os.kill(status.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it lives, and is somebody else's
    return _began(status.pid) == status.began


def _began(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The name of the program stands in brackets, and may hold blanks and brackets itself.
    fields = stat.rpartition(")")[2].split()
    state = fields[0]
    return None if state == "Z" else int(fields[_START_TIME - 3])
