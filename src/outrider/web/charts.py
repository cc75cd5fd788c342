"""How do numbers look? Pure functions from amounts to SVG. A drawing stretches to its place, so it holds no letters.

What a drawing says is said in words as well: it has a name for who cannot see it, and stands beside its numbers.
Colours are the style sheet's: a part has a class, never a style, for the pages forbid those.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import floor, log10
from typing import Final

from markupsafe import Markup
from msgspec import Struct

_WIDTH: Final = 1000
_HEIGHT: Final = 100
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_THINNEST: Final = 0.004
_TOGETHER: Final = 0.01
"""Seconds between two stretches that are no gap."""


class Stretch(Struct, frozen=True):
    """How much of each kind happened between two moments."""

    start: float
    end: float
    amounts: tuple[float, ...]

    @property
    def rates(self) -> tuple[float, ...]:
        seconds = self.end - self.start
        return tuple(amount / seconds if seconds > 0 else 0.0 for amount in self.amounts)


class Area(Struct, frozen=True):
    """A drawing, and what stands at its axes: `top` is the rate at its upper edge, `seconds` is how much it shows."""

    drawing: Markup
    top: float
    seconds: float


def coarser(stretches: Sequence[Stretch], most: int) -> list[Stretch]:
    """About `most` of equal length at the most, with the same sums; what nobody knows of is empty."""
    if not stretches:
        return []
    least = (stretches[-1].end - stretches[0].start) / most
    merged: list[Stretch] = []
    for one in stretches:
        last = merged[-1] if merged else None
        if last is not None and one.start > last.end + max(_TOGETHER, least):
            merged.append(Stretch(last.end, one.start, (0.0,) * len(one.amounts)))
            merged.append(one)
        elif last is not None and last.end - last.start < least:
            sums = tuple(first + second for first, second in zip(last.amounts, one.amounts, strict=True))
            merged[-1] = Stretch(last.start, one.end, sums)
        else:
            merged.append(Stretch(last.end if last is not None else one.start, one.end, one.amounts))
    return merged


def stacked_area(stretches: Sequence[Stretch], parts: Sequence[tuple[str, str]], title: str) -> Area:
    """What happened a second, kind upon kind, the first at the bottom; `parts` are their names and classes.

    Every stretch of time has a text of its own, which a browser shows where one points at it.
    """
    seconds = stretches[-1].end - stretches[0].start if stretches else 0.0
    if seconds <= 0:
        return Area(_svg(title, Markup(""), "chart"), 1.0, 0.0)
    levels = [_levels(stretch.rates) for stretch in stretches]
    top = rounded_up(max(level[-1] for level in levels))
    first = stretches[0].start
    edges = [(_across(one.start - first, seconds), _across(one.end - first, seconds)) for one in stretches]
    drawn = [
        Markup('<path class="area {}" d="{}"/>').format(kind, _layer(edges, levels, place, top))
        for place, (_, kind) in enumerate(parts)
        if any(stretch.amounts[place] for stretch in stretches)
    ]
    drawn += [
        Markup('<rect class="column" x="{}" width="{}" height="{}"><title>{}</title></rect>').format(
            _number(left), _number(right - left), _HEIGHT, _told(stretch, parts)
        )
        for stretch, (left, right) in zip(stretches, edges, strict=True)
    ]
    return Area(_svg(title, Markup("").join(drawn), "chart"), top, seconds)


def sparkline(values: Sequence[float], title: str) -> Markup:
    """One small line, from zero to its own peak."""
    if len(values) < 2:
        return _svg(title, Markup(""), "spark")
    top = max(*values, 1e-9)
    step = _WIDTH / (len(values) - 1)
    points = " ".join(f"{_number(place * step)},{_height(value, top)}" for place, value in enumerate(values))
    return _svg(title, Markup('<polyline class="line" points="{}"/>').format(points), "spark")


def bar(share: float, kind: str = "plain") -> Markup:
    """One horizontal bar for the cell of a table that has its number: nothing to hear."""
    return Markup(
        '<svg class="bar" viewBox="0 0 {0} 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        '<rect class="groove" width="{0}" height="10"/><rect class="fill {1}" width="{2}" height="10"/></svg>'
    ).format(_WIDTH, kind, _number(min(max(share, 0.0), 1.0) * _WIDTH))


def stacked_bar(parts: Iterable[tuple[str, float]], title: str) -> Markup:
    """Parts of a whole side by side, each given as its class and its amount. What is there at all can be seen."""
    given = [(kind, amount) for kind, amount in parts if amount > 0]
    whole = sum(amount for _, amount in given)
    # A part that is too thin to be seen takes a little from all the others.
    widths = [max(amount / whole, _THINNEST) for _, amount in given]
    left, drawn = 0.0, []
    for (kind, _), width in zip(given, widths, strict=True):
        share = width / sum(widths) * _WIDTH
        drawn.append(
            Markup('<rect class="fill {}" x="{}" width="{}" height="{}"/>').format(
                kind, _number(left), _number(share), _HEIGHT
            )
        )
        left += share
    return _svg(title, Markup("").join(drawn), "stack")


def rounded_up(value: float) -> float:
    """The next of 1, 2, 2.5, 5, 10, 20, …: an axis that jumps seldom, and reads well."""
    if value <= 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in _STEPS if step * power >= value * (1 - 1e-9))


def hundredths(amounts: Sequence[float], digits: int = 1) -> list[float]:
    """Their shares in percent, rounded so that they still add up to 100: the largest remainders are rounded up."""
    whole = sum(amounts)
    if whole <= 0:
        return [0.0 for _ in amounts]
    units = 100 * 10**digits
    exact = [amount / whole * units for amount in amounts]
    rounded = [floor(share) for share in exact]
    order = sorted(range(len(exact)), key=lambda place: rounded[place] - exact[place])
    for place in order[: units - sum(rounded)]:
        rounded[place] += 1
    return [share / 10**digits for share in rounded]


def _levels(rates: Iterable[float]) -> list[float]:
    """Where each layer begins, and where the last one ends."""
    levels = [0.0]
    for rate in rates:
        levels.append(levels[-1] + rate)
    return levels


def _layer(edges: Sequence[tuple[float, float]], levels: Sequence[Sequence[float]], place: int, top: float) -> str:
    """A rate holds for its whole stretch of time: the outline has steps, and no slope that nobody measured."""
    roof = [(x, level[place + 1]) for ends, level in zip(edges, levels, strict=True) for x in ends]
    base = [(x, level[place]) for ends, level in zip(edges, levels, strict=True) for x in ends]
    points = _without_repeats(f"{_number(x)} {_height(value, top)}" for x, value in [*roof, *reversed(base)])
    return f"M{'L'.join(points)}Z"


def _without_repeats(points: Iterable[str]) -> list[str]:
    given = list(points)
    return given[:1] + [later for earlier, later in pairwise(given) if later != earlier]


def _told(stretch: Stretch, parts: Sequence[tuple[str, str]]) -> str:
    told = [f"{name} {rate:.1f}/s" for (name, _), rate in zip(parts, stretch.rates, strict=True) if rate]
    return ", ".join(told) or "nothing"


def _across(seconds: float, whole: float) -> float:
    return seconds / whole * _WIDTH


def _height(value: float, top: float) -> str:
    return _number(_HEIGHT - min(value / top, 1.0) * _HEIGHT)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _svg(title: str, inside: Markup, kind: str) -> Markup:
    return Markup(
        '<svg class="{}" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" focusable="false" aria-label="{}">'
        "{}</svg>"
    ).format(kind, _WIDTH, _HEIGHT, title, inside)
