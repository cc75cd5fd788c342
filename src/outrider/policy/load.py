"""How much may be under way at once? As much as is allowed, less when the event loop lags behind.

A loop that is late by a quarter of a second makes every server look slow by as much; limits are seconds, so a lag far
below them is harmless. Less at once quickly, more again slowly.
"""

from typing import Final

from msgspec import Struct

_LEAST: Final = 8


class LoadLimits(Struct, frozen=True):
    """`lag` is how late the loop may be."""

    lag: float = 0.5
    less: float = 0.8
    more: float = 1.05


_USUAL: Final = LoadLimits()


def next_room(room: int, lag: float, most: int, limits: LoadLimits = _USUAL) -> int:
    """How many may be under way from now on."""
    if lag > limits.lag:
        return max(min(_LEAST, most), int(room * limits.less))
    return min(most, max(room + 1, int(room * limits.more)))
