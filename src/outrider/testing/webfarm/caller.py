"""A client without opinions: raw bytes out, raw bytes in. It is how the farm itself is judged.

It corrects nothing, follows nothing and retries nothing; all of a call must end within its patience.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping

from outrider.testing.webfarm.wire import LONGEST_HEAD


class Caller:
    """One connection to a farm."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, raw: bytes) -> None:
        self._writer.write(raw)
        await self._writer.drain()

    async def ask(
        self, host: str, target: str = "/", method: str = "GET", headers: Mapping[str, str] | None = None
    ) -> None:
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *(f"{k}: {v}" for k, v in (headers or {}).items())]
        await self.send("\r\n".join([*lines, "", ""]).encode())

    async def head(self) -> bytes:
        """Everything up to and with the empty line."""
        return await self._reader.readuntil(b"\r\n\r\n")

    async def read(self, size: int) -> bytes:
        return await self._reader.readexactly(size)

    async def rest(self) -> bytes:
        """Everything until the other side closes; raises `ConnectionResetError` when it resets."""
        return await self._reader.read()

    async def answer(self) -> tuple[bytes, bytes]:
        """Head and body of an answer that says its length, or comes in chunks."""
        head = await self.head()
        fields = dict(line.split(b": ", 1) for line in head.splitlines()[1:] if line)
        if fields.get(b"Transfer-Encoding") == b"chunked":
            return head, await self._chunks()
        return head, await self.read(int(fields.get(b"Content-Length", b"0")))

    async def _chunks(self) -> bytes:
        body = bytearray()
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            body += await self.read(size)
            await self.read(2)
        await self.read(2)
        return bytes(body)


@contextlib.asynccontextmanager
async def call(
    port: int,
    *,
    address: str = "127.0.0.1",
    context: ssl.SSLContext | None = None,
    name: str | None = None,
    patience: float = 30.0,
) -> AsyncIterator[Caller]:
    """Connect, with TLS to `name` when there is a context."""
    async with asyncio.timeout(patience):
        reader, writer = await asyncio.open_connection(
            address, port, ssl=context, server_hostname=name, limit=LONGEST_HEAD * 256
        )
        try:
            yield Caller(reader, writer)
        finally:
            # A peer that has reset the connection is no news when we hang up.
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def ask(
    port: int, host: str, target: str = "/", method: str = "GET", headers: Mapping[str, str] | None = None
) -> bytes:
    """One question on a connection of its own: every byte that came back until the server closed."""
    async with call(port) as caller:
        await caller.ask(host, target, method, {"Connection": "close", **(headers or {})})
        return await caller.rest()
