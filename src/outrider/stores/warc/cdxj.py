"""Which captures are settled, and where are they? One line each, as replay tools read it.

A line is written after the bytes it points at are on the disk. While a file is open its lines stand in the order in
which they came, and a line that is not whole was never said. A complete file has a sorted index.
"""

import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct, json

from outrider.model.capture import Capture
from outrider.model.outcome import first_value
from outrider.model.url import Url
from outrider.stores.warc.records import parted

_WWW: Final = re.compile(r"www\d*\.(?=.)")
_MIME: Final = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)


class Line(Struct, frozen=True, omit_defaults=True):
    """Numbers are texts, as in the indexes of other tools. A 304 has no digest unless it is known."""

    url: str
    mime: str
    status: str
    length: str
    offset: str
    filename: str
    digest: str | None = None


def index_line(capture: Capture, digest: str | None, filename: str, offset: int, length: int) -> bytes:
    line = Line(
        url=str(capture.url),
        mime=_mime(capture),
        status=str(capture.status),
        length=str(length),
        offset=str(offset),
        filename=filename,
        digest=digest and f"sha256:{digest}",
    )
    return f"{surt(capture.url)} {_stamp(parted(capture.at)[0])} ".encode() + json.encode(line) + b"\n"


@lru_cache(maxsize=64)
def _stamp(at: int) -> str:
    """Thousands of captures share a second."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y%m%d%H%M%S")


def surt(url: Url) -> str:
    """The key by which replay tools look a URL up: its host backwards, without www, all small, its query sorted."""
    path, _, query = url.target.lower().partition("?")
    if query:
        query = "?" + "&".join(sorted(query.split("&")))
    return f"{_backwards(url.authority)}){path.rstrip('/') or '/'}{query}"


@lru_cache(maxsize=4_096)
def _backwards(authority: str) -> str:
    host, _, port = authority.partition(":") if not authority.startswith("[") else (authority, "", "")
    backwards = ",".join(reversed(_WWW.sub("", host, count=1).split("."))) if not host.startswith("[") else host
    return f"{backwards}:{port}" if port else backwards


def read_index(path: Path) -> dict[int, tuple[int, bytes]]:
    """Offset to length and line, as far as whole lines go; a line said twice counts once."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return {}
    known: dict[int, tuple[int, bytes]] = {}
    for text in lines:
        _, _, value = text.partition(b" {")
        try:
            line = json.decode(b"{" + value, type=Line)
            offset, length = int(line.offset), int(line.length)
        except (DecodeError, ValueError):
            break  # a torn tail: whatever it was about is asked again
        if not text.endswith(b"\n"):
            break
        known[offset] = (length, text)
    return known


def write_sorted(path: Path, lines: Iterable[bytes]) -> None:
    """The whole index anew, in one step: a reader sees the old one or this."""
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        file.writelines(sorted(set(lines)))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """A name is on the disk only when its directory is."""
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _mime(capture: Capture) -> str:
    if capture.unchanged is not None:
        return "warc/revisit"
    found = _MIME.match((first_value(capture.headers, "content-type") or "").strip())
    return found[0].lower() if found else "unk"
