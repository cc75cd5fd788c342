"""How much may be under way at once?"""

import pytest

from outrider.policy.load import LoadLimits, next_room


@pytest.mark.parametrize(
    ("room", "lag", "most", "after"),
    [
        (500, 0.0, 500, 500),
        (100, 0.0, 500, 105),
        (100, 0.5, 500, 105),
        (100, 0.51, 500, 80),
        (9, 1.0, 500, 8),
        (8, 1.0, 500, 8),
        (3, 1.0, 3, 3),
        (1, 0.0, 1, 1),
        (1, 9.0, 1, 1),
        (8, 0.0, 500, 9),
    ],
)
def test_less_at_once_quickly_more_again_slowly(room: int, lag: float, most: int, after: int) -> None:
    assert next_room(room, lag, most) == after


def test_a_loop_that_lags_comes_down_to_little_and_back_up_to_all() -> None:
    down = rooms(2_000, 1.0, 30)
    up = rooms(down[-1], 0.0, 200)

    assert (down[-1], up[-1]) == (8, 2_000)
    assert down == sorted(down, reverse=True)
    assert up == sorted(up)


def test_how_late_is_late_is_a_limit() -> None:
    assert next_room(100, 1.0, 500, LoadLimits(lag=2.0)) == 105


def rooms(room: int, lag: float, times: int) -> list[int]:
    found = [room]
    for _ in range(times):
        found.append(next_room(found[-1], lag, 2_000))
    return found
