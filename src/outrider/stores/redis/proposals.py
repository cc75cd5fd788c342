"""What does `add.lua` get to read? The tasks of a batch, bucket by bucket and site by site, each in its order."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final

from outrider.model.ledger import Added, Entry, State
from outrider.model.reason import Reason
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.redis import packing
from outrider.stores.redis.buckets import Buckets
from outrider.stores.redis.link import Argument

UNCHECKED: Final = -1
"""The answer of a bucket that has strays to a caller who did not look for them."""
_CLAIMED: Final = ord("3")
_ANSWERS: Final = {ord("0"): Added.KNOWN, ord("1"): Added.NEW, ord("2"): Added.OVER_QUOTA, _CLAIMED: Added.KNOWN}


class Proposals:
    """`places` says which tasks a bucket was asked about; those it was not are strays, and known.

    `keys` are the identity hashes of the tasks, and `sure` those among them that are known for ever from now on.
    """

    def __init__(
        self, keys: Sequence[int], tasks: Sequence[Task], refused: Sequence[tuple[Url, Reason]], rules: FrontierRules
    ) -> None:
        self.tasks = tasks
        self.refused = refused
        self.keys = keys
        self.sure: list[int] = []
        self.refused_keys = [rules.identity.hash(url) for url, _ in refused]
        self.places: defaultdict[int, list[int]] = defaultdict(list)
        self.refused_places: defaultdict[int, list[int]] = defaultdict(list)
        self.answers = [Added.KNOWN] * len(tasks)
        self._rules = rules

    def calls(self, buckets: Buckets, front: Sequence[Argument], strays: Collection[int]) -> dict[int, list[Argument]]:
        by_site: defaultdict[str, list[int]] = defaultdict(list)
        # The links of a page lead to few origins, and finding the site of one is a sixth of our work.
        site_of: dict[str, str] = {}
        for place, task in enumerate(self.tasks):
            if self.keys[place] not in strays:
                origin = task.url.origin
                site = site_of.get(origin) or site_of.setdefault(origin, buckets.site_of(task.url))
                by_site[site].append(place)
        for place, (url, _) in enumerate(self.refused):
            if self.refused_keys[place] not in strays:
                self.refused_places[buckets.of_site(buckets.site_of(url))].append(place)
        calls: defaultdict[int, list[Argument]] = defaultdict(lambda: [*front])
        for site, places in by_site.items():
            bucket = buckets.of_site(site)
            self.places[bucket] += places
            self._write_site(calls[bucket], site, places)
        for bucket in {*calls, *self.refused_places}:
            calls[bucket].append("")
            for place in self.refused_places[bucket]:
                calls[bucket] += (self.refused_keys[place], f"s:{self.refused[place][1].value}")
        return calls

    def note(self, bucket: int, reply: bytes) -> None:
        self.note_answers(bucket, [_ANSWERS[digit] for digit in reply])
        places = self.places[bucket]
        self.sure += [self.keys[place] for place, digit in zip(places, reply, strict=True) if digit != _CLAIMED]

    def note_answers(self, bucket: int, answers: Sequence[Added]) -> None:
        for place, answer in zip(self.places[bucket], answers, strict=True):
            self.answers[place] = answer

    def _write_site(self, call: list[Argument], site: str, places: Sequence[int]) -> None:
        call += (site, self._front_over_quota(site), len(places))
        for place in places:
            task = self.tasks[place]
            where = f"{task.priority} {task.due_at!r}" if task.due_at else task.priority
            call += (self.keys[place], where, packing.pack_tail(task, site))

    def _front_over_quota(self, site: str) -> bytes:
        """The line of a task that its site has no room for; the script adds the task."""
        if self._rules.site_quota is None:
            return b""
        return packing.pack_front(Entry(Url.trusted(""), State.SKIPPED, site, reason=Reason.SITE_QUOTA))
