"""How long is that? A number of seconds, or a text with units, the longest first: 90, 90s, 10m, 1h30m, 2d, 250ms."""

import re
from typing import Final

_UNITS: Final = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_NUMBER: Final = r"\d{1,12}(?:\.\d{1,9})?"
_DURATION: Final = re.compile(
    r"\s*".join(rf"(?:(?P<{unit}>{_NUMBER})\s*{unit}(?![a-z]))?" for unit in _UNITS), re.IGNORECASE
)


def seconds_in(text: str) -> float | None:
    """None when the text has no unit in it or is no such text; a plain number is for others to read."""
    found = _DURATION.fullmatch(text.strip())
    if found is None or not found[0]:
        return None
    return sum(float(number) * _UNITS[unit] for unit, number in found.groupdict().items() if number is not None)
