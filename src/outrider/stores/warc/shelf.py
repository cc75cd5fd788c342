"""Where on the shelf is a capture? A file is looked for under both its names, for it may be completed meanwhile."""

import os
from pathlib import Path

from outrider.model.capture import Capture
from outrider.stores.warc.names import COMPLETE, OPEN, Key
from outrider.stores.warc.reading import Torn, capture_of, is_answer, member_at, members

_MOST_BESIDE = 2
"""A request and the metadata follow an answer."""


def find_capture(archive: Path, key: Key) -> Capture | None:
    """None when the file is gone, or was cut before this place. Raises `Torn` for what cannot be read."""
    # The name of a file changes once, from open to complete: looking for the last name again leaves no gap.
    for suffix in (COMPLETE, OPEN, COMPLETE):
        try:
            file = os.open(archive / f"{key.stem}{suffix}", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            return _read(file, key)
        finally:
            os.close(file)
    return None


def _read(file: int, key: Key) -> Capture | None:
    if key.offset + key.length > os.fstat(file).st_size:
        return None
    answer = member_at(file, key.offset)
    if answer.end != key.offset + key.length or not is_answer(answer):
        raise Torn(f"no answer of {key.length} bytes is at {key.offset}")
    for count, member in enumerate(members(file, answer.end), 1):
        if member.kind == "metadata":
            return capture_of(answer, member)
        if count == _MOST_BESIDE:
            break
    raise Torn(f"the answer at {key.offset} has no metadata")
