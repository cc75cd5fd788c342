"""What do our pages tell people to type? Read from their `sh` blocks, with notes that readers do not see.

A block is run as it stands, unless a comment right above it says otherwise; each comment is a line of its own:

    <!-- not run: needs Docker -->       one of `REASONS`
    <!-- first: outrider crawl … -->     what the page takes for granted is done before
    <!-- with: OUTRIDER_DELAY=0.2 -->    a variable for this block
    <!-- until: test -e crawl.db -->     where a reader is told to sleep: how long
    <!-- exits: 7 -->                    the code of the last command, where that is what the page is about
    <!-- background: 8000 -->            it runs until the page ends by Ctrl-C; it is there when that port listens
    <!-- file: sources.yaml -->          above a block of another kind: the file that the page asks the reader to write
    <!-- printed -->                     above a block of text: its lines are what the block before has printed
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs/tutorial.md",
    *sorted(ROOT.glob("docs/how-to/*.md")),
)
REASONS: Final = (
    "needs the Internet",
    "needs Docker",
    "needs a cluster",
    "needs programs of Kafka",
    "listens beyond this machine",
    "a line of a crontab",
    "is what CI runs",
)
"""Why a block may be left out. `runs in PATH`, of another test that runs it, is one more."""

_BLOCK: Final = re.compile(r"((?:^<!-- [^\n]* -->\n)*)^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOTE: Final = re.compile(r"<!-- ([a-z ]+?)(?:: (.*?))? -->")
_KEYS: Final = {
    "sh": {"not run", "first", "with", "until", "exits", "background"},
    "text": {"printed", "file"},
}
_SLEEP: Final = re.compile(r"\bsleep \d+")
_SHELLS: Final = {"bash", "shell", "console", "shell-session"}


class Block(Struct, frozen=True):
    """One block of code, with the notes above it in their order."""

    kind: str
    text: str
    notes: tuple[tuple[str, str], ...]

    def all(self, key: str) -> list[str]:
        return [value for name, value in self.notes if name == key]

    def note(self, key: str) -> str | None:
        return next(iter(self.all(key)), None)

    def environment(self) -> dict[str, str]:
        return dict(pair.split("=", 1) for pair in self.all("with"))

    def script(self) -> str:
        condition = self.note("until")
        return self.text if condition is None else _SLEEP.sub(f"until {condition}; do sleep 0.1; done", self.text)

    def mistakes(self) -> Iterator[str]:
        """What is wrong with its notes, if anything."""
        if self.kind in _SHELLS:
            yield f"{self.kind}: what is to be typed is in blocks of sh"
        for key, value in self.notes:
            if key not in _KEYS.get(self.kind, {"file"}):
                yield f"{key}: means nothing above a block of {self.kind or 'nothing'}"
            if key == "not run" and value not in REASONS and not _runs_elsewhere(value):
                yield f"not run: {value}: expected one of {', '.join(REASONS)}, or `runs in` a test"


def blocks(page: Path) -> list[Block]:
    return [
        Block(kind, text, tuple((key, value) for key, value in _NOTE.findall(notes)))
        for notes, kind, text in _BLOCK.findall(page.read_text())
    ]


def _runs_elsewhere(reason: str) -> bool:
    return reason.startswith("runs in tests/") and (ROOT / reason.removeprefix("runs in ")).is_file()
