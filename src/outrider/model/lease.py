"""A whole site lent to one worker until a deadline, with up to n of its tasks."""

from msgspec import Struct

from outrider.model.site import Site
from outrider.model.task import Task


class Lease(Struct, frozen=True):
    """`token` only ever grows for a site: a settlement with an older one is refused. Times are the store's clock."""

    site: Site
    tasks: tuple[Task, ...]
    token: int
    leased_at: float
    deadline: float
