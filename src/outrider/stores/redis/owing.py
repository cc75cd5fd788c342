"""What does `again.lua` get to read, and what is still to be asked? Sites stay here until they are answered for.

A script sees one bucket and no files. What it cannot see by itself it asks for: the details of a site that is to come
back to life, what lies in files, whether a page is in the queue of another site. Nothing of such a site is written
before, and what may have changed meanwhile is looked at anew by the next call, so there is nothing to guard.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from outrider.model.identity import TRACKING, Identity
from outrider.model.task import Task
from outrider.policy.transition import revived_site
from outrider.ports import FrontierRules
from outrider.stores.redis import packing
from outrider.stores.redis.buckets import Buckets
from outrider.stores.redis.link import Argument
from outrider.stores.redis.server import Replies

MOST_OWED: Final = 20_000
"""Tasks of a site that are looked through; while it owes more, it has enough to do, and nothing of it is owed again."""
MOST_LOOKED: Final = 20_000
"""Tasks a script call, however many sites: the server serves nobody else meanwhile."""
_OWED, _ASIDE, _ELSEWHERE, _IN_FILES, _LATER = b"1", b"2", b"3", b"4", b"5"
_STRAY, _NOT_ELSEWHERE, _IN_FILE = "x", "p", "f"


class Asked:
    """URLs of one site that are not answered for yet, each with what was found out about it."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.marks: dict[int, str] = {}
        self.details = b""
        self.files: dict[str, None] = {}


class Again:
    """One batch: tasks by identity hash. `count` is how many are owed now that were not."""

    def __init__(
        self, tasks: Mapping[int, Task], rules: FrontierRules, buckets: Buckets, strays: Collection[int], *, ended: bool
    ) -> None:
        self.count = 0
        self.ended = ended
        self.tasks = tasks
        self.in_files: list[tuple[str, list[tuple[bytes, bytes]]]] = []
        self.elsewhere: list[tuple[str, int]] = []
        self._rules = rules
        self._buckets = buckets
        self._sites: dict[str, Asked] = {}
        self._order: dict[int, list[Asked]] = {}
        for key, task in tasks.items():
            site = buckets.site_of(task.url)
            asked = self._sites.setdefault(site, Asked(site))
            asked.marks[key] = _STRAY if key in strays else ""

    def __len__(self) -> int:
        """Sites that are still to be asked about."""
        return len(self._sites)

    def calls(self, most_owed: int) -> dict[int, list[Argument]]:
        pace = self._rules.settle.pace
        front: list[Argument] = [int(self.ended), most_owed, MOST_LOOKED, *spelling(self._rules.identity)]
        calls: defaultdict[int, list[Argument]] = defaultdict(lambda: [*front, pace.delay, pace.burst])
        order: defaultdict[int, list[Asked]] = defaultdict(list)
        for asked in self._sites.values():
            bucket = self._buckets.of_site(asked.site)
            order[bucket].append(asked)
            calls[bucket] += (asked.site, asked.details, len(asked.files), *asked.files, len(asked.marks))
            for key, marks in asked.marks.items():
                task = self.tasks[key]
                tail = packing.pack_tail(task, asked.site)
                calls[bucket] += (key, marks, str(task.url), task.priority, task.due_at, tail)
        self._order = order
        return calls

    def note(self, replies: Replies) -> None:
        self.in_files, self.elsewhere = [], []
        for bucket, reply in replies.items():
            for asked, (digits, *extras) in zip(self._order[bucket], reply, strict=True):
                self._note(asked, digits, extras)

    def note_in_files(self, site: str, files: Iterable[str], owed: Collection[int]) -> None:
        """These were looked through, and this is what they hold."""
        asked = self._sites[site]
        asked.files |= dict.fromkeys(files)
        for key in asked.marks.keys() & owed:
            asked.marks[key] += _IN_FILE

    def note_elsewhere(self, site: str, key: int, *, is_answered: bool) -> None:
        """It is in another site's queue, and was answered for there; or it is not there any more."""
        if is_answered:
            del self._sites[site].marks[key]
            self._drop_if_answered(self._sites[site])
        else:
            self._sites[site].marks[key] += _NOT_ELSEWHERE

    def _note(self, asked: Asked, digits: bytes, extras: Sequence[Any]) -> None:
        if digits.startswith(_ASIDE):
            site = packing.read_site(asked.site, packing.read_numbers(extras[0]), extras[1], b"")
            asked.details = packing.pack_details(revived_site(site))
        elif digits.startswith(_IN_FILES):
            self.in_files.append((asked.site, list(pairs(extras))))
        elif not digits.startswith(_LATER):
            self.count += digits.count(_OWED)
            answers = zip(list(asked.marks), digits, strict=True)
            asked.marks = {key: asked.marks[key] for key, digit in answers if digit == ord(_ELSEWHERE)}
            self.elsewhere += [(asked.site, key) for key in asked.marks]
            self._drop_if_answered(asked)

    def _drop_if_answered(self, asked: Asked) -> None:
        if not asked.marks:
            del self._sites[asked.site]


def spelling(identity: Identity) -> tuple[Argument, Argument]:
    """What `urls.lua` must know to tell two URLs apart."""
    return " ".join(sorted(TRACKING)) if identity.strip_tracking else "", int(not identity.sort_query)


def pairs(flat: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)
