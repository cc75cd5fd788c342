"""How did it end? One sentence for a person, one exit code for a script, and the way out where there is one."""

from http import HTTPStatus
from typing import Final

from outrider.cli.exit_codes import ExitCode
from outrider.client import Fetch
from outrider.model.outcome import Failed, Failure, Fetched, Moved, NotModified, Skipped
from outrider.model.reason import Reason
from outrider.settings import is_loopback

_WAYS_OUT: Final = {
    Reason.NON_TEXT_EXTENSION: "--set 'skip_extensions=[]'",
    Reason.SKIP_PATTERN: "--set 'skip_patterns=[]'",
    Reason.URL_TOO_LONG: "--set max_url_length=65536",
    Reason.CRAWL_DELAY_TOO_LONG: "--set max_crawl_delay=…",
    Reason.REDIRECT_NOT_FOLLOWED: "--set follow_redirects=true",
    Reason.TOO_MANY_REDIRECTS: "--set max_redirects=…",
    Reason.UNSUPPORTED_CONTENT_TYPE: "--set content_types=…",
}
"""Only rules of our own: what a site asks for, we offer no way around."""


def exit_code(fetch: Fetch) -> ExitCode:
    match fetch.outcome:
        case Fetched() | NotModified():
            return ExitCode.OK
        case Skipped():
            return ExitCode.REFUSED
        case Failed() | Moved():
            return ExitCode.FETCH_FAILED


def sentence(fetch: Fetch) -> str:
    return f"{_what_happened(fetch)}; confidence {fetch.confidence}."


def way_out(fetch: Fetch) -> str | None:
    """The flag that would let it through, if the rule is ours and the address guard has not said it already."""
    match fetch.outcome:
        case Skipped(reason) | Failed(Failure(reason)) if reason in _WAYS_OUT:
            return _WAYS_OUT[reason]
        case Skipped(Reason.BLOCKED_ADDRESS) if is_loopback(fetch.url) and "localhost" in fetch.url.host:
            return "--allow-private 127.0.0.0/8"
        case _:
            return None


def _what_happened(fetch: Fetch) -> str:
    match fetch.outcome:
        case Fetched(status=status, body=body):
            walked = f" after {counted(fetch.visit.redirects, 'redirect')}" if fetch.visit.redirects else ""
            cut = ", cut off at the limit" if body.truncated else ""
            return f"Fetched: HTTP {status}{walked}, {amount(body.length)}{cut}"
        case NotModified():
            return "Not modified: what was fetched before still holds"
        case Moved(to):
            return f"Moved: to {to}"
        case Skipped(reason, detail, status):
            told = f", HTTP {status} by HEAD" if status is not None and reason is Reason.ROBOTS_DISALLOWED else ""
            return f"Refused: {reason}{f': {detail}' if detail else ''}{told}"
        case Failed(failure):
            return f"Failed: {because(failure)}"


def because(failure: Failure) -> str:
    why = failure.detail or (status_named(failure.status) if failure.status else "")
    asks = f", it asks for {failure.retry_after:.0f} s" if failure.retry_after else ""
    return f"{failure.reason}{f': {why}' if why else ''}{asks}"


def status_named(code: int) -> str:
    """With the name that the standard gives it: what the server calls it may be anything."""
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return str(code)


def amount(size: int) -> str:
    return counted(size, "byte")


def counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
