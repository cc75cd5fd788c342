"""How are numbers and foreign texts put, so that a line fits and steers no terminal? Shared by all listeners.

Whatever came from the web goes through `visible`. Free texts, such as the message of an error, also go through
`without_passwords`; a `Url` has none.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

_USERINFO: Final = re.compile(r"(?<=://)([^:/?#\s@]*):[^\s]*@")
"""Greedy up to the last @: rather a host too much is hidden than a part of a password that holds one is shown."""

_KIBI: Final = 1024


def visible(text: str) -> str:
    """The text, with every character that is not plainly printable spelled as its escape."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def without_passwords(text: str) -> str:
    return _USERINFO.sub(r"\1:***@", text)


def _cells(text: str) -> int:
    """Of a terminal: a Chinese character takes two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - a log needs none of it

    return cell_len(text)


def shortened(text: str, width: int) -> str:
    """Without its middle when it is too long, both ends being what tells most. Plain and safe to print."""
    from rich.cells import set_cell_size  # noqa: PLC0415 - a log needs none of it

    text = visible(text)
    if _cells(text) <= width:
        return text
    if width < 4:
        return set_cell_size(text, max(width, 0)).rstrip()
    tail = (width - 3) // 3
    return f"{set_cell_size(text, width - 3 - tail).rstrip()}...{set_cell_size(text[::-1], tail)[::-1].lstrip()}"


def folded(pieces: Iterable[str], width: int) -> list[str]:
    """The pieces, parted by commas, on as many lines as it takes; only one that is longer than a line is shortened."""
    lines: list[str] = []
    for piece in pieces:
        text = shortened(piece, width)
        if lines and _cells(lines[-1]) + 3 + _cells(text) <= width:  # with the commas before and after it
            lines[-1] += f", {text}"
        else:
            lines.append(text)
    return [f"{line}," for line in lines[:-1] if line] + lines[-1:]


def size(amount: float) -> str:
    """In steps of 1024: 512 B, 1.5 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < _KIBI:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= _KIBI
    return f"{amount:,.1f} TiB"


def duration(seconds: float) -> str:
    """Two units at most: 4.2 s, 3 min 07 s, 2 h 05 min, 3 d 04 h."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86_400:
        return f"{whole // 3_600} h {whole % 3_600 // 60:02} min"
    return f"{whole // 86_400:,} d {whole % 86_400 // 3_600:02} h"


def rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s" if per_second >= 100 else f"{per_second:.1f}/s"


def counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def moment(at: float) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
