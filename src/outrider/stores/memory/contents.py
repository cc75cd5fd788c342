"""Answers in this process: the shortest true content store, for tests and for crawls that keep nothing."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Self

from msgspec.structs import replace

from outrider.model.capture import Capture, Unchanged
from outrider.ports import Clock
from outrider.stores.place import Place


class MemoryContents:
    """What is confirmed makes no difference here: a process that dies takes everything with it."""

    def __init__(self) -> None:
        self._captures: list[Capture] = []

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, _clock: Clock | None) -> AsyncIterator[Self]:
        place.end()
        yield cls()

    async def put(self, captures: Sequence[Capture]) -> list[str]:
        first = len(self._captures)
        self._captures += map(_kept, captures)
        return [f"memory:{number}" for number in range(first, len(self._captures))]

    async def confirm(self, keys: Sequence[str]) -> None:
        pass

    async def get(self, key: str) -> Capture | None:
        number = key.removeprefix("memory:")
        if not (number.isascii() and number.isdigit()) or int(number) >= len(self._captures):
            return None
        return self._captures[int(number)]


def _kept(capture: Capture) -> Capture:
    """What any store keeps: no request, the digest of what was sent, and no content that we had before."""
    digest = capture.payload_sha256
    if digest is None and capture.unchanged is not Unchanged.NOT_MODIFIED:
        digest = sha256(capture.body).hexdigest()
    body = capture.body if capture.unchanged is None else b""
    return replace(capture, request=b"", payload_sha256=digest, body=body)
