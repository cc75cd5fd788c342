"""When does a request take too long? Looks at given moments, no clock."""

import pytest

from outrider.errors import Phase
from outrider.fetch.limits import GRACE, Limits, Watch

LIMITS = Limits(connect=10, tls=10, first_byte=20, idle=15, total=30, min_rate=100)


def looks(*seen: tuple[float, Phase, int], limits: Limits = LIMITS) -> list[Phase | None]:
    watch = Watch()
    return [watch.overdue(phase, arrived, now, limits, limits.connect) for now, phase, arrived in seen]


@pytest.mark.parametrize(
    ("phase", "limit"), [(Phase.CONNECT, 10), (Phase.TLS, 10), (Phase.FIRST_BYTE, 20), (Phase.IDLE, 15)]
)
def test_a_phase_ends_when_its_limit_is_reached_and_not_before(phase: Phase, limit: float) -> None:
    limits = Limits(connect=10, tls=10, first_byte=20, idle=15, min_rate=0)

    assert looks((100, phase, 0), (99.9 + limit, phase, 0), (100 + limit, phase, 0), limits=limits) == [
        None,
        None,
        phase,
    ]


def test_a_new_phase_starts_a_new_count() -> None:
    assert (
        looks((0, Phase.CONNECT, 0), (9, Phase.TLS, 0), (18, Phase.FIRST_BYTE, 0), (37, Phase.IDLE, 5_000))
        == [None] * 4
    )


def test_any_byte_ends_idleness() -> None:
    limits = Limits(idle=15, min_rate=0)

    assert looks((0, Phase.IDLE, 1), (14, Phase.IDLE, 2), (28, Phase.IDLE, 2), (29, Phase.IDLE, 2), limits=limits) == [
        None,
        None,
        None,
        Phase.IDLE,
    ]


def test_a_dribble_is_too_slow_once_the_grace_is_over() -> None:
    assert looks((0, Phase.IDLE, 20), (GRACE - 0.1, Phase.IDLE, 30), (GRACE, Phase.IDLE, 40)) == [
        None,
        None,
        Phase.SLOW,
    ]


def test_the_rate_is_an_average_so_a_pause_is_forgiven() -> None:
    assert looks((0, Phase.IDLE, 5_000), (10, Phase.IDLE, 5_001), (14, Phase.IDLE, 5_002)) == [None, None, None]


def test_looks_are_as_frequent_as_the_smallest_limit_needs() -> None:
    assert Limits().sweep == 0.25
    assert Limits(idle=0.2).sweep == pytest.approx(0.05)
