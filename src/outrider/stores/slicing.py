"""When is a slice of the ledger full? When enough was found, or enough was looked through: whichever comes first."""

from collections.abc import Iterable
from typing import Generic, TypeAlias, TypeVar

from outrider.model.ledger import Entry, Search, Slice
from outrider.policy.search import is_wanted
from outrider.stores.bookmark import Bookmarks

P = TypeVar("P")
Line: TypeAlias = tuple[P, Entry | None] | tuple[P, None, int]
"""With its place; None for one that was ruled out unread, or for as many as the number says."""


class Gathering(Generic[P]):
    """What one look has found so far. At least one line is looked at, so that whoever asks again comes further.

    `room` is how many more entries are wanted, `patience` how many more lines may be looked at.
    """

    def __init__(self, search: Search, *, most: int, look: int) -> None:
        self.search = search
        self.room = max(most, 1)
        self.patience = max(look, 1)
        self._found: list[Entry] = []
        self._looked = 0
        self._last: P | None = None

    def takes(self, place: P, entry: Entry | None, lines: int = 1) -> bool:
        """The next line and its place; None for `lines` that were ruled out unread. False: it was full before."""
        if self.room <= 0 or self.patience <= 0:
            return False
        self._last = place
        self._looked += lines
        self.patience -= lines
        if entry is not None and is_wanted(self.search, entry):
            self._found.append(entry)
            self.room -= 1
        return True

    def slice(self, bookmarks: Bookmarks[P], *, is_over: bool) -> Slice:
        after = None if is_over or self._last is None else bookmarks.write(self._last)
        return Slice(tuple(self._found), after, self._looked)


def slice_of(lines: Iterable[Line[P]], gathering: Gathering[P], bookmarks: Bookmarks[P]) -> Slice:
    """Of the lines from where reading goes on."""
    is_over = all(gathering.takes(*line) for line in lines)
    return gathering.slice(bookmarks, is_over=is_over)
