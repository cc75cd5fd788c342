"""One visit told to a program: a JSON object with the names of S1. Fields are added, never renamed or removed.

Everything that is not ASCII is escaped, so that it can be printed to a terminal, too.
"""

import json
from typing import Any, TypeAlias

import msgspec

from outrider.client import Fetch
from outrider.model.codec import to_json
from outrider.model.record import HttpResponse

Json: TypeAlias = Any


def fetch_document(fetch: Fetch) -> str:
    """S1-33 at the top; `page` is null when a skip pattern kept us from looking (S1-29)."""
    visit = fetch.visit
    return dumped(
        {
            "url": visit.requested,
            "success": fetch.ok,
            "statusCode": fetch.page.status_code if fetch.page else 0,
            "finalUrl": visit.final_url,
            "loadTime": round((visit.ended_at - visit.started_at) * 1000),
            "robotsAllowed": visit.robots.allowed if visit.robots else None,
            "confidence": fetch.confidence,
            "error": _error(fetch),
            "outcome": _camel(_plain(fetch.outcome)),
            "tries": _camel(_plain(visit.tries)),
            "page": _plain(fetch.page),
            "evidence": _plain(fetch.evidence),
        }
    )


def dumped(document: Json) -> str:
    return json.dumps(document, indent=2)


def document_of(value: object) -> str:
    """Any value of the model, all names alike."""
    return dumped(_camel(_plain(value)))


def _error(fetch: Fetch) -> str | None:
    if fetch.page:
        return fetch.page.metadata.error
    said = (fact.content.error for fact in fetch.evidence if isinstance(fact.content, HttpResponse))
    return next(said, "URL matches skip pattern")


def _plain(value: object) -> Json:
    return msgspec.json.decode(to_json(value))


def _camel(value: Json) -> Json:
    """Outcomes carry the names of our own stores; in one document all names look alike."""
    match value:
        case dict():
            return {_camel_name(key): _camel(item) for key, item in value.items()}
        case list():
            return [_camel(item) for item in value]
        case _:
            return value


def _camel_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
