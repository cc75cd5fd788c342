"""Feed sources on a clock: look, serve what is due as far as there is room, sleep until the next is.

Nothing is dropped when the queue is full, and nothing spins (H4-12): what is due stays due, the queue is asked once a
second, and a long list goes on where it was. What was given is remembered by the outlet, so that a restart, a second
scheduler or a kill at any moment changes nothing. When the outlet is away the schedule waits, and says so once.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, TypeAlias, assert_never

from msgspec import Struct
from msgspec.structs import replace

from outrider.engine.waiting import wait_for
from outrider.errors import ConfigError, SchemaMismatch, StoreError
from outrider.observe.words import counted
from outrider.policy.schedule import Begin, Due, Fed, Kind, Listed, Look, Outdated, Source, Step, Turn, plan, serve
from outrider.ports import Clock

STEP: Final = 1_000
"""URLs given at once: then it is another source's turn."""
POLL: Final = 1.0
"""How often a full queue, or a source that cannot be served, is asked again."""
TELL_EVERY: Final = 60.0
"""So often it is told how many were given."""
LONGEST_NAP: Final = 15.0
"""Also when nothing is due for days: the queue's length is told, and another's work is seen."""

Read: TypeAlias = Callable[[Source], Awaitable[Listed]]
Tell: TypeAlias = Callable[[str], None]


class Outlet(Protocol):
    """Where URLs go, and where it is remembered which were given. At most `most` wait there at any moment."""

    @property
    def most(self) -> int: ...

    async def look(self, sources: Sequence[Source] = ()) -> Look:
        """How it is now, by the outlet's clock, with the turns of these sources."""
        ...

    async def feed(self, step: Step) -> Fed:
        """Give as many as there is room for, and remember it, in one: unless it was remembered by another already."""
        ...


class ScheduleCounts(Struct):
    """For the metrics: since the start, and as it was last seen; None while nobody has looked yet.

    Seeds are pages that somebody named, in the file or in a list; the other URLs are sitemaps and feeds. `loop_lag` is
    how long the source that is longest overdue has waited.
    """

    urls_enqueued: int = 0
    seed_urls_enqueued: int = 0
    queue_size: int | None = None
    loop_lag: float = 0.0


class Scheduler:
    """`tell` hears what a person should know, a sentence at a time. `counts` may be read at any moment.

    `trouble` is why nothing can be fed just now; None while all is well. `beat` is called at each round.
    """

    def __init__(self, sources: Sequence[Source], read: Read, outlet: Outlet, clock: Clock, tell: Tell) -> None:
        self.counts = ScheduleCounts()
        self.trouble: str | None = None
        self.beat: Callable[[], None] = lambda: None
        self._outlet = outlet
        self._clock = clock
        self._tell = tell
        self._news = asyncio.Event()
        self._is_stopping = False
        self._is_full = False
        self._failures = 0
        self._overdue_since: float | None = None
        self._untold, self._told_at = 0, float("-inf")
        self._complaints: dict[str, str] = {}
        self.reload(sources, read)

    def reload(self, sources: Sequence[Source], read: Read) -> None:
        """From the next step on these, and no others. What they share with those before stays remembered."""
        self._sources, self._read = tuple(sources), read
        self._is_new = True
        self._is_full = False
        self._complaints.clear()
        self._news.set()

    def stop(self) -> None:
        """After the step that is under way."""
        self._is_stopping = True
        self._news.set()

    async def run(self, *, once: bool = False) -> None:
        """Until it is stopped. With `once`: one round, and a `StoreError` is raised instead of waited out."""
        while not self._is_stopping:
            self.beat()
            try:
                nap = await self._round()
            except SchemaMismatch:
                raise
            except StoreError as error:
                if once:
                    raise
                nap = self._pause(error)
            else:
                self._go_on()
                if once:
                    return
            await wait_for(self._news, nap, self._clock)
            self._news.clear()
        if self._untold:
            self._tell_given(self.counts.queue_size or 0)

    async def _round(self) -> float:
        """Serve who is due, in turns, while there is room; how long to sleep then."""
        sources, was_full = self._sources, self._is_full  # others may come while somebody is waited for
        look = await self._outlet.look(() if was_full else sources)
        self._note(look)
        if was_full:
            if look.waiting >= self._outlet.most:
                return POLL
            look = await self._outlet.look(sources)
        ahead = look.now - self._clock.now()
        if self._is_new:
            await self._remark(sources, look)
        turns, due, unserved = dict(look.turns), deque(plan(sources, look.turns, look.now).due), 0
        self._overdue_since = min((one.at for one in due), default=None)
        self._note(look)
        waiting = look.waiting
        while due and waiting < self._outlet.most and not self._is_stopping:
            first = due.popleft()
            room = min(self._outlet.most - waiting, STEP)
            fed = await self._serve(first, turns, self._clock.now() + ahead, room)
            if fed is None or fed.given is None:
                unserved += 1
            if fed is not None:
                waiting = self.counts.queue_size = fed.waiting
                if fed.given is not None and not turns[first.source.name].is_over:
                    due.append(first)
        self._say_how_it_went(has_more=bool(due), waiting=waiting)
        if due or unserved:
            return POLL
        self._overdue_since = None
        self.counts.loop_lag = 0.0
        now = self._clock.now() + ahead
        then = plan(sources, turns, now)
        if then.due:
            return 0.0
        return LONGEST_NAP if then.wake_at is None else min(then.wake_at - now, LONGEST_NAP)

    async def _serve(self, due: Due, turns: dict[str, Turn], now: float, most: int) -> Fed | None:
        """One step of one source; None when it cannot be served now, which is told."""
        source = due.source
        try:
            listed = await self._read(source)
        except ConfigError as error:
            self._complain(source, f"{source} is not fed until it is mended: {error}")
            return None
        last = turns.get(source.name)
        serving = serve(due, last, listed.edition, now)
        match serving:
            case Outdated():
                wait = "this one waits for its next turn, unless it is written anew"
                self._complain(source, f"{source}: a later version of it is being fed by another scheduler; {wait}")
                return None
            case Begin(turn=turn, anew=anew):
                urls = listed.urls[turn.given : turn.given + most]
                fed = await self._outlet.feed(Step(source, urls, turn, last))
                if fed.given is None:
                    return fed
                turns[source.name] = replace(turn, given=turn.given + fed.given)
                self._count(source, fed.given)
                if anew and fed.given:
                    self._tell(f"{source} has changed while it was fed: it is fed from its beginning")
                self._complaints.pop(source.name, None)
                return fed
            case _:
                assert_never(serving)

    async def _remark(self, sources: Sequence[Source], look: Look) -> None:
        """A list that is fed once and was edited afterwards is not fed again: nobody should have to guess that."""
        self._is_new = False
        for source in sources:
            turn = look.turns.get(source.name)
            if source.kind is not Kind.SEEDS or source.every is not None or turn is None or not turn.is_over:
                continue
            try:
                listed = await self._read(source)
            except ConfigError:
                continue  # it is over, so that nobody needs it any more
            if listed.edition.digest != turn.edition.digest:
                self._tell(f"{source} was fed once already, and has changed since: under another name it is fed again")

    def _note(self, look: Look) -> None:
        self.counts.queue_size = look.waiting
        since = self._overdue_since
        self.counts.loop_lag = max(look.now - since, 0.0) if since is not None else 0.0

    def _count(self, source: Source, given: int) -> None:
        self.counts.urls_enqueued += given
        self._untold += given
        if source.kind in {Kind.URL, Kind.SEEDS}:
            self.counts.seed_urls_enqueued += given

    def _say_how_it_went(self, *, has_more: bool, waiting: int) -> None:
        """Not at each round: when the queue fills up, at the end, and otherwise once a minute."""
        is_full = has_more and not self._is_stopping
        begins_to_wait = is_full and not self._is_full
        if self._untold and (begins_to_wait or self._clock.now() - self._told_at >= TELL_EVERY):
            self._tell_given(waiting)
        if begins_to_wait:
            may = "as many as may (max_queue_size)"
            self._tell(f"no room: {waiting:,} wait, {may}; the rest follows when there is")
        self._is_full = is_full

    def _tell_given(self, waiting: int) -> None:
        self._tell(f"{counted(self._untold, 'URL')} given; {waiting:,} wait to be visited")
        self._untold, self._told_at = 0, self._clock.now()

    def _complain(self, source: Source, sentence: str) -> None:
        if self._complaints.get(source.name) != sentence:
            self._complaints[source.name] = sentence
            self._tell(sentence)

    def _pause(self, error: StoreError) -> float:
        if not self._failures:
            self._tell(f"{error}; waiting until it is back")
        self.trouble = str(error)
        self._failures += 1
        return min(POLL * 2.0 ** min(self._failures - 1, 10), LONGEST_NAP)

    def _go_on(self) -> None:
        if self._failures:
            self._failures, self.trouble = 0, None
            self._tell("the store is back: going on")
