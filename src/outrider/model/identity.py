"""When are two URLs the same page? When their identity keys are equal; the crawl remembers a 64-bit hash of the key.

The key undoes what no server may care about (RFC 3986 6.2.2: `%7e` is `~`, `%c3` is `%C3`). Dropping tracking
parameters and sorting the query are guesses about servers, so they are off unless asked for.
"""

import hashlib
import re
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from outrider.model.url import Url

TRACKING: Final = frozenset(
    {
        "dclid",
        "fbclid",
        "gbraid",
        "gclid",
        "igshid",
        "mc_cid",
        "mc_eid",
        "msclkid",
        "twclid",
        "wbraid",
        "yclid",
        "_ga",
        "_gl",
    }
)
"""Parameters that name a campaign or a click, never a page; every `utm_…` counts too."""

_TRIPLET: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_STRAY: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNRESERVED: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_PLAIN: Final = {f"%{ord(char):02X}": char for char in _UNRESERVED}


class Identity(Struct, frozen=True):
    """How one crawl tells pages apart. `seed` is secret, so that no site can craft two URLs that collide.

    To a store, no seed (0) means the one that it keeps.
    """

    seed: int = 0
    strip_tracking: bool = False
    sort_query: bool = False

    def __repr__(self) -> str:
        """Without the secret: what holds an identity may end up in a log."""
        seed = "***" if self.seed else "0"
        return f"Identity(seed={seed}, strip_tracking={self.strip_tracking}, sort_query={self.sort_query})"

    def key(self, url: Url) -> str:
        key = str(url)
        if "%" in key and not _STRAY.search(key):
            # With a stray % in it, decoding could make new triplets: such a URL is only ever equal to itself.
            key = _TRIPLET.sub(_normal_triplet, key)
        if (self.strip_tracking or self.sort_query) and "?" in key:
            key = self._shorten(key)
        return key

    def hash(self, url: Url) -> int:
        """Signed, so that every store can keep it in eight bytes."""
        value: int = xxh3_64_intdigest(self.key(url).encode(), self.seed)
        return value - (1 << 64) if value >> 63 else value

    def sha256(self, url: Url) -> bytes:
        return hashlib.sha256(self.key(url).encode()).digest()

    def _shorten(self, key: str) -> str:
        path, _, query = key.partition("?")
        fields = query.split("&")
        if self.strip_tracking:
            fields = [field for field in fields if not _is_tracking(field.partition("=")[0])]
        if self.sort_query:
            fields.sort(key=lambda field: field.partition("=")[0])
        return f"{path}?{'&'.join(fields)}" if fields else path


def _normal_triplet(triplet: re.Match[str]) -> str:
    upper = triplet[0].upper()
    return _PLAIN.get(upper, upper)


def _is_tracking(name: str) -> bool:
    return name.startswith("utm_") or name in TRACKING
