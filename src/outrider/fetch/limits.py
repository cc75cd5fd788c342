"""How long may a request take? One limit a phase, looked at by a sweep over all requests in flight.

Pure: the sweep says what it sees and how much time has passed; nothing here reads a clock. The time is *patient*: the
sweep counts at most a little of a moment in which our own loop stood still, so that our lag is not blamed on a peer.
Only `total` is real time, because it bounds how long the caller waits.
"""

from typing import Final

from msgspec import Struct

from outrider.errors import ConfigError, Phase

GRACE: Final = 5.0
"""Seconds of reading before the average rate is judged: a slow start is no slow peer."""


class Limits(Struct, frozen=True):
    """Seconds for each phase of one request; `min_rate` in bytes per second, averaged over the answer so far."""

    connect: float = 10.0
    tls: float = 10.0
    first_byte: float = 20.0
    idle: float = 15.0
    total: float = 30.0
    min_rate: float = 100.0
    max_header_bytes: int = 65_536

    def __post_init__(self) -> None:
        for name in ("connect", "tls", "first_byte", "idle", "total", "max_header_bytes"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} is {getattr(self, name)!r}; expected more than 0")

    @property
    def sweep(self) -> float:
        """How often to look: often enough for the smallest limit, rarely enough to cost nothing."""
        return min(0.25, min(self.connect, self.tls, self.first_byte, self.idle, self.total) / 4)


class Watch:
    """What the sweep remembers of one request. `phase`: where it was at the last look; None begins anew."""

    __slots__ = ("arrived", "moved_at", "phase", "since")

    def __init__(self) -> None:
        self.phase: Phase | None = None
        self.since = 0.0
        self.moved_at = 0.0
        self.arrived = 0

    def overdue(self, phase: Phase, arrived: int, now: float, limits: Limits, connect: float) -> Phase | None:
        """Which limit has run out? `arrived` counts bytes of the answer, `connect` is this address's share.

        A phase begins when a look first finds it, so a limit is never short; it may be one sweep long.
        """
        if phase is not self.phase or arrived != self.arrived:
            if phase is not self.phase:
                self.phase, self.since = phase, now
            self.moved_at, self.arrived = now, arrived
        spent = now - self.since
        match phase:
            case Phase.CONNECT:
                return Phase.CONNECT if spent >= connect else None
            case Phase.TLS:
                return Phase.TLS if spent >= limits.tls else None
            case Phase.FIRST_BYTE:
                return Phase.FIRST_BYTE if spent >= limits.first_byte else None
            case _:
                if now - self.moved_at >= limits.idle:
                    return Phase.IDLE
                return Phase.SLOW if spent >= GRACE and arrived < limits.min_rate * spent else None
