"""Which URLs has this process proposed?"""

from hypothesis import given
from hypothesis import strategies as st

from outrider.engine.proposed import MOST, Proposed

HASHES = st.one_of(st.integers(0, 3), st.integers(0, (1 << 64) - 1))


@given(st.lists(HASHES, max_size=200), st.lists(HASHES, max_size=50), st.sampled_from([2, 16, 256]))
def test_nothing_is_known_that_was_not_proposed(proposed: list[int], others: list[int], most: int) -> None:
    known = Proposed(most)

    known.add(proposed)

    assert {key for key in [*proposed, *others] if key in known} <= set(proposed)
    assert not proposed or proposed[-1] in known


def test_it_grows_with_what_is_proposed_and_keeps_most_of_it_up_to_a_bound() -> None:
    known = Proposed()
    begins = len(known.table)
    keys = [number * 0x9E37_79B9_7F4A_7C15 & (1 << 64) - 1 for number in range(300_000)]

    for start in range(0, len(keys), 1_000):
        known.add(keys[start : start + 1_000])

    assert begins < len(known.table) <= MOST
    assert sum(key in known for key in keys) > 0.8 * len(keys)


def test_beyond_the_bound_the_latest_are_kept() -> None:
    known = Proposed(1_024)

    known.add(range(10_000))

    assert len(known.table) == 1_024
    assert [key for key in range(10_000) if key in known] == list(range(10_000 - 1_024, 10_000))
