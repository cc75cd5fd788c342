"""By what is a link known before anybody asks where it leads? By the URL that it would be if it were written plainly.

`/about` behind its origin, `part-2.html` behind its folder and a text that begins with a scheme are URLs as they stand,
if nothing in them needs the parser. Then their hash is that of the URL, and says at once whether it is known. In all
others something remains that no URL has, such as `/../` or a space: their hash is their own, and is learnt when they
have been resolved.
"""

from collections.abc import Collection
from typing import Final

from xxhash import xxh3_64_intdigest

from outrider.extract.resolve import Base

NO_WAY: Final = 0
_ABSOLUTE: Final = ("http://", "https://")


def ways(base: Base, hrefs: Collection[str], key: int) -> list[int]:
    """A hash for each, or `NO_WAY` for those that depend on more: a query alone, or what spaces stand before.

    Behind a folder, a scheme and two slashes would look like a part of a path.
    """
    origin, folder = base.origin.encode(), base.folder.encode()
    scheme = origin[: origin.index(b"/")]
    return [
        xxh3_64_intdigest((scheme if href[1:2] == "/" else origin) + href.encode(), key)
        if href[0] == "/"
        else xxh3_64_intdigest(href.encode(), key)
        if href.startswith(_ABSOLUTE)
        else xxh3_64_intdigest(folder + href.encode(), key)
        if (href[0].isalnum() or href[0] == ".") and ":" not in href
        else NO_WAY
        for href in hrefs
    ]
