"""Which visits are meant? The options that choose them, and the words of a moment and of a reason."""

import difflib
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.model.record import PageFilter

Ended = Annotated[
    Literal["fetched", "not_modified", "moved", "skipped", "failed"] | None,
    typer.Option("--status", help="Only visits that ended so."),
]
Why = Annotated[str | None, typer.Option("--reason", metavar="REASON", help="Such as too_many_redirects or http_404.")]
Code = Annotated[int | None, typer.Option("--code", min=0, max=999, help="HTTP status; 0: no answer.")]
Site = Annotated[str | None, typer.Option("--site", metavar="NAME", help="A host, or a domain with all its hosts.")]
Since = Annotated[str | None, typer.Option("--since", metavar="WHEN", help="An age (90m, 12h, 7d) or a date (UTC).")]

_AGE: Final = re.compile(r"(\d{1,9})([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def filter_of(
    status: str | None,
    reason: str | None,
    code: int | None,
    site: str | None,
    since: str | None,
    *,
    limit: int | None = None,
    text: str | None = None,
) -> "PageFilter":
    """Raises `ConfigError` for what cannot be meant."""
    from outrider.model.record import PageFilter, PageStatus  # noqa: PLC0415 - late, as in options

    return PageFilter(
        status=None if status is None else PageStatus(status),
        reason=None if reason is None else known_reason(reason),
        status_code=code,
        site=site,
        since=None if since is None else moment(since, time.time()),
        limit=limit,
        text=text,
    )


def moment(text: str, now: float, option: str = "--since") -> float:
    """Seconds since the epoch. Raises `ConfigError` for what is neither an age nor a date."""
    age = _AGE.fullmatch(text.strip())
    if age:
        return now - int(age[1]) * _SECONDS[age[2]]
    try:
        parsed = datetime.fromisoformat(text.strip())
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise ConfigError(
            f"{option} {text!r}: expected an age such as 12h or 7d, or a date such as 2026-11-16"
        ) from None


def known_reason(text: str) -> str:
    from outrider.model.reason import Reason  # noqa: PLC0415 - late, as in options

    reasons = [reason.value for reason in Reason]
    if text not in reasons:
        near = difflib.get_close_matches(text, reasons, n=1)
        meant = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(reasons)}"
        raise ConfigError(f"--reason {text!r}: there is no such reason{meant}")
    return text
