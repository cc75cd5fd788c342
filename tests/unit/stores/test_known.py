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


@given(learned=hashes, asked=hashes, doublings=st.sampled_from([0, SLOTS // 2]))
def test_only_what_was_learned_is_ever_known(learned: list[int], asked: list[int], doublings: int) -> None:
    known = Known(megabytes=1)
    known.learn(learned)
    known.learn([9 << 50] * doublings)

    missing = known.missing(asked)

    assert {asked[index] for index in range(len(asked)) if index not in missing} <= {*learned, 9 << 50}


def test_what_was_learned_last_is_known() -> None:
    known = Known(megabytes=1)

    known.learn([0, -1, SLOTS, 2 * SLOTS])

    assert known.missing([2 * SLOTS, -1, 0, SLOTS, 5]) == [2, 4]


def test_what_was_learned_is_still_known_when_the_slots_are_doubled() -> None:
    """Spread out as hashes are; a few are pushed out, and most must stay through three doublings."""
    hashes = [n * 0x9E3779B97F4A7C15 % (1 << 64) - (1 << 63) for n in range(200_000)]
    known = Known(megabytes=8)

    for start in range(0, len(hashes), 1_000):
        known.learn(hashes[start : start + 1_000])

    assert len(known.missing(hashes)) < len(hashes) // 10
    assert known.missing([key + 1 for key in hashes]) == list(range(len(hashes)))
