"""How is a value put on a page? Numbers, moments, states and foreign texts, each in one way, all of them escaped.

`Markup` is what is safe to put into a page as it is; everything else is escaped by the template that it lands in.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlencode

from markupsafe import Markup, escape

from outrider.observe.words import moment, without_passwords

_THIN: Final = "\u202f"
"""A narrow space at which no line is broken."""
_UNITS: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))

_DASH: Final = "\N{EN DASH}"
_CROSS: Final = "\N{MULTIPLICATION SIGN}"

Chip = tuple[str, str, str]

CHIPS: Final[Mapping[str, Chip]] = {
    # of a URL
    "pending": ("", "○", "pending"),
    "waiting": ("wait", "◔", "waiting"),
    "fetched": ("ok", "●", "fetched"),
    "skipped": ("", _DASH, "skipped"),
    "dead": ("bad", _CROSS, "dead"),
    "alias": ("info", "→", "alias"),
    # of a visit
    "not_modified": ("ok", "=", "not modified"),
    "moved": ("info", "→", "moved"),
    "failed": ("bad", _CROSS, "failed"),
    # of a site
    "excluded": ("bad", "⊘", "excluded"),
    "paused": ("wait", "‖", "paused"),
    "set_aside": ("bad", _CROSS, "set aside"),
    "probed": ("wait", "?", "being probed"),
    "down": ("bad", "!", "down"),
    "busy": ("ok", "●", "being visited"),
    "slowed": ("wait", "◔", "slowed down"),
    "queued": ("info", "○", "queued"),
    "idle": ("", _DASH, "idle"),
    # of a breaker
    "closed": ("ok", "●", "closed"),
    "open": ("bad", "!", "open"),
    "half_open": ("wait", "?", "half open"),
    # of robots.txt
    "found": ("ok", "●", "found"),
    "missing": ("", _DASH, "missing"),
    "unreachable": ("bad", "!", "unreachable"),
    # of what is next
    "due": ("ok", "●", "due now"),
    "under_way": ("ok", "●", "under way"),
    "later": ("wait", "◔", "later"),
    "blocked": ("bad", "⊘", "blocked until somebody acts"),
    "never": ("", _DASH, "never, as things are"),
    "unproposed": ("", "?", "never seen"),
}
"""A colour, a mark and a word: whoever sees no colours misses nothing."""


def chip(value: str) -> Markup:
    kind, mark, _ = CHIPS.get(value, ("", "·", ""))
    return Markup('<span class="chip {}"><i aria-hidden="true">{}</i>{}</span>').format(kind, mark, word(value))


def word(value: str) -> str:
    """Of a state, without its mark."""
    return CHIPS[value][2] if value in CHIPS else value.replace("_", " ")


def grouped(number: float) -> str:
    """12345 as 12 345, with thin spaces."""
    return f"{number:,.0f}".replace(",", _THIN)


def counted(number: int, one: str, many: str = "") -> str:
    return f"{grouped(number)} {one if number == 1 else many or f'{one}s'}"


def pace(per_second: float) -> str:
    return grouped(per_second) if per_second >= 100 else f"{per_second:.1f}"


def axis(value: float) -> str:
    return grouped(value) if value >= 10 else f"{value:g}"


def clock(at: float) -> str:
    """The time of day."""
    return moment(at)[11:19] + " UTC"


def shown(text: object) -> Markup:
    """A text from the web: what cannot be seen, or would turn the direction of writing, is spelled out and marked."""
    told = without_passwords(str(text))
    if told.isprintable():
        return escape(told)
    return Markup("").join(
        escape(char) if char.isprintable() else Markup('<span class="escape">{}</span>').format(_spelled(char))
        for char in told
    )


def ago(at: float, now: float) -> str:
    seconds = now - at
    if abs(seconds) < 1:
        return "now"
    return f"{span(seconds)} ago" if seconds > 0 else f"in {span(-seconds)}"


def span(seconds: float) -> str:
    """One unit: enough beside the moment itself."""
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{grouped(seconds // length)} {unit}"
    return f"{seconds:.0f} s"


def when(at: float | None, now: float, unknown: str = _DASH) -> Markup:
    """How long ago, or ahead; the moment itself is in the title, and for programs."""
    if at is None:
        return escape(unknown)
    try:
        exact = moment(at)
        words = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):  # a store may hold any number
        return escape(unknown)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(exact, words, ago(at, now))


def link(path: str, **query: object) -> str:
    """A place on the dashboard; what is empty is left out."""
    given = {name: value for name, value in query.items() if value is not None and value != ""}
    return f"{path}?{urlencode(given)}" if given else path


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
