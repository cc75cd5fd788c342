"""What is remembered of a schedule that feeds a frontier: one JSON file, replaced whole, held by one process.

A frontier has no place for it. The file is written after the URLs were added: a kill between the two means that they
are added once more, and a frontier that knows them already is not changed by that.
"""

import fcntl
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import DecodeError, Struct

from outrider.errors import ConfigError, StoreError
from outrider.model.codec import from_json, to_json
from outrider.policy.schedule import Turn


class Remembered(Struct, frozen=True):
    turns: dict[str, Turn]
    version: int = 1


def read_turns(path: Path) -> dict[str, Turn]:
    """Nothing when there is no such file. Raises `StoreError` when it cannot be read, or says something else."""
    try:
        return from_json(path.read_bytes(), Remembered).turns
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    except (DecodeError, UnicodeDecodeError) as error:
        raise StoreError(f"{path}: what was fed before cannot be read from it: {error}") from error


def write_turns(path: Path, turns: Mapping[str, Turn]) -> None:
    """Safe on the disk when this returns. Raises `StoreError`; then the file says what it said before."""
    draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        try:
            with draft.open("wb") as out:
                out.write(to_json(Remembered(dict(turns))) + b"\n")
                out.flush()
                os.fsync(out.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Two schedulers with one file would feed everything twice: the second is refused, until the first has ended."""
    lock = path.with_name(f".{path.name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise StoreError(f"{lock}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"{path}: another scheduler is at work with it; stop that one first") from None
        yield
    finally:
        os.close(descriptor)
