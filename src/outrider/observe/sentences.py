"""In which words is an event told? A sentence for a person, and every field of it as `name=value`.

`id` is the SHA-256 of the URL, by which our stores know it. Events come as their fields, so that those which a later
version wrote can be told as well.
"""

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from msgspec.structs import asdict

from outrider.model.event import Event
from outrider.observe.words import counted, duration, visible, without_passwords

Fields: TypeAlias = Mapping[str, Any]

_BARE: Final = re.compile(r"[^\s\"=]+")


def _failed(fields: Fields) -> str:
    return "failed for good" if fields.get("due_at") is None else f"failed, due again in {_until(fields, 'due_at')}"


def _until(fields: Fields, name: str) -> str:
    return duration(max(fields[name] - fields["at"], 0.0))


def _since(fields: Fields) -> str:
    return duration(max(fields["at"] - fields["down_since"], 0.0))


def _workers(fields: Fields) -> str:
    return counted(fields["workers"], "worker")


def _order(fields: Fields) -> str:
    asked = [word for word in ("paused", "excluded") if fields[word]]
    if fields["delay"] is not None:
        asked.append(f"asked every {duration(fields['delay'])} at most")
    return f"{fields['site']} is to be {' and '.join(asked) or 'treated as usual'}, says an operator"


_SENTENCES: Final[Mapping[str, Callable[[Fields], str]]] = MappingProxyType(
    {
        "url_admitted": lambda _: "admitted",
        "url_refused": lambda e: f"refused by {e['rule']}",
        "entry_refused": lambda _: "an entry of the queue is no URL to visit; it is a dead letter now",
        "webpage_fetched": lambda e: f"fetched, HTTP {e['status_code']}",
        "page_unchanged": lambda _: "has not changed",
        "page_moved": lambda _: "moved to another site",
        "page_skipped": lambda _: "skipped",
        "page_failed": _failed,
        "url_died": lambda e: f"dead after {counted(e['visits'], 'visit')}",
        "request_retried": lambda e: f"trying again in {duration(e['wait'])}",
        "site_went_down": lambda e: f"circuit open for {e['site']}, next probe in {_until(e, 'probe_at')}",
        "site_probed": lambda e: f"{e['site']} was probed: {'it answers' if e['alive'] else 'still down'}",
        "site_came_back": lambda e: f"circuit closed, {e['site']} came back after {_since(e)}",
        "site_slowed_down": lambda e: f"{e['site']} asked us to wait, {_until(e, 'not_before')}",
        "site_set_aside": lambda e: f"{e['site']} was set aside, down for {_since(e)}",
        "site_ordered": _order,
        "url_replayed": lambda _: "to be visited again, says an operator",
        "url_dismissed": lambda _: "not to be visited any more, says an operator",
        "crawl_started": lambda e: f"the crawl {'goes on' if e['resumed'] else 'starts'} with {_workers(e)}",
        "crawl_paused": lambda e: f"paused: {e['cause']}",
        "crawl_resumed": lambda e: f"goes on: {e['cause']}",
        "crawl_finished": lambda e: f"ended with {counted(e['pages'], 'page')} in {duration(e['seconds'])}",
        "worker_vanished": lambda e: f"worker {e['worker']} died; what it held is lent again, nothing is lost",
        "bug_found": lambda e: f"a bug of ours, please report it: {e['what']}",
    }
)


def fields_of(event: Event) -> dict[str, Any]:
    """`type`, then the event's own; S0-17: with the URL comes its id."""
    fields = {"type": str(event.__struct_config__.tag), **asdict(event)}
    return _with_id(fields)


def _with_id(fields: dict[str, Any]) -> dict[str, Any]:
    url = fields.get("url")
    return {**fields, "id": sha256(url.encode()).hexdigest()} if url else fields


def sentence(fields: Fields) -> str:
    """What happened, for a person. An event of a later version than ours is told by its name."""
    try:
        return _SENTENCES[fields["type"]](fields)
    except (KeyError, TypeError):
        return str(fields.get("type", "?")).replace("_", " ")


def pairs(fields: Fields) -> str:
    """`name=value`, as log readers take them; what is empty is left out."""
    told = {name: value for name, value in fields.items() if name not in {"at", "version"} and value is not None}
    return " ".join(f"{name}={_quoted(value)}" for name, value in told.items() if value != "")


def _quoted(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = visible(without_passwords(str(value)))
    return text if _BARE.fullmatch(text) else '"' + text.replace('"', "'") + '"'


def event_text(fields: Fields) -> str:
    return f"{visible(without_passwords(sentence(fields)))} {pairs(fields)}"
