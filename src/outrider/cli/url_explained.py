"""What `outrider normalize` answers: one value, told to a person and to a program. Passwords are in neither."""

from collections.abc import Iterator
from typing import Final

from ada_url import idna_to_unicode
from msgspec import Struct
from rich.text import Text

from outrider.cli.terminal import GAP, labelled, shortened
from outrider.cli.url_changes import Change, changes, identity_changes, without_password
from outrider.model.identity import Identity
from outrider.model.url import Url
from outrider.observe.words import visible

_HASH_NOTE: Final = "xxh3 of the key with seed 0; a crawl draws a secret seed of its own"


class UrlExplained(Struct, frozen=True):
    given: str
    url: Url
    base: Url | None
    identity: Identity

    @property
    def shown(self) -> str:
        return without_password(self.given, self.url, self.base)

    @property
    def unicode_host(self) -> str:
        return str(idna_to_unicode(self.url.host))

    @property
    def changes(self) -> list[Change]:
        return changes(self.given, self.url, self.base)

    @property
    def identity_changes(self) -> list[Change]:
        return identity_changes(self.url, self.identity)

    def document(self) -> dict[str, object]:
        return {
            "given": self.shown,
            "base": self.base,
            "url": self.url,
            "key": self.identity.key(self.url),
            "hash": str(self.identity.hash(self.url)),  # as text: a number of this size does not survive every reader
            "hashNote": _HASH_NOTE,
            "sha256": self.url.sha256,
            "origin": self.url.origin,
            "siteByDomain": self.url.site("domain"),
            "siteByHost": self.url.site("host"),
            "unicodeHost": self.unicode_host,
            "changes": [_as_dict(change) for change in self.changes],
            "identityChanges": [_as_dict(change) for change in self.identity_changes],
        }


def told(explained: UrlExplained, width: int) -> list[Text]:
    lines = labelled(_rows(explained), width)
    for title, found in (("changed", explained.changes), ("changed for the identity key", explained.identity_changes)):
        if found:
            lines += [Text(), Text(title, "bold"), *_listed(found, width)]
    if not explained.changes:
        lines += [Text(), Text("It is fetched as it was given.")]
    return lines


def _rows(explained: UrlExplained) -> Iterator[tuple[str, Text]]:
    url, identity = explained.url, explained.identity
    yield "as given", Text(visible(explained.shown))
    if explained.base is not None:
        yield "on the page", Text(explained.base)
    yield "form to fetch", Text(url, "green")
    yield "identity key", Text(identity.key(url))
    yield "64-bit hash", Text(str(identity.hash(url)))
    yield "", Text(_HASH_NOTE, "dim")
    yield "SHA-256", Text(url.sha256)
    yield "origin", Text(url.origin)
    yield "site by domain", Text(url.site("domain"))
    yield "site by host", Text(url.site("host"))
    yield "Unicode host", Text(visible(explained.unicode_host))


def _listed(found: list[Change], width: int) -> Iterator[Text]:
    column = max(len(change.what) for change in found) + len(GAP)
    room = (width - len(GAP) - column - len(" → ")) // 2
    for change in found:
        was, now = (shortened(_quoted(side), room) for side in (change.was, change.now))
        yield Text.assemble(GAP, f"{change.what:<{column}}", (was, "yellow"), " → ", (now, "green"))
        yield Text.assemble(GAP * 2, (change.why, "dim"))


def _quoted(part: str) -> str:
    """Blanks at an end would not be seen."""
    return part if part and part == part.strip() else f"'{part}'"


def _as_dict(change: Change) -> dict[str, str]:
    return {"what": change.what, "why": change.why, "was": change.was, "now": change.now}
