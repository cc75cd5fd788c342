"""Which URLs does the frontier have?"""

import os

from hypothesis import given
from hypothesis import strategies as st

from outrider.engine.common import LATELY, Common

HASHES = st.lists(st.integers(min_value=0, max_value=2**64 - 1))


@given(proposed=HASHES, others=HASHES, places=st.sampled_from([1 << 4, 1 << 10]))
def test_nothing_is_known_that_was_not_proposed(proposed: list[int], others: list[int], places: int) -> None:
    known = Common(places)

    known.add(proposed)

    assert {key for key in [*proposed, *others] if key in known} <= set(proposed)
    assert not proposed or proposed[-1] in known


def test_zero_is_a_hash_like_any_other() -> None:
    known = Common(1 << 10)
    assert 0 not in known

    known.add([0])
    assert 0 in known

    known.add([1 << 10])
    assert 0 not in known


def test_one_that_comes_to_the_place_of_another_leaves_it_the_place_beside() -> None:
    known = Common(1 << 10)

    known.add([5, 5 + (1 << 10), 5 + (1 << 10)])
    assert 5 in known
    assert 5 + (1 << 10) in known

    known.add([4])
    assert {key for key in (4, 5, 5 + (1 << 10)) if key in known} == {4, 5}


def test_one_that_comes_to_an_empty_place_leaves_alone_what_is_beside() -> None:
    known = Common(1 << 10)

    known.add([5, 4])

    assert 4 in known
    assert 5 in known


def test_what_comes_within_some_seconds_stays() -> None:
    known = Common(LATELY)
    hashes = [number * 0x9E3779B97F4A7C15 % 2**64 for number in range(LATELY // 4)]

    known.add(hashes)

    assert sum(key in known for key in hashes) > len(hashes) * 0.95


def test_what_one_process_adds_the_others_know() -> None:
    known = Common(1 << 10)
    pid = os.fork()
    if pid == 0:
        known.add([7, 1 << 63])
        os._exit(0)
    os.waitpid(pid, 0)

    assert 7 in known
    assert 1 << 63 in known
