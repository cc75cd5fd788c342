"""By what is a link known before anybody asks where it leads? By its text, and by the base it depends on.

`/about` leads to the same page from everywhere on a site, `part-2.html` from everywhere in its folder, and a text that
begins with a scheme from everywhere at all. So the hash of the text is keyed with the hash of that base; that of a URL
which is written out is the hash of the URL.
"""

from collections.abc import Collection
from typing import Final

from xxhash import xxh3_64_intdigest

from outrider.extract.resolve import Base

NO_WAY: Final = 0
_ABSOLUTE: Final = ("http://", "https://")


def ways(base: Base, hrefs: Collection[str], key: int) -> list[int]:
    """A hash for each, or `NO_WAY`: a query alone, or what spaces stand before, depends on more than the folder."""
    of_origin, of_folder = xxh3_64_intdigest(base.origin.encode(), key), xxh3_64_intdigest(base.folder.encode(), key)
    return [
        xxh3_64_intdigest(href.encode(), of_origin)
        if href[0] == "/"
        else xxh3_64_intdigest(href.encode(), key)
        if href.startswith(_ABSOLUTE)
        else xxh3_64_intdigest(href.encode(), of_folder)
        if href[0].isalnum() or href[0] == "."
        else NO_WAY
        for href in hrefs
    ]
