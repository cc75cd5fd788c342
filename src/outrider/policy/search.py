"""Is this a line that somebody looks for? And which part of the ledger need not be looked at for it at all?"""

import re
from typing import Final

from outrider.model.ledger import Entry, Search, State
from outrider.model.reason import Reason

_UNWRITABLE: Final = re.compile("[\x00\ud800-\udfff]")
_LARGEST: Final = (1 << 31) - 1


def may_be_found(search: Search) -> bool:
    """No URL and no site has the character 0 or half a character in it, and no store could be asked for them.

    Nor for a status that no number of four bytes can be.
    """
    if search.status is not None and abs(search.status) > _LARGEST:
        return False
    return not any(_UNWRITABLE.search(text) for text in (search.site, search.text) if text)


def is_wanted(search: Search, entry: Entry) -> bool:
    return (
        search.state in {None, entry.state}
        and search.reason in {None, entry.reason}
        and search.site in {None, entry.site}
        and search.status in {None, entry.status}
        and (search.text is None or search.text in entry.url)
    )


def queued_states(search: Search) -> frozenset[State]:
    """In which states a wanted task may stand in a queue; none: the queues need not be looked at.

    Those of a site that is set aside keep their place there, although the ledger calls them skipped.
    """
    if search.status is not None or search.reason not in {None, Reason.SITE_UNREACHABLE}:
        return frozenset()
    queued = {State.SKIPPED} if search.reason else {State.PENDING, State.WAITING, State.SKIPPED}
    return frozenset(queued if search.state is None else queued & {search.state})


def may_have_ended(search: Search) -> bool:
    """Whether a wanted line may stand outside the queues."""
    return search.state not in {State.PENDING, State.WAITING}
