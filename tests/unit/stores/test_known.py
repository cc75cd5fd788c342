"""A hit in front of the store is always right."""

from hypothesis import given
from hypothesis import strategies as st

from outrider.stores.known import Known

SLOTS = 1 << 17
hashes = st.lists(
    st.builds(lambda low, high: low + high * SLOTS, st.integers(0, 3), st.integers(-(1 << 46), (1 << 46) - 1))
    | st.builds(lambda low, high: low + high * SLOTS, st.integers(0, 3), st.integers(-2, 2)),
    max_size=40,
)


@given(learned=hashes, asked=hashes)
def test_only_what_was_learned_is_ever_known(learned: list[int], asked: list[int]) -> None:
    known = Known(megabytes=1)
    known.learn(learned)

    missing = known.missing(asked)

    assert {asked[index] for index in range(len(asked)) if index not in missing} <= set(learned)


def test_what_was_learned_last_is_known() -> None:
    known = Known(megabytes=1)

    known.learn([0, -1, SLOTS, 2 * SLOTS])

    assert known.missing([2 * SLOTS, -1, 0, SLOTS, 5]) == [2, 3, 4]
