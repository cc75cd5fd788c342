"""How many sites may be held at once? As many as keep this process busy, and not more than are allowed.

Whoever takes more than it can serve takes it from others, who may have nothing to do: it begins with a few, and takes
more as long as it has all that it may have and there is time left. A loop that is late by a quarter of a second makes
every server look slow by as much; limits are seconds, so a lag far below them is harmless. Above that it holds fewer.

A process may work little and have no time left all the same: where visits wait for earlier ones to be written, and
where others use the CPU. More sites would only wait with those it has, in memory and in ever more places of the
frontier, which makes writing slower still.
"""

from typing import Final

from msgspec import Struct

FEW: Final = 2
"""To begin with."""


class Load(Struct, frozen=True):
    """Of late: `lag` is how many seconds the loop was late, `busy` which share of the time its process worked.

    `wanted` is the share in which the loop worked or stood in line for a CPU. `full`: as much waited to be written as
    may.
    """

    lag: float = 0.0
    busy: float = 0.0
    wanted: float = 0.0
    full: bool = False


class LoadLimits(Struct, frozen=True):
    """`lag` is how late the loop may be. Later than `late`, or busier than `busy`, it has more than enough to do.

    `ample` sites keep a CPU busy, if servers answer at once; more are for time that is spent in waiting for servers.
    """

    lag: float = 0.5
    late: float = 0.025
    busy: float = 0.85
    ample: int = 64
    much_less: float = 0.8
    less: float = 0.95
    more: float = 1.5


_USUAL: Final = LoadLimits()


def next_room(room: int, held: int, load: Load, most: int, limits: LoadLimits = _USUAL) -> int:
    """How many may be held from now on, when there was `room` for so many and `held` were."""
    if load.full or load.lag > limits.late or load.busy > limits.busy:
        share = limits.much_less if load.lag > limits.lag else limits.less
        return max(min(FEW, room), int(room * share))
    if held < room or (room >= limits.ample and load.wanted > limits.busy):
        return room
    return min(most, int(room * limits.more) + 1)
