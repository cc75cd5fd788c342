"""When is a fetched page worth another look?"""

from hypothesis import given
from hypothesis import strategies as st

from outrider.model.task import Changes
from outrider.policy.recrawl import RecrawlRules, interval, is_gone, looked, missed

RULES = RecrawlRules(first=1_000.0, least=100.0, most=100_000.0)


def history(*looks: bool, every: float = 1_000.0) -> Changes:
    changes = Changes()
    for changed in looks:
        changes = looked(changes, every, changed=changed)
    return changes


def test_a_page_seen_once_waits_for_the_first_interval() -> None:
    assert interval(Changes(), RULES) == 1_000.0


def test_a_page_that_changes_at_every_look_is_looked_at_more_often() -> None:
    assert interval(history(True), RULES) < 1_000.0
    assert interval(history(*[True] * 10), RULES) < interval(history(True), RULES)


def test_a_page_that_never_changes_is_looked_at_less_and_less() -> None:
    assert interval(history(False), RULES) == 2_000.0
    assert interval(history(False, every=80_000.0), RULES) == RULES.most


def test_what_happened_lately_weighs_more() -> None:
    woke_up = history(*[False] * 10, *[True] * 5)
    fell_asleep = history(*[True] * 10, *[False] * 5)

    assert interval(woke_up, RULES) < interval(fell_asleep, RULES)


def test_one_miss_is_an_accident_and_several_are_a_fact() -> None:
    once = missed(Changes())

    assert not is_gone(once, RULES)
    assert is_gone(missed(missed(once)), RULES)
    assert looked(once, 1.0, changed=False).gone == 0


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1e7)), max_size=40))
def test_the_interval_stays_within_its_bounds(looks: list[tuple[bool, float]]) -> None:
    changes = Changes()
    for changed, gap in looks:
        changes = looked(changes, gap, changed=changed)

        assert RULES.least <= interval(changes, RULES) <= RULES.most
