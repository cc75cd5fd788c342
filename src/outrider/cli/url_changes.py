"""What became of a URL's text on its way to the form that is fetched, and why? Told step by step, and checked.

Each step undoes one peculiarity of the text. It counts only if the parser makes the same URL of the text after it as
of the text before it, and the last step must arrive at that URL: so nothing is told that is not so, and what no step
knows is told as unexplained.
"""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct

from outrider.errors import InvalidUrl
from outrider.model.identity import Identity
from outrider.model.url import Url

_BLANKS: Final = "".join(map(chr, range(0x21)))
_PARTS: Final = re.compile(r"([^:/?#]+):(/*)([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)

_USERINFO: Final = re.compile(r"([\0-\x20]*(?:h\s*t\s*t\s*p\s*s?\s*:)?[\s/\\]*)[^/\\?#]*@", re.IGNORECASE)
"""Greedy up to the last @ before the path, with whatever the parser would skip on the way there."""


class Change(Struct, frozen=True):
    """`was` became `now`: only the part that differs."""

    what: str
    why: str
    was: str
    now: str


class _Parts(Struct, frozen=True):
    scheme: str
    slashes: str
    authority: str
    path: str
    query: str
    fragment: str

    def __str__(self) -> str:
        return f"{self.scheme}:{self.slashes}{self.authority}{self.path}{self.query}{self.fragment}"

    @property
    def userinfo(self) -> str:
        return self.authority[: self.authority.rfind("@") + 1]

    @property
    def host(self) -> str:
        return self._place[0]

    @property
    def port(self) -> str:
        """With its colon."""
        return self._place[1]

    @property
    def _place(self) -> tuple[str, str]:
        place = self.authority[len(self.userinfo) :]
        end = place.rfind(":")
        return (place, "") if end < 0 or place.endswith("]") else (place[:end], place[end:])


def without_password(text: str, url: Url, base: Url | None = None) -> str:
    """The text with stars for its userinfo: as that is dropped, the URL stays the same."""
    hidden = _USERINFO.sub(r"\1***@", text)
    return hidden if _parsed(hidden, base) == url else text


def changes(text: str, url: Url, base: Url | None = None) -> list[Change]:
    """What led from `text`, relative to `base`, to `url`. Userinfo is in none of it."""
    text = without_password(text, url, base)
    found = []
    for why, step in _STEPS:
        after = step(text, url, base)
        if after != text and _parsed(after, base) == url:
            what = why(text, url) if callable(why) else why
            found.append(_change(*what, text, after))
            text = after
    if text != url:
        found.append(_change("rewritten otherwise", "the URL Standard says so", text, url))
    return found


def identity_changes(url: Url, identity: Identity) -> list[Change]:
    """From the form to fetch to the key that tells pages apart."""
    strip, sort = identity.strip_tracking, identity.sort_query
    found, before = [], str(url)
    for what, why, rules in (
        ("escapes spelled alike", "no server may tell them apart (RFC 3986 6.2.2)", Identity()),
        ("tracking parameters left out", "strip_tracking is on", Identity(strip_tracking=strip)),
        ("parameters sorted", "sort_query is on", Identity(strip_tracking=strip, sort_query=sort)),
    ):
        after = rules.key(url)
        if after != before:
            found.append(_change(what, why, before, after))
        before = after
    return found


def _parsed(text: str, base: Url | None) -> Url | None:
    try:
        return Url(text, base)
    except InvalidUrl:
        return None


def _change(what: str, why: str, before: str, after: str) -> Change:
    shorter = min(len(before), len(after))
    start = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    rest = shorter - start
    end = next((at for at in range(rest) if before[-1 - at] != after[-1 - at]), rest)
    return Change(what, why, before[start : len(before) - end], after[start : len(after) - end])


# ── the steps: text in, text out; the same text when there is nothing to do ──────────────────────────────────────────

_Step: TypeAlias = Callable[[str, Url, Url | None], str]


def _strip(text: str, _: Url, __: Url | None) -> str:
    return text.strip(_BLANKS)


def _drop_breaks(text: str, _: Url, __: Url | None) -> str:
    return text.translate({9: None, 10: None, 13: None})


def _turn_slashes(text: str, _: Url, __: Url | None) -> str:
    head = re.match(r"[^?#]*", text)
    return text if head is None else head[0].replace("\\", "/") + text[head.end() :]


def _join(text: str, _: Url, base: Url | None) -> str:
    """By hand and without tidying up, so that the steps below have something to tell."""
    if base is None or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", text):
        return text
    if text.startswith("//"):
        return f"{base.scheme}:{text}"
    if text.startswith("/"):
        return base.origin + text
    if text.startswith("?"):
        return f"{base.origin}{base.path}{text}"
    if not text or text.startswith("#"):
        return base + text
    return f"{base.origin}{base.path[: base.path.rfind('/') + 1]}{text}"


def _on_parts(change: Callable[[_Parts, Url], dict[str, str]]) -> _Step:
    def step(text: str, url: Url, _: Url | None) -> str:
        matched = _PARTS.fullmatch(text)
        if matched is None:
            return text
        parts = _Parts(*(part or "" for part in matched.groups()))
        names = {name: getattr(parts, name) for name in parts.__struct_fields__}
        return str(_Parts(**names | change(parts, url)))

    return step


def _escape(part: str, wanted: str) -> str:
    """The characters that the form to fetch does not have, as escapes of their UTF-8 bytes."""
    strange = set(part) - set(wanted)
    return "".join(_escaped(char) if char in strange else char for char in part)


def _escaped(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")[1:]
    for number, segment in enumerate(segments, 1):
        plain = re.sub("%2e", ".", segment, flags=re.IGNORECASE)
        if plain == "..":
            kept = kept[:-1]
        elif plain != ".":
            kept.append(segment)
        if plain in {".", ".."} and number == len(segments):
            kept.append("")
    return "/" + "/".join(kept)


def _why_the_host(text: str, url: Url) -> tuple[str, str]:
    matched = _PARTS.fullmatch(text)
    given = _Parts(*(part or "" for part in matched.groups())).host if matched else ""
    if given.lower() == url.host:
        return "host in lower case", "a host name has no case"
    if url.host.startswith("["):
        return "IPv6 address rewritten", "of all its spellings the shortest stands for it"
    if url.host.rpartition(".")[2].isdigit():
        return "IPv4 address rewritten", "of all its notations four decimal bytes stand for it"
    if not given.isascii():
        return "host in ASCII (IDNA)", "the DNS knows a name by its ASCII form only"
    return "host rewritten", "escapes in a host are decoded, and then it has no case"


def _why_the_port(_: str, url: Url) -> tuple[str, str]:
    if f":{url.port}" in url.authority:
        return "port rewritten", "a port is a number"
    return "default port removed", f"port {url.port} is what {url.scheme} means without one"


_Why: TypeAlias = tuple[str, str] | Callable[[str, Url], tuple[str, str]]

_STEPS: Final[tuple[tuple[_Why, _Step], ...]] = (
    (("blanks around it dropped", "the URL Standard ignores them"), _strip),
    (("tabs and line breaks dropped", "the URL Standard ignores them wherever they are"), _drop_breaks),
    (("backslashes turned", "in http and https they count as slashes"), _turn_slashes),
    (("joined to the base", "a link is relative to the page that it is on"), _join),
    (
        ("scheme in lower case", "a scheme has no case"),
        _on_parts(lambda parts, _: {"scheme": parts.scheme.lower()}),
    ),
    (("two slashes after the scheme", "any other number counts as two"), _on_parts(lambda _, __: {"slashes": "//"})),
    (
        ("userinfo dropped", "a crawl has no passwords, and no log should"),
        _on_parts(lambda parts, _: {"authority": parts.host + parts.port}),
    ),
    (_why_the_host, _on_parts(lambda parts, url: {"authority": url.host + parts.port})),
    (_why_the_port, _on_parts(lambda _, url: {"authority": url.authority})),
    (("fragment dropped", "it is never sent to a server"), _on_parts(lambda _, __: {"fragment": ""})),
    (("empty path made /", "a request needs a path"), _on_parts(lambda parts, _: {"path": parts.path or "/"})),
    (
        ("dot segments removed", "they are steps on the way, not part of the path"),
        _on_parts(lambda parts, _: {"path": _without_dots(parts.path)}),
    ),
    (
        ("characters percent-encoded", "a request line is ASCII without blanks or quotes"),
        _on_parts(
            lambda parts, url: {"path": _escape(parts.path, url.path), "query": _escape(parts.query, f"?{url.query}")}
        ),
    ),
)
