"""How exact are the moments on record, and how are they written?"""

from datetime import UTC, datetime
from typing import Final

SLACK: Final = 0.005
"""Timers of an event loop count milliseconds: a request may be sent so much before its turn."""


def moment(at: float) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    except (OverflowError, ValueError, OSError):
        return f"{at:g}"
