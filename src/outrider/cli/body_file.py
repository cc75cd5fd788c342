"""Where does the body go? Into a file that is there whole or not at all, or to the standard output (`-`)."""

import errno
import os
import secrets
import stat
import sys
from pathlib import Path

from outrider.errors import ConfigError

STDOUT = Path("-")


def check_target(path: Path) -> None:
    """Asked before anything is fetched, so that no site is troubled for a file that cannot be written."""
    if path == STDOUT:
        return
    try:
        is_folder, is_special = path.is_dir(), path.exists() and not path.is_file()
    except OSError as error:  # such as a name that is too long
        raise ConfigError(f"--body {str(path)!r}: {error.strerror}") from None
    if is_folder:
        raise ConfigError(f"--body {str(path)!r}: that is a folder; name a file in it")
    if not path.parent.is_dir():
        raise ConfigError(f"--body {str(path)!r}: there is no folder {str(path.parent)!r}")
    if not is_special and not os.access(path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path.parent))


def write_body(path: Path, content: bytes) -> None:
    if path == STDOUT:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    elif path.exists() and not path.is_file():
        path.write_bytes(content)  # a device or a pipe: renaming a file over /dev/null would end it for everybody
    else:
        _write_whole(path.resolve(), content)


def _write_whole(path: Path, content: bytes) -> None:
    """Under another name first, in the same folder: a rename is at once or not at all. A link keeps its target."""
    draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            if path.exists():
                os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
