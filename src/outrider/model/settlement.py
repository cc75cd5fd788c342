"""Outcome → Settlement: what becomes of the task. Each of these is a change of state; none leaves a task hanging."""

from typing import TypeAlias

from msgspec import Struct

from outrider.model.outcome import Validators
from outrider.model.reason import Reason
from outrider.model.task import Changes
from outrider.model.url import Url


class Done(Struct, frozen=True, tag="done"):
    """Fetched, or found unchanged. `url` is the row's new name; `asked` stays behind as its alias when they differ.

    The store keeps the old name and notes `duplicate_of` when another row owns the new one (S0-12). With `due_at` the
    page is owed another visit then.
    """

    url: Url
    asked: Url
    status: int
    validators: Validators
    changes: Changes
    sha256: str | None = None
    due_at: float | None = None
    visited_at: float = 0.0


class MovedTo(Struct, frozen=True, tag="moved_to"):
    """The task becomes an alias of `to`, which is proposed to its own site unless it is known already."""

    to: Url


class Skip(Struct, frozen=True, tag="skip"):
    """Ended without a verdict on the URL: a rule forbade it, or its site was set aside. Not a dead letter."""

    reason: Reason
    detail: str = ""


class Later(Struct, frozen=True, tag="later"):
    """Owed another visit at `due_at`, with these counts written back. `gone` is how often in a row it was missing."""

    due_at: float
    reason: Reason
    visits: int
    deferrals: int = 0
    deferred_at: float | None = None
    gone: int = 0


class Dead(Struct, frozen=True, tag="dead"):
    """Given up, because of this URL alone: a dead letter. `visits` is how often it was tried."""

    reason: Reason
    visits: int
    detail: str = ""
    status: int | None = None


Settlement: TypeAlias = Done | MovedTo | Skip | Later | Dead
