"""Where did somebody stop reading? A short text, which only the store that wrote it takes back.

It names the last line that was looked at, not how many there were: whatever comes and goes before it meanwhile, reading
goes on behind it. It is no secret and grants nothing, and a sum over it tells what was never written here.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final, Generic, TypeVar

from msgspec import MsgspecError
from msgspec.msgpack import Decoder, encode
from xxhash import xxh3_64_digest

from outrider.errors import ConfigError

P = TypeVar("P")

_SUM: Final = 8


class Bookmarks(Generic[P]):
    """`store` names one store and what is read of it; places are of the type that `decoder` knows."""

    def __init__(self, store: str, decoder: Decoder[P], seed: int = 0) -> None:
        self._store = store.encode(errors="surrogatepass")
        self._decoder = decoder
        self._seed = seed

    def write(self, place: P) -> str:
        data = encode(place)
        return urlsafe_b64encode(self._sum(data) + data).decode().rstrip("=")

    def read(self, text: str) -> P:
        """Raises `ConfigError` for what this store did not write."""
        try:
            whole = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
            place = self._decoder.decode(whole[_SUM:])
        except (ValueError, MsgspecError) as error:
            raise self._refusal(text) from error
        if self.write(place) != text:
            raise self._refusal(text)
        return place

    def _sum(self, data: bytes) -> bytes:
        return xxh3_64_digest(self._store + b"\0" + data, self._seed)

    def _refusal(self, text: str) -> ConfigError:
        shown = text if len(text) <= 40 else f"{text[:40]}…"
        return ConfigError(f"{shown!r} is not where a page of this store ended; expected what its last page said")
