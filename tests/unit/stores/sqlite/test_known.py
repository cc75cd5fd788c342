"""A hit in front of the file is always right."""

from hypothesis import given
from hypothesis import strategies as st

from outrider.stores.sqlite.known import Known

hashes = st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-9, 9), max_size=40)


@given(learned=hashes, asked=hashes)
def test_only_what_was_learned_is_ever_known(learned: list[int], asked: list[int]) -> None:
    known = Known(bits=3)
    known.learn(learned)

    missing = known.missing(asked)

    assert {asked[index] for index in range(len(asked)) if index not in missing} <= set(learned)


def test_what_was_learned_last_is_known() -> None:
    known = Known(bits=3)

    known.learn([0, -1, 8, 16])

    assert known.missing([16, -1, 0, 8, 5]) == [2, 3, 4]
