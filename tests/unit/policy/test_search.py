"""Which lines does somebody look for, and where need nobody look for them?"""

import pytest

from outrider.model.ledger import Entry, Search, State
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.policy.search import is_wanted, may_be_found, may_have_ended, queued_states

DEAD = Entry(Url("http://www.a.org/x_y?q=%25"), State.DEAD, "a.org", None, Reason.HTTP_404, status=404)
OWED = {State.PENDING, State.WAITING}


@pytest.mark.parametrize(
    ("search", "wanted"),
    [
        (Search(), True),
        (Search(State.DEAD, Reason.HTTP_404, "a.org", 404, "x_y"), True),
        (Search(state=State.SKIPPED), False),
        (Search(reason=Reason.HTTP_410), False),
        (Search(site="www.a.org"), False),
        (Search(status=200), False),
        (Search(text="xay"), False),
        (Search(text="X_Y"), False),
        (Search(text="%25"), True),
        (Search(text=""), True),
    ],
)
def test_a_line_is_wanted_when_all_that_is_named_is_true_of_it(search: Search, *, wanted: bool) -> None:
    assert is_wanted(search, DEAD) is wanted


@pytest.mark.parametrize(
    ("search", "queued", "ended"),
    [
        (Search(), {*OWED, State.SKIPPED}, True),
        (Search(state=State.PENDING), {State.PENDING}, False),
        (Search(state=State.WAITING), {State.WAITING}, False),
        (Search(state=State.DEAD), set(), True),
        (Search(state=State.SKIPPED), {State.SKIPPED}, True),
        (Search(reason=Reason.SITE_UNREACHABLE), {State.SKIPPED}, True),
        (Search(reason=Reason.HTTP_404), set(), True),
        (Search(state=State.PENDING, reason=Reason.HTTP_404), set(), False),
        (Search(state=State.PENDING, reason=Reason.SITE_UNREACHABLE), set(), False),
        (Search(status=404), set(), True),
        (Search(site="a.org", text="x"), {*OWED, State.SKIPPED}, True),
    ],
)
def test_queues_and_ends_are_left_alone_where_nothing_wanted_can_be(
    search: Search, queued: set[State], *, ended: bool
) -> None:
    """A task whose site was set aside keeps its place in the queue, and the ledger calls it skipped."""
    assert queued_states(search) == queued
    assert may_have_ended(search) is ended


@pytest.mark.parametrize(
    ("search", "may"),
    [
        (Search(text="ä%_\\'"), True),
        (Search(text="\0"), False),
        (Search(text="\ud800"), False),
        (Search(site="\udfff"), False),
        (Search(status=1 << 31), False),
        (Search(status=-1), True),
    ],
)
def test_what_no_store_can_hold_is_not_asked_for(search: Search, *, may: bool) -> None:
    assert may_be_found(search) is may
