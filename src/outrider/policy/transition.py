"""What does a settlement make of a task? The next task, or the last line of its story. Every store obeys this file."""

from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from outrider.model.ledger import Entry, Filter, State
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Done, Later, MovedTo, Settlement, Skip
from outrider.model.site import Breaker, Site
from outrider.model.task import Task
from outrider.model.url import Url

BY_HAND: Final = "by an operator"


class Owed(Struct, frozen=True):
    """The task goes on as `task`; a visit was made when `url` differs from its old name."""

    task: Task


class Ended(Struct, frozen=True):
    """The story of the task's URL ends with `entry`."""

    entry: Entry


Next: TypeAlias = Owed | Ended


def state_of(task: Task) -> State:
    """Of a task that is owed a visit."""
    return State.WAITING if task.due_at else State.PENDING


def apply(task: Task, settlement: Settlement, site: str) -> Next:
    """Under the task's own name; a `Done` that found another one is renamed by the store, which knows what is taken."""
    match settlement:
        case Done(due_at=None):
            return Ended(Entry(task.url, State.FETCHED, site, status=settlement.status, visits=task.visits + 1))
        case Done():
            return Owed(_looked_at(task, settlement))
        case MovedTo(to):
            return Ended(Entry(task.url, State.ALIAS, site, of=to))
        case Skip(reason, detail):
            return Ended(Entry(task.url, State.SKIPPED, site, task, reason, detail, visits=task.visits))
        case Dead(reason, visits, detail, status):
            return Ended(Entry(task.url, State.DEAD, site, task, reason, detail, status=status, visits=visits))
        case Later():
            return Owed(_put_off(task, settlement))


def renamed(done: Ended | Owed, url: Url) -> Next:
    """The same, under the name that the redirects led to."""
    match done:
        case Ended(entry):
            return Ended(replace(entry, url=url))
        case Owed(task):
            return Owed(replace(task, url=url))


def alias(task: Task, of: Url, site: str) -> Entry:
    return Entry(task.url, State.ALIAS, site, of=of)


def revived(task: Task, sequence: int) -> Task:
    """Owed again, as if it had just come; what is known of the page stays known."""
    return replace(task, sequence=sequence, due_at=0.0, visits=0, deferrals=0, deferred_at=None, recoveries=0)


def revived_site(site: Site) -> Site:
    """Asked again from scratch, but not sooner than it may be."""
    return replace(site, set_aside=False, breaker=Breaker())


def set_aside_entry(task: Task, site: str) -> Entry:
    """How the ledger shows a task whose site was given up: its place in the queue is kept."""
    return Entry(task.url, State.SKIPPED, site, task, Reason.SITE_UNREACHABLE, visits=task.visits)


def dismissed(line: Entry, reason: Reason) -> Entry:
    """An operator has ended it: without its task, so that nothing revives it."""
    return replace(line, state=State.SKIPPED, task=None, reason=reason, detail=BY_HAND)


def matches(wanted: Filter, state: State, reason: Reason | None, site: str) -> bool:
    return wanted.state in {None, state} and wanted.reason in {None, reason} and wanted.site in {None, site}


def _looked_at(task: Task, done: Done) -> Task:
    return replace(
        task,
        due_at=done.due_at or 0.0,
        visits=0,
        deferrals=0,
        deferred_at=None,
        recoveries=0,
        validators=done.validators,
        changes=done.changes,
        visited_at=done.visited_at,
        content_sha256=done.sha256,
    )


def _put_off(task: Task, later: Later) -> Task:
    return replace(
        task,
        due_at=later.due_at,
        visits=later.visits,
        deferrals=later.deferrals,
        deferred_at=later.deferred_at,
        recoveries=0,
        changes=replace(task.changes, gone=later.gone) if later.gone else task.changes,
    )
