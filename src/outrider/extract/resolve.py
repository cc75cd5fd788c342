"""Where does a link lead? To a `Url`, or nowhere that a crawler goes.

Most links are written plainly: a path, or the same thing behind a host that was seen a moment ago. What the URL parser
would give for such a text is the text itself, so it is not asked: a link costs a third. The plain forms are narrow on
purpose, and a test holds them to the parser's answer. Whatever is not plain goes the whole way.
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

# Characters that mean themselves in a path and in a query. A segment that could be `.` or `..` is not plain.
_SAFE: Final = r"A-Za-z0-9_~!$&(),;=@.%*+\-"
_NO_DOTS: Final = r"(?!\.|%2[Ee])"
_QUERY: Final = rf"(?:\?[{_SAFE}:/?]*+)?"
_REST: Final = rf"(?>(?:/{_NO_DOTS}[{_SAFE}:]*+)*)"
_PATH: Final = re.compile(rf"/(?!/){_NO_DOTS}[{_SAFE}:]*+{_REST}{_QUERY}")
_ABSOLUTE: Final = re.compile(rf"(https?://[a-z0-9.\-]++(?>(?::[1-9][0-9]*+)?))/{_NO_DOTS}[{_SAFE}:]*+{_REST}{_QUERY}")
# Without a colon anywhere: what stands before one could be a scheme.
_RELATIVE: Final = re.compile(rf"{_NO_DOTS}[{_SAFE}]++(?>(?:/{_NO_DOTS}[{_SAFE}]*+)*)(?:\?[{_SAFE}/?]*+)?")
_OTHER_SCHEME: Final = re.compile(r"(?!https?:)[a-z][a-z0-9+.\-]*:", re.IGNORECASE)


class Base:
    """The URL that the links of a document are relative to. `folder` is it up to its last slash."""

    __slots__ = ("_url", "folder", "origin")

    def __init__(self, url: Url) -> None:
        self._url = url
        self.origin = url.origin
        bare = url.partition("?")[0]
        self.folder = bare[: bare.rfind("/") + 1]

    def resolve(self, link: str) -> Url | None:
        """None for what leads nowhere: another scheme, a place in the same page, a text that is no URL."""
        plain = link if "#" not in link else link[: link.index("#")]
        if len(plain) > _LONGEST_PLAIN:
            return _parsed(link, self._url)
        if plain[:1] == "/":
            if _PATH.fullmatch(plain):
                return Url.trusted(self.origin + plain)
        elif plain.startswith(("http://", "https://")):
            if (absolute := _ABSOLUTE.fullmatch(plain)) and _is_as_written(absolute[1]):
                return Url.trusted(plain)
        elif _RELATIVE.fullmatch(plain):
            return Url.trusted(self.folder + plain)
        return _parsed(link, self._url)


def _parsed(link: str, base: str) -> Url | None:
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
