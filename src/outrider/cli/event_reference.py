"""What is in an event? The page of docs/reference, from the Structs themselves; a test fails when a field has no word.

Their docstrings say what the type alone does not. What a field means is said here once for all events that have it.
"""

from collections.abc import Iterator
from types import NoneType
from typing import Any, Final, get_args

from msgspec.structs import FieldInfo, fields

from outrider.model.event import Event

INTRODUCTION: Final = """\
An event is a fact in the past tense. A crawl writes its own into `DIR/events/events-{worker}-{serial}.jsonl`: JSON
lines in UTF-8, one event each. `outrider events DIR` prints them in the order of time, `--follow` as they come.

**The promise.** Fields and types of events are added, never renamed or removed, and none changes its meaning: ignore
those that you do not know. `version` would only change if that had to be broken.

**Reading the files.** Take whole lines: what has no newline yet is not there yet, and may be cut off again if its
writer was killed. Nothing complete is ever rewritten, and a file is only written at its end, by one process; the
next one begins a new file. An event may come twice after a crash, as the visit that it tells of may.
"""

_TYPES: Final[dict[object, str]] = {float: "number", int: "whole number", str: "text", bool: "true or false"}

_MEANINGS: Final = {
    "at": "When it happened: seconds since 1970.",
    "url": "The URL that it is about, without userinfo and fragment.",
    "site": "The politeness unit of the URL: a registrable domain, or a host by setting.",
    "reason": "Why: one of [a closed list](#reasons).",
    "rule": "The rule of admission that decided.",
    "evidence": "What the rule found, such as the pattern that matched.",
    "requested_url": "The URL that was asked for first.",
    "final_url": "The URL of the last request that was made.",
    "status_code": "The status of the final answer.",
    "content_type": "As the server said.",
    "content_length": "Bytes of the decoded body.",
    "content_hash": "SHA-256 of the decoded body, in hex.",
    "fetched_at": "When, in ISO 8601 with its zone.",
    "cache_key": "Where the content is kept.",
    "fetch_id": "Of this visit; the records have the same.",
    "depth": "Links away from where the crawl began.",
    "origin": "Who proposed the URL: seed, link, sitemap, feed, redirect, queue, recrawl or listing.",
    "charset": "Of the content: as the server or the page said, or as it was guessed.",
    "directives": "What the answer's X-Robots-Tag asks for, such as nofollow.",
    "entry": "As it stood in the queue; control characters escaped, and cut if it is long.",
    "scope": "Whose fault it was: `url` or `site`.",
    "to": "Where it went: a URL of another site, which is now a task of that site.",
    "detail": "In words.",
    "status": "The status of the answer, where there was one.",
    "due_at": "When the next visit is owed.",
    "visits": "How many visits counted against the URL.",
    "wait": "Seconds until the next request.",
    "probe_at": "When the site is asked again whether it lives.",
    "openings": "How many times in a row it has been found down.",
    "alive": "Whether it answered.",
    "down_since": "When it was first found down.",
    "interval": "Seconds between two requests from now on.",
    "not_before": "No request before this moment.",
    "paused": "Whether it is left alone for the time being; what it owes stays owed.",
    "excluded": "Whether it is not visited any more; what it owes ends as skipped.",
    "delay": "Seconds between two requests, in place of the setting.",
    "by": "How the operator said it.",
    "workers": "How many worker processes there are.",
    "resumed": "Whether it goes on with what an earlier run left.",
    "cause": "In words.",
    "finish": "`finished`, or the limit or signal that stopped it.",
    "pages": "How many pages were fetched.",
    "seconds": "How long it took.",
    "worker": "The number of the process.",
    "exit_code": "Of the process; negative for the signal that killed it.",
    "what": "What was to be done.",
    "error": "The error, in words.",
}

_SENTENCES: Final = {
    "url_admitted": "A URL entered the frontier: it is owed a visit.",
    "webpage_fetched": "A page was fetched, with both ends of the redirects that led to it.",
    "page_unchanged": "The page is as it was: the server said so (304), or the bytes are the same.",
    "page_moved": "A redirect leads to another site, where the target is a task of its own.",
    "page_skipped": "No visit by decision, such as that of robots.txt. Neither a success nor a failure.",
    "request_retried": "A request inside a visit failed and is tried again, after a wait.",
    "site_probed": "A site that was down was asked whether it lives.",
    "site_came_back": "A site that was down answers again.",
    "crawl_resumed": "What had paused the crawl is over.",
}
"""Of those whose docstring would only repeat the name, or speaks to us rather than to a consumer."""


def event_types() -> Iterator[tuple[str, type]]:
    for kind in get_args(Event):
        yield str(kind.__struct_config__.tag), kind


def told(tag: str, kind: type) -> str:
    return _SENTENCES.get(tag) or " ".join((kind.__doc__ or "").split())


def rows(kind: Any) -> Iterator[tuple[str, str, str]]:  # noqa: ANN401 - a Struct class, which has no type of its own
    """Name, type, meaning: what all events have comes first."""
    yield "`type`", "text", f"`{kind.__struct_config__.tag}`"
    yield "`version`", "whole number", f"{kind.version}"
    for field in sorted(fields(kind), key=lambda field: field.name != "at"):
        yield f"`{field.name}`", _type_of(field), _MEANINGS[field.name]


def _type_of(field: FieldInfo) -> str:
    kinds = get_args(field.type) or (field.type,)
    words = " or ".join("null" if kind is NoneType else _TYPES.get(kind, "text") for kind in kinds)
    return words if field.required or "null" in words else f"{words}, may be empty"
