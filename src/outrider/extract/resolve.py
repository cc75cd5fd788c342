"""Where does a link lead? To a `Url`, or nowhere that a crawler goes.

Most links are written plainly: a path, or the same thing behind a host that was seen a moment ago. What the URL parser
would give for such a text is the text itself, so it is not asked: a link costs a third. The plain forms are narrow on
purpose, and a test holds them to the parser's answer. Whatever is not plain goes the whole way. A link that depends on
nothing but the origin is remembered, because the other pages of the site have it, too.
"""

import re
from functools import lru_cache
from typing import Final

from outrider.errors import InvalidUrl
from outrider.model.url import Url

_ABOUT: Final = "".join(map(chr, range(0x21)))
"""URL Standard 4.4: C0 controls and spaces around a URL are not part of it."""

_LONGEST_PLAIN: Final = 2_000
"""Longer ones are rare, and go the whole way with its own limit."""
_LONGEST_KEPT: Final = 200
_MOST_KEPT: Final = 16_384
"""Answers that are remembered, of either kind: 5 MB when all are of the usual length."""

# Characters that mean themselves in a path and in a query. A segment that could be `.` or `..` is not plain.
_SAFE: Final = r"A-Za-z0-9_~!$&()*+,;=@.%\-"
_NO_DOTS: Final = r"(?!\.|%2[Ee])"
_QUERY: Final = rf"(?:\?[{_SAFE}:/?]*+)?"
_REST: Final = rf"(?:/{_NO_DOTS}[{_SAFE}:]*+)*+"
_PATH: Final = re.compile(rf"/(?!/){_NO_DOTS}[{_SAFE}:]*+{_REST}{_QUERY}")
_ABSOLUTE: Final = re.compile(rf"(https?://[a-z0-9.\-]++(?::[1-9][0-9]*+)?+)/{_NO_DOTS}[{_SAFE}:]*+{_REST}{_QUERY}")
# Without a colon anywhere: what stands before one could be a scheme.
_RELATIVE: Final = re.compile(rf"{_NO_DOTS}[{_SAFE}]++(?:/{_NO_DOTS}[{_SAFE}]*+)*+(?:\?[{_SAFE}/?]*+)?")
_OTHER_SCHEME: Final = re.compile(r"(?!https?:)[a-z][a-z0-9+.\-]*:", re.IGNORECASE)


class Base:
    """The URL that the links of a document are relative to."""

    __slots__ = ("_folder", "_origin", "_url")

    def __init__(self, url: Url) -> None:
        self._url = url
        self._origin = url.origin
        bare = url.partition("?")[0]
        self._folder = bare[: bare.rfind("/") + 1]

    def resolve(self, link: str) -> Url | None:
        """None for what leads nowhere: another scheme, a place in the same page, a text that is no URL."""
        if link[:1] == "/":
            return _on(self._origin, link) if len(link) <= _LONGEST_KEPT else _of_origin(self._origin, link)
        if link.startswith(("http://", "https://")):
            return _anywhere(link) if len(link) <= _LONGEST_KEPT else _absolute(link)
        plain = link if "#" not in link else link[: link.index("#")]
        if plain and len(plain) <= _LONGEST_PLAIN and _RELATIVE.fullmatch(plain):
            return Url.trusted(self._folder + plain)
        return _parsed(link, self._url)


def _of_origin(origin: str, link: str) -> Url | None:
    """It begins with a slash, or with two: then nothing but the scheme matters."""
    plain = link if "#" not in link else link[: link.index("#")]
    if len(plain) <= _LONGEST_PLAIN and _PATH.fullmatch(plain):
        return Url.trusted(origin + plain)
    return _parsed(link, f"{origin}/")


def _absolute(link: str) -> Url | None:
    plain = link if "#" not in link else link[: link.index("#")]
    if len(plain) <= _LONGEST_PLAIN and (absolute := _ABSOLUTE.fullmatch(plain)) and _is_as_written(absolute[1]):
        return Url.trusted(plain)
    return _parsed(link, None)


# The pages of a site lead to the same places.
_on: Final = lru_cache(maxsize=_MOST_KEPT)(_of_origin)
_anywhere: Final = lru_cache(maxsize=_MOST_KEPT)(_absolute)


def _parsed(link: str, base: str | None) -> Url | None:
    bare = link.strip(_ABOUT)
    if not bare or bare[0] == "#" or _OTHER_SCHEME.match(bare):
        return None
    try:
        return Url(bare, base)
    except InvalidUrl:
        return None


@lru_cache(maxsize=4_096)
def _is_as_written(origin: str) -> bool:
    """Does the parser leave this scheme, host and port as they are? Not `http://1.2`, which is an address."""
    try:
        return Url(f"{origin}/") == f"{origin}/"
    except InvalidUrl:
        return False
