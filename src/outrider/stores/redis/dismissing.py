"""What does `dismiss.lua` get to read, and what is still to be asked? Sites stay here until they are answered for.

As with `owing`, a script sees one bucket and no files: what lies elsewhere is looked up between two calls, and nothing
of a site is written before all of its URLs have been found, or are nowhere.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.policy.transition import BY_HAND
from outrider.ports import FrontierRules
from outrider.stores.redis.buckets import Buckets
from outrider.stores.redis.link import Argument
from outrider.stores.redis.owing import MOST_LOOKED, pairs, spelling
from outrider.stores.redis.server import Replies

_ENDED, _ELSEWHERE, _IN_FILES, _LATER = b"1", b"3", b"4", b"5"
_STRAY, _HELD_HERE = "x", "h"


class Part(Struct, frozen=True):
    """A segment that was looked through: what it holds of the wanted, and the segment `new` without those, if any."""

    queue: bytes
    text: bytes
    new: bytes
    lost: dict[int, bytes]


class Asked:
    """URLs of one site that are not answered for yet, with their marks."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.marks: dict[int, str] = {}
        self.parts: list[Part] = []


class Dismissal:
    """One batch: URLs by identity hash. `gone` are those that were ended by it."""

    def __init__(
        self, urls: Mapping[int, tuple[Url, Reason]], rules: FrontierRules, buckets: Buckets, strays: Collection[int]
    ) -> None:
        self.gone: set[int] = set()
        self.in_files: list[tuple[str, list[tuple[bytes, bytes]]]] = []
        self.done: list[tuple[list[Part], list[bytes]]] = []
        self._urls = urls
        self._rules = rules
        self._buckets = buckets
        self._sites: dict[str, Asked] = {}
        self._order: dict[int, list[Asked]] = {}
        for key, (url, _) in urls.items():
            self._ask(buckets.site_of(url), key, _STRAY if key in strays else "")

    def __len__(self) -> int:
        """Sites that are still to be asked about."""
        return len(self._sites)

    def wanted(self, site: str) -> set[int]:
        return set(self._sites[site].marks)

    def calls(self) -> dict[int, list[Argument]]:
        front: list[Argument] = [MOST_LOOKED, *spelling(self._rules.identity), BY_HAND]
        calls: defaultdict[int, list[Argument]] = defaultdict(lambda: [*front])
        order: defaultdict[int, list[Asked]] = defaultdict(list)
        for asked in self._sites.values():
            bucket = self._buckets.of_site(asked.site)
            order[bucket].append(asked)
            calls[bucket] += (asked.site, len(asked.parts))
            for part in asked.parts:
                calls[bucket] += (part.queue, part.text, part.new, len(part.lost))
                calls[bucket] += [word for key, item in part.lost.items() for word in (key, item)]
            calls[bucket].append(len(asked.marks))
            for key, marks in asked.marks.items():
                url, reason = self._urls[key]
                calls[bucket] += (key, marks, str(url), reason.value)
        self._order = order
        return calls

    def note(self, replies: Replies) -> None:
        self.in_files, self.done = [], []
        elsewhere: list[tuple[str, int]] = []
        for bucket, reply in replies.items():
            for asked, (digits, *extras) in zip(self._order[bucket], reply, strict=True):
                elsewhere += self._note(asked, digits, extras)
        for site, key in elsewhere:
            self._ask(site, key, _HELD_HERE)

    def note_parts(self, site: str, parts: Sequence[Part]) -> None:
        self._sites[site].parts += parts

    def _ask(self, site: str, key: int, marks: str) -> None:
        self._sites.setdefault(site, Asked(site)).marks[key] = marks

    def _note(self, asked: Asked, digits: bytes, extras: Sequence[Any]) -> list[tuple[str, int]]:
        """Which are to be looked for elsewhere, and where."""
        if digits.startswith(_IN_FILES):
            self.in_files.append((asked.site, list(pairs(extras))))
            return []
        if digits.startswith(_LATER):
            return []
        holders, replaced = extras
        del self._sites[asked.site]
        self.done.append((asked.parts, replaced))
        answers = list(zip(asked.marks, digits, strict=True))
        self.gone |= {key for key, digit in answers if digit == ord(_ENDED)}
        held = [key for key, digit in answers if digit == ord(_ELSEWHERE)]
        return [(name.decode(), key) for name, key in zip(holders, held, strict=True)]
