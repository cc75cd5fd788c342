"""How many sites may be held at once?"""

import pytest

from outrider.policy.load import FEW, Load, LoadLimits, next_room

IDLE = Load()
BUSY = Load(busy=0.9)
FULL = Load(full=True)
IN_LINE = Load(busy=0.4, wanted=0.9)


@pytest.mark.parametrize(
    ("room", "held", "load", "most", "after"),
    [
        (4, 4, IDLE, 500, 7),
        (4, 3, IDLE, 500, 4),
        (2, 2, BUSY, 500, 2),
        (4, 4, BUSY, 500, 3),
        (40, 40, BUSY, 500, 38),
        (40, 10, BUSY, 500, 38),
        (4, 4, Load(busy=0.85, lag=0.025), 500, 7),
        (40, 40, Load(lag=0.03), 500, 38),
        (40, 40, FULL, 500, 38),
        (2, 2, FULL, 500, 2),
        (63, 63, IN_LINE, 500, 95),
        (64, 64, IN_LINE, 500, 64),
        (400, 400, IN_LINE, 500, 400),
        (400, 400, Load(wanted=0.85), 500, 500),
        (400, 400, IDLE, 500, 500),
        (500, 500, IDLE, 500, 500),
        (1, 1, IDLE, 1, 1),
        (1, 1, IDLE, 500, 2),
        (100, 100, Load(lag=0.5), 500, 95),
        (100, 100, Load(lag=0.51), 500, 80),
        (5, 5, Load(lag=1.0), 500, 4),
        (4, 4, Load(lag=1.0), 500, 3),
        (2, 2, Load(lag=1.0), 500, 2),
        (1, 1, Load(lag=9.0), 1, 1),
    ],
)
def test_more_while_there_is_time_fewer_when_there_is_none(
    room: int, held: int, load: Load, most: int, after: int
) -> None:
    assert next_room(room, held, load, most) == after


def test_whoever_has_time_gets_to_all_that_is_allowed() -> None:
    assert rooms(FEW, IDLE, 20)[-1] == 2_000


def test_a_loop_that_lags_comes_down_to_little() -> None:
    down = rooms(2_000, Load(lag=1.0), 30)

    assert down[-1] == FEW
    assert down == sorted(down, reverse=True)


def test_how_late_is_late_is_a_limit() -> None:
    assert next_room(100, 100, Load(lag=1.0), 500, LoadLimits(lag=2.0)) == 95
    assert next_room(100, 100, Load(lag=1.0), 500, LoadLimits(lag=2.0, late=2.0)) == 151


def rooms(room: int, load: Load, times: int) -> list[int]:
    """As it goes on when all that there is room for is held."""
    found = [room]
    for _ in range(times):
        found.append(next_room(found[-1], found[-1], load, 2_000))
    return found
