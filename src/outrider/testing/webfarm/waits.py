"""The behaviours that take their time: slow, dribbling, endless, and kept connections that end at the worst moment."""

from outrider.testing.webfarm.behaviours import page
from outrider.testing.webfarm.faults import Repeat, Script
from outrider.testing.webfarm.kinds import Behaviour, Instant, Scripted, Until, Wire
from outrider.testing.webfarm.wire import head


class SlowFirstByte(Scripted, frozen=True):
    until: Until
    then: Behaviour

    async def play(self, wire: Wire) -> None:
        await wire.wait(self.until)
        await wire.play(self.then)


def slow_first_byte(until: Until, then: Behaviour | None = None) -> SlowFirstByte:
    """Not a byte before `until`, then as if nothing had been."""
    return SlowFirstByte(until, then or page())


class Dribble(Scripted, frozen=True):
    of: Instant
    size: int
    every: Until

    async def play(self, wire: Wire) -> None:
        reply = self.of.reply(wire.asked, wire.place)
        await wire.send(reply.head)
        if wire.asked.method == "HEAD":
            return
        for start in range(0, len(reply.body), self.size):
            await wire.wait(self.every)
            await wire.send(reply.body[start : start + self.size])


def dribble(of: Instant | None = None, *, size: int = 1, every: Until = 1.0) -> Dribble:
    """The head at once, then the body `size` bytes at a time, with a wait before each."""
    return Dribble(of or page(), size, every)


def server_sent_events(every: float = 1.0) -> Script:
    """A stream of events that never ends, and never says how long it is."""
    top = head(200, {"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    return Script(top, (Repeat(b"data: tick\n\n", every=every),), ends_by_closing=True)


class LeftStale(Scripted, frozen=True):
    then: Behaviour
    reset: bool

    async def play(self, wire: Wire) -> None:
        await wire.play(self.then)
        wire.go_stale(reset=self.reset)


def left_stale(then: Behaviour | None = None, *, reset: bool = False) -> LeftStale:
    """Answers and keeps the connection, then cuts it, without an answer, in the moment the next request arrives."""
    return LeftStale(then or page(), reset)


class ClosedWhenIdle(Scripted, frozen=True):
    then: Behaviour
    until: Until

    async def play(self, wire: Wire) -> None:
        await wire.play(self.then)
        await wire.wait(self.until)
        wire.close()


def closed_when_idle(until: Until, then: Behaviour | None = None) -> ClosedWhenIdle:
    """Answers, keeps the connection until `until`, then closes it; what is asked in between is never read."""
    return ClosedWhenIdle(then or page(), until)
