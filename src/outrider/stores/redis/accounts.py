"""What does `settle.lua` get to read? The accounts, with what policy makes of each task already worked out.

A page that took the name of another site is the one thing that may need two buckets: the name is claimed in its own
site's bucket first, and let go again when the account is refused. Should we die in between, the name stays known and
counted, and the page, still owed, keeps its own name at the next visit.
"""

from collections import defaultdict
from collections.abc import Collection
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from outrider.model.identity import Identity
from outrider.model.ledger import Entry, Settled, State
from outrider.model.settlement import Dead, Done, Settlement
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.transition import Ended, Next, Owed, apply
from outrider.stores.redis import packing
from outrider.stores.redis.buckets import Buckets
from outrider.stores.redis.link import Argument
from outrider.stores.redis.server import Replies

Step: TypeAlias = list[Argument]
Name: TypeAlias = tuple[int, Url]

_CLAIMED: Final = "!"
_COUNTERS: Final = {State.FETCHED: "fetched", State.ALIAS: "alias", State.SKIPPED: "s", State.DEAD: "d"}


class Claim(Struct):
    """A name in another bucket that a page wants. `step` is what becomes of the page when it gets it."""

    key: int
    bucket: int
    holder: str
    account: int
    place: int
    step: Step
    is_taken: bool = False


def counter_of(entry: Entry) -> str:
    """Where the census counts an ended URL."""
    counter = _COUNTERS[entry.state]
    return f"{counter}:{entry.reason.value}" if entry.reason is not None else counter


def ended(task: Task, entry: Entry, key: int | str = "", name: int | str = "") -> Step:
    """The story of the task is over, with a line that may be revived or without one."""
    line = packing.pack_line(entry)
    if line:
        return ["l", task.sequence, counter_of(entry), key, line]
    return ["e", task.sequence, counter_of(entry), name]


def died(task: Task, dead: Dead, site: str, identity: Identity) -> Step:
    after = apply(task, dead, site)
    return ended(task, after.entry, identity.hash(task.url)) if isinstance(after, Ended) else shown_again(task, site)


def shown_again(task: Task, site: str) -> Step:
    return ["r", task.sequence, packing.pack_item(replace(task, recoveries=task.recoveries + 1), site)]


def account_of(site: Site, token: int, steps: list[Step], *, keep: bool, robots: bytes) -> Step:
    """A holder's account, as `settle.lua` reads it."""
    pace = site.pace
    front: Step = [site.key, token, "", site.not_before, pace.full_at, pace.interval, pace.burst]
    front += [int(site.set_aside), int(keep), packing.pack_details(site), robots, len(steps)]
    return [*front, *(argument for step in steps for argument in step)]


def lapse_of(site: str, token: int, deadline: float, not_before: float, steps: list[Step]) -> Step:
    """The account of a lease whose holder gave none: true only while that deadline stands."""
    front: Step = [site, token, deadline, not_before, 0, "", "", "", 0, "", "", len(steps)]
    return [*front, *(argument for step in steps for argument in step)]


class Writer:
    """Gathers the accounts of one call, bucket by bucket, and puts the answers back in order."""

    def __init__(self, identity: Identity, buckets: Buckets, taken: Collection[int] = ()) -> None:
        self.claims: list[Claim] = []
        self._identity = identity
        self._buckets = buckets
        self._taken = taken
        self._accounts: list[tuple[int, Settled, list[Step]]] = []

    def write(self, account: Settled) -> None:
        site = account.lease.site.key
        shown = {task.url: task for task in account.lease.tasks}
        steps: list[Step] = []
        bucket = self._buckets.of_site(site)
        self._accounts.append((bucket, account, steps))
        for named, settlement in account.settlements:
            # The lease's own task counts, and it counts once.
            task = shown.pop(named.url, None)
            if task is not None:
                steps.append(self._step(task, settlement, site, bucket, len(steps)))

    def calls(self) -> dict[int, list[Argument]]:
        calls: defaultdict[int, list[Argument]] = defaultdict(list)
        for claim in self.claims:
            if claim.is_taken:
                self._accounts[claim.account][2][claim.place] = claim.step
        for bucket, account, steps in self._accounts:
            site, before = account.site, account.lease.site
            robots = packing.pack_robots(site) if site.robots != before.robots else b""
            site = replace(site, key=before.key)
            calls[bucket] += account_of(site, account.lease.token, steps, keep=account.keep, robots=robots)
        return calls

    def answers(self, replies: Replies) -> list[bool]:
        digits = {bucket: iter(reply) for bucket, reply in replies.items()}
        return [next(digits[bucket]) == ord("1") for bucket, _, _ in self._accounts]

    def _step(self, task: Task, settlement: Settlement, site: str, bucket: int, place: int) -> Step:
        after = apply(task, settlement, site)
        name = self._name(task, settlement)
        if name is not None:
            return self._named(task, after, name, bucket, place)
        match after:
            case Ended(entry):
                return ended(task, entry, self._identity.hash(task.url) if entry.task is not None else "")
            case Owed(later):
                return _owed(later, site)

    def _named(self, task: Task, after: Next, name: Name, bucket: int, place: int) -> Step:
        """A page that wants another name: it gets it in this bucket if it is free, or claims it in the other one."""
        key, url = name
        site = self._accounts[-1][1].lease.site.key
        if isinstance(after, Ended):
            plain, under_name = ended(task, after.entry), ended(task, after.entry, name=key)
            # In the other bucket the page counts as fetched already: what is left here is the alias.
            claimed: Step = ["e", task.sequence, "alias", ""]
        else:
            plain, item = _owed(after.task, site), packing.pack_item(replace(after.task, url=url), site)
            under_name, claimed = [*plain[:-2], key, item], [*plain[:-2], _CLAIMED, item]
        its_site = self._buckets.site_of(url)
        its_bucket = self._buckets.of_site(its_site)
        # A page that is owed on in a queue that is not its site's leaves a pointer where it would be looked for.
        if its_bucket == bucket and (its_site == site or isinstance(after, Ended)):
            return under_name
        holder = site if isinstance(after, Owed) else ""
        self.claims.append(Claim(key, its_bucket, holder, len(self._accounts) - 1, place, claimed))
        return plain

    def _name(self, task: Task, settlement: Settlement) -> Name | None:
        """The new name that a page wants, unless it is known to be taken."""
        if not isinstance(settlement, Done) or settlement.url == task.url:
            return None
        key = self._identity.hash(settlement.url)
        return (key, settlement.url) if key != self._identity.hash(task.url) and key not in self._taken else None


def _owed(task: Task, site: str) -> Step:
    return ["o", task.sequence, task.priority, task.due_at, packing.pack_item(task, site), "", ""]
