"""What may reach a terminal, and how does it fit? Nothing from the web is printed before it went through here.

A title, a header or a Location may hold escape sequences that repaint a screen, and characters that turn the direction
of writing: `words.visible` spells them out. Widths are cells, of which a Chinese character takes two.
"""

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from outrider.observe.words import visible

WIDEST: Final = 100
"""A line longer than this is hard to read, however wide the terminal."""
NARROWEST: Final = 40
GAP: Final = "  "

_RULER: Final = Console(file=io.StringIO(), width=WIDEST)
_ASCII: Final = str.maketrans({"━": "=", "→": ">", "·": "-", "…": "~"})  # one for one, so that columns stay


def shortened(text: str, width: int) -> str:
    """Without its middle when it is too long: of a URL, both the host and the end tell most."""
    text = visible(text)
    if cell_len(text) <= width:
        return text
    tail = (width - 1) // 3
    return f"{set_cell_size(text, width - 1 - tail).rstrip()}…{set_cell_size(text[::-1], tail)[::-1].lstrip()}"


def hanging(label: Text, value: Text, indent: int, width: int) -> list[Text]:
    """`label`, and beside it `value`, folded under itself when it does not fit; below it, if the label is too long."""
    margin = Text(" " * indent)
    lines = [margin + line for line in value.wrap(_RULER, max(width - indent, 1), overflow="fold")]
    if label.cell_len < indent or not label:
        lines[0] = Text.assemble(label, lines[0][label.cell_len :])
    else:
        lines = [*label.wrap(_RULER, width, overflow="fold"), *lines]
    for line in lines:
        line.rstrip()
    return lines


def labelled(rows: Iterable[tuple[str, Text]], width: int) -> list[Text]:
    """Rows of a label and its value, in two columns; an empty label goes on with the row above."""
    table = list(rows)
    indent = max((len(label) for label, _ in table), default=0) + len(GAP)
    return [line for label, value in table for line in hanging(Text(label, "bold"), value, indent, width)]


def console_on(stream: TextIO) -> Console:
    """As wide as the terminal behind the stream, 80 when there is none; colours only on a terminal."""
    return Console(file=stream, highlight=False, soft_wrap=True)


def page_width(console: Console) -> int:
    return min(max(console.width, NARROWEST), WIDEST)


def print_lines(lines: Iterable[Text], console: Console) -> None:
    speaks_unicode = console.encoding.startswith("utf")
    for line in lines:
        if not speaks_unicode:
            plain = line.plain.translate(_ASCII).encode(console.encoding, "backslashreplace")
            line.plain = plain.decode(console.encoding)
        console.print(line)


@contextmanager
def waiting(sentence: str) -> Iterator[None]:
    """A visit may take its time, by politeness: somebody who watches is told that it is under way."""
    if not sys.stderr.isatty():
        yield
        return
    console = Console(stderr=True)
    with console.status(Text(shortened(sentence, page_width(console) - len(GAP)))):
        yield
