"""What others count, as far as the metrics read it. They own their numbers; here is only which of them are told.

A number that is None is not known just now, and is not told.
"""

from typing import Protocol


class IntakeCounts(Protocol):
    """Entries of the queue, by what became of them; `again` were visited before, `owed` were not yet."""

    @property
    def new(self) -> int: ...

    @property
    def again(self) -> int: ...

    @property
    def owed(self) -> int: ...

    @property
    def refused(self) -> int: ...

    @property
    def unreadable(self) -> int: ...


class QueueSizes(Protocol):
    @property
    def queue(self) -> int | None: ...

    @property
    def letters(self) -> int | None: ...


class ExtractCounts(Protocol):
    @property
    def pages(self) -> int: ...

    @property
    def missing(self) -> int: ...

    @property
    def malformed(self) -> int: ...

    @property
    def bugs(self) -> int: ...

    @property
    def links(self) -> int: ...

    @property
    def new_urls(self) -> int: ...

    @property
    def refused(self) -> int: ...

    @property
    def lag(self) -> int | None: ...


class ScheduleCounts(Protocol):
    @property
    def urls_enqueued(self) -> int: ...

    @property
    def seed_urls_enqueued(self) -> int: ...

    @property
    def queue_size(self) -> int | None: ...

    @property
    def loop_lag(self) -> float: ...
