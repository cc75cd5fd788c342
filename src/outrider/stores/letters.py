"""A URL names where dead letters go; and what becomes of events there: a letter for each URL that died.

Only `UrlDied` makes one, and no URL dies by the fault of its site: such failures never get here (S4-5, C18). A third
party's store comes by an entry point in the group `outrider.letters`.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final, Protocol, cast

from outrider.model.event import Event, PageFailed, UrlDied
from outrider.model.letter import DeadLetter
from outrider.model.outcome import Scope
from outrider.ports import Clock, DeadLetters, EventSink
from outrider.stores.place import Place
from outrider.stores.registry import backend_for

LETTERS: Final[Mapping[str, str]] = {
    "memory": "outrider.stores.memory.letters:MemoryDeadLetters",
    "redis": "outrider.stores.redis.dead_letters:RedisDeadLetters",
    "rediss": "outrider.stores.redis.dead_letters:RedisDeadLetters",
    "redis+cluster": "outrider.stores.redis.dead_letters:RedisDeadLetters",
    "rediss+cluster": "outrider.stores.redis.dead_letters:RedisDeadLetters",
}


class LetterSink(DeadLetters, EventSink, Protocol):
    """What a store of dead letters is: the port, and a sink that makes them of events.

    The first failure of a URL that will be visited again is remembered for a week. One that the URL got over counts
    too when it dies within that week, unless it dies at its first failure: nobody is asked about every page that is
    fetched.
    """


class LettersBackend(Protocol):
    """A class that can open one. `Place.end` is called by the backend once it has taken its options."""

    def open(self, place: Place, name: str, clock: Clock | None) -> AbstractAsyncContextManager[LetterSink]: ...


def open_letters(url: str, name: str, clock: Clock | None = None) -> AbstractAsyncContextManager[LetterSink]:
    """Open the dead letters `name` at the place that `url` names; by `clock` and not the server's own, for tests.

    Raises `ConfigError` for a scheme, an option or a name that cannot be, `OutriderError` for a missing driver, and
    `StoreError` when they cannot be used.
    """
    place = Place(url)
    backend = cast("LettersBackend", backend_for(place, "store of dead letters", LETTERS, "outrider.letters"))
    return backend.open(place, name, clock)


def moment(at: float) -> str:
    """ISO 8601, in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def about_failures(events: Sequence[Event]) -> list[PageFailed | UrlDied]:
    """Those that matter here, in order: a URL failed by its own fault and is owed another visit, or it died."""
    return [
        event
        for event in events
        if isinstance(event, UrlDied)
        or (isinstance(event, PageFailed) and event.scope is Scope.URL and event.due_at is not None)
    ]


def letter_of(died: UrlDied, first_at: str | None) -> DeadLetter:
    """`first_at` is what is remembered of its first failure, if anything is."""
    last_at = moment(died.at)
    return DeadLetter(
        url=str(died.url),
        reason=died.reason.value,
        attempts=died.visits,
        last_error=died.detail or died.reason.value,
        first_at=last_at if first_at is None or died.visits <= 1 else first_at,
        last_at=last_at,
        evidence_id=died.fetch_id,
        site=died.site,
        status_code=died.status,
    )


def told_as(letter: DeadLetter) -> str:
    """What a letter is known by when it comes again: its evidence, or where there is none what it says."""
    said = f"{letter.url}\n{letter.reason}\n{letter.attempts}"
    return letter.evidence_id or sha256(said.encode(errors="replace")).hexdigest()
