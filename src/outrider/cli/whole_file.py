"""An output that is written while it is made, and is there whole or not at all. `-` is the standard output."""

import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from outrider.errors import ConfigError

STDOUT: Final = Path("-")


@contextmanager
def output_to(path: Path, option: str) -> Iterator[BinaryIO]:
    """`option` is what the person gave it by, for the sentence when it cannot be."""
    if path == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    except OSError as error:  # such as a name that is too long, or links in a circle
        raise ConfigError(f"{option} {str(path)!r}: {error.strerror}") from None
    if mode is not None and stat.S_ISDIR(mode):
        raise ConfigError(f"{option} {str(path)!r}: that is a folder; name a file in it")
    if mode is not None and not stat.S_ISREG(mode):
        with path.open("wb") as out:  # a device or a pipe: a rename would put a file in its place
            yield out
        return
    target = path.resolve()
    if not target.parent.is_dir():
        folder = target.parent if path.is_symlink() else path.parent
        raise ConfigError(f"{option} {str(path)!r}: there is no folder {str(folder)!r}")
    try:
        with _draft_of(target) as out:
            yield out
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)  # a full disk does not say which file it had no room for
        raise


@contextmanager
def _draft_of(path: Path) -> Iterator[BinaryIO]:
    """Under another name first, in the same folder: a rename is at once or not at all. A link keeps its target."""
    draft = path.with_name(f".outrider-{secrets.token_hex(6)}.part")  # short: no name is too long to be written
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(descriptor, "wb") as out:
            if path.exists():
                os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
            yield out
            out.flush()
            os.fsync(descriptor)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
