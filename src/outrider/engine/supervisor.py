"""One who watches over all workers: starts them, starts them again, shares out the limits, and knows when it is over.

It does no work of its own. When it dies, its workers stop; when a worker dies, another takes its place.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from outrider.engine.budget import Keeper
from outrider.engine.finish import Finish, Standing, finish
from outrider.engine.mates import Mate, Terms, Watched, pages_of, satisfied, silent
from outrider.engine.messages import Broke, Done, Drain, Grant, Report, Stop
from outrider.engine.waiting import PATIENCE, wait_for
from outrider.errors import OutriderError, StoreError, StoreUnavailable
from outrider.model.event import CrawlFinished, CrawlStarted, Event, WorkerVanished
from outrider.model.ledger import Census
from outrider.model.progress import Counts, Progress, WorstBreaker
from outrider.model.record import Tally
from outrider.ports import Clock, EventSink, Frontier

_TICK: Final = 0.1
_SHOWN_EVERY: Final = 0.25
_COUNTED_EVERY: Final = 0.5
_RATE_OVER: Final = 10.0
_MOST_DEATHS: Final = 10
"""Workers that may vanish in a row without one page between them; then something is wrong that a new one has, too."""


class Supervisor:
    """`spawn` starts worker number n; `tally` reads what is on record; `shown` is called with each progress.

    `tidied` is awaited when a worker has vanished, before anybody counts or takes its place.
    """

    def __init__(  # noqa: PLR0913 - what it watches, and whom it tells
        self,
        terms: Terms,
        frontier: Frontier,
        events: EventSink,
        clock: Clock,
        *,
        spawn: Callable[[int], Awaitable[Mate]],
        keeper: Keeper | None,
        tally: Callable[[], Awaitable[Tally]],
        memory: Callable[[], int],
        shown: Callable[[Progress], None],
        waits_for: Callable[[], Awaitable[str]],
        tidied: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self._terms = terms
        self._frontier = frontier
        self._events = events
        self._clock = clock
        self._spawn = spawn
        self._keeper = keeper
        self._tally = tally
        self._memory = memory
        self._shown = shown
        self._waits_for = waits_for
        self._tidied = tidied
        self._mates: dict[int, Watched] = {}
        self._news = asyncio.Event()
        self._asked: Finish | None = None
        self._now = False
        self._give_up = False
        self._broke: Broke | None = None
        self._bug: BaseException | None = None
        self._is_ending = False
        self._gone = Counts()
        self._burials = 0
        self._deaths = 0
        self._vanished = 0
        self._pages_at_death = -1
        self._must_recount = True
        self._census = Census()
        self._rates: deque[tuple[float, int]] = deque()
        self._started_at = clock.now()
        self._waiting_for = ""
        self._idle_since: float | None = None

    def drain(self, why: Finish) -> None:
        """Finish what is under way, then end. A second time: end now. A third time: whoever is still there is killed.

        Who waits for a store that is away could wait for ever. What it held is lent again, so nothing is lost.
        """
        self._give_up, self._now = self._now, self._asked is not None
        self._asked = self._asked or why
        self._news.set()

    async def run(self) -> Progress:
        """The last progress, with why it ended. Raises what broke a worker, and `OutriderError` when none stays up."""
        await self._publish(CrawlStarted(at=self._started_at, workers=self._terms.workers, resumed=self._terms.resumed))
        try:
            for number in range(self._terms.workers):
                await self._start(number)
            why = await self._watch()
            await self._end_all(why)
        finally:
            await self._abandon()
        if self._broke is not None:
            raise StoreError(self._broke.message)
        if self._give_up:
            raise StoreError("stopped before everything was written; what was under way stays owed")
        await self._count()
        last = self._progress(why)
        self._shown(last)
        seconds = self._clock.now() - self._started_at
        await self._publish(CrawlFinished(at=self._clock.now(), finish=why, pages=last.counts.pages, seconds=seconds))
        return last

    # workers

    async def _start(self, number: int) -> None:
        mate = await self._spawn(number)
        watched = self._mates[number] = Watched(mate)
        watched.listening = asyncio.create_task(self._listen(number, watched))
        watched.listening.add_done_callback(self._heard_out)

    def _heard_out(self, listening: asyncio.Task[None]) -> None:
        """Nobody awaits those who listen: what went wrong there is raised by whoever watches."""
        if not listening.cancelled():
            self._bug = self._bug or listening.exception()
            self._news.set()

    async def _listen(self, number: int, watched: Watched) -> None:
        while True:
            message = await watched.mate.channel.receive()
            match message:
                case Report():
                    watched.report = message
                    if self._keeper is not None:
                        self._keeper.hear(number, message.account)
                case Broke():
                    self._broke = message
                    watched.is_broken = True
                case Done():
                    watched.is_done = True
                case None:
                    break
            self._news.set()
        code = await watched.mate.wait()
        if not watched.is_done and not watched.is_broken:
            self._burials += 1
            try:
                await self._bury(number, watched, code)
            finally:
                self._burials -= 1
        self._news.set()

    async def _bury(self, number: int, watched: Watched, code: int) -> None:
        """It vanished. Its leases run out by themselves, and what it had in hand is counted anew."""
        try:
            if self._tidied is not None:
                await self._tidied()
        except StoreError as error:
            self._broke = Broke(type(error).__name__, str(error))
            watched.is_broken = True
            return
        del self._mates[number]
        watched.mate.channel.close()
        self._gone = self._gone.plus(watched.report.counts)
        if self._keeper is not None:
            self._keeper.forget(number)
            self._must_recount = True
        self._vanished += 1
        pages = self._counts().visits
        self._deaths = self._deaths + 1 if pages == self._pages_at_death else 1
        self._pages_at_death = pages
        await self._publish(WorkerVanished(at=self._clock.now(), worker=number, exit_code=code))
        is_wanted = self._asked is None and self._broke is None and not self._is_ending
        if is_wanted and self._deaths <= _MOST_DEATHS:
            await self._start(number)

    async def _end_all(self, why: Finish) -> None:
        """Drain, or stop at once when the time is over; a second signal turns the first into the second.

        A worker that was just being replaced comes while we wait here: it is told then. What breaks one of them while
        all were to end anyway keeps the others from nothing.
        """
        self._is_ending = True
        while self._is_anybody_there and why is not Finish.BROKEN and not self._give_up:
            order = Stop() if self._now or why is Finish.TIME_LIMIT else Drain()
            for watched in list(self._mates.values()):
                if watched.told != order:
                    watched.told = order
                    await watched.mate.channel.send(order)
            await self._wait()
            self._raise_bug()
            self._shown(self._progress(None))

    @property
    def _is_anybody_there(self) -> bool:
        return self._burials > 0 or any(
            not watched.is_done and not watched.is_broken for watched in self._mates.values()
        )

    async def _abandon(self) -> None:
        """Nobody is left behind, whatever happened here; and nobody listens any more, who would replace the dead."""
        for watched in self._mates.values():
            if watched.listening is not None:
                watched.listening.cancel()
            if not watched.is_done:
                watched.mate.kill()
            watched.mate.channel.close()
        for watched in self._mates.values():
            await watched.mate.wait()

    # watching

    async def _watch(self) -> Finish:
        shown_at = counted_at = 0.0
        while True:
            self._raise_bug()
            if self._broke is not None:
                return Finish.BROKEN
            if self._asked is not None:
                return self._asked
            if not self._mates and not self._burials:
                raise OutriderError(
                    f"the workers die as soon as they are started ({self._deaths} in a row): see the logs"
                )
            exhausted = await self._share_out()
            now = self._clock.now()
            reports = [watched.report for watched in self._mates.values()]
            all_idle = all(report.idle for report in reports)
            if all_idle or now - counted_at >= _COUNTED_EVERY:
                await self._count()
                counted_at = now
            why = finish(self._standing(reports, now, exhausted, all_idle=all_idle))
            if why is not None:
                return why
            await self._note_stall(reports, now, all_idle=all_idle)
            if now - shown_at >= _SHOWN_EVERY:
                self._shown(self._progress(None))
                shown_at = now
            await self._wait()

    def _raise_bug(self) -> None:
        if self._bug is not None:
            raise self._bug

    async def _wait(self) -> None:
        """Reports come in bursts: a tick lets them gather."""
        await self._clock.sleep(_TICK / 4)
        await wait_for(self._news, _TICK, self._clock)
        self._news.clear()

    async def _count(self) -> None:
        try:
            self._census = await self._frontier.census()
        except StoreUnavailable:
            return  # the workers know, and say so

    async def _share_out(self) -> Finish | None:
        """Permits for those who want some. The limit is reached when none is out, and the record says so itself."""
        keeper = self._keeper
        if keeper is None:
            return None
        wanting = [number for number, watched in self._mates.items() if watched.report.account.wants]
        if not wanting:
            return None
        if self._must_recount or (not keeper.available and not keeper.out):
            tally = await self._recounted(keeper)
            if tally is not None and not self._must_recount and not keeper.available and not keeper.out:
                reached = self._terms.pages is not None and pages_of(tally) >= self._terms.pages
                return Finish.MAX_PAGES if reached else Finish.SIZE_LIMIT
        for number in wanting:
            watched = self._mates.get(number)
            # While we count or send, others may die: then nothing is granted before it has been counted again.
            if self._must_recount or watched is None:
                break
            permits = keeper.grant(number)
            if permits:
                # Until its next report says otherwise, it has what it wanted.
                watched.report = satisfied(watched.report)
                await watched.mate.channel.send(Grant(permits))
        return None

    async def _recounted(self, keeper: Keeper) -> Tally | None:
        """None while the records are away."""
        self._must_recount = False
        keeper.begin_recount()
        try:
            tally = await self._tally()
        except StoreUnavailable:
            self._must_recount = True
            return None
        keeper.recount(pages_of(tally), tally.bytes)
        return tally

    async def _note_stall(self, reports: list[Report], now: float, *, all_idle: bool) -> None:
        # Somebody looks now and then whether a paused site still is, and is not idle then; but nobody is under way.
        silenced = sorted({site for report in reports for site in report.silenced})
        if not all_idle and not (silenced and not any(report.in_flight for report in reports)):
            self._idle_since, self._waiting_for = None, ""
            return
        if self._idle_since is None:
            self._idle_since = now
        elif now - self._idle_since > 1.0:
            self._idle_since = now
            if silenced:
                self._waiting_for = f"{', '.join(silenced)}: paused by an operator"
                return
            try:
                self._waiting_for = await self._waits_for()
            except StoreUnavailable:
                self._waiting_for = "a store that is away"

    def _standing(self, reports: list[Report], now: float, exhausted: Finish | None, *, all_idle: bool) -> Standing:
        counts = self._counts()
        nexts = [report.idle_until for report in reports if report.idle_until is not None]
        seconds = self._terms.seconds
        return Standing(
            census=self._census,
            now=now,
            all_idle=all_idle,
            next_at=min(nexts, default=None),
            tried=counts.visits,
            answers=counts.visits - silent(counts),
            is_new=not self._terms.resumed or not self._census.fetched,
            recrawls=self._terms.recrawls,
            endless=self._terms.endless,
            ends_at=None if seconds is None else self._started_at + seconds,
            exhausted=exhausted,
            held_back=any(report.silenced for report in reports),
        )

    def _counts(self) -> Counts:
        counts = self._gone
        for watched in self._mates.values():
            counts = counts.plus(watched.report.counts)
        return counts

    def _progress(self, why: Finish | None) -> Progress:
        now = self._clock.now()
        reports = [watched.report for watched in self._mates.values()]
        counts = self._counts()
        return Progress(
            at=now,
            started_at=self._started_at,
            finish=None if why is None else why.value,
            workers=len(reports),
            in_flight=sum(report.in_flight for report in reports),
            held=sum(report.held for report in reports),
            broken=sum(report.broken for report in reports),
            census=self._census,
            counts=counts,
            rate=self._rate(now, counts.pages + counts.unchanged),
            limit_pages=self._terms.pages,
            paused=next((report.paused for report in reports if report.paused), ""),
            waiting_for=self._waiting_for,
            memory=self._memory() + sum(report.memory for report in reports),
            directory=self._terms.directory,
            breaker=max((report.breaker for report in reports), default=WorstBreaker()),
            deaths=self._vanished,
        )

    def _rate(self, now: float, pages: int) -> float:
        self._rates.append((now, pages))
        while now - self._rates[0][0] > _RATE_OVER and len(self._rates) > 2:
            self._rates.popleft()
        since, before = self._rates[0]
        return (pages - before) / (now - since) if now > since else 0.0

    async def _publish(self, event: Event) -> None:
        """A sink that is away is waited for, but not for ever: without it there is no crawl."""
        for wait in PATIENCE:
            try:
                await self._events.publish([event])
            except StoreUnavailable:
                await self._clock.sleep(wait)
            else:
                return
        await self._events.publish([event])
