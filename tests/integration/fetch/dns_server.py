"""A real name server on loopback, UDP and TCP, that answers A and AAAA from a script and keeps what it was asked."""

import asyncio
import socket
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Self, cast

from msgspec import Struct

NXDOMAIN = 3
SERVFAIL = 2
REFUSED = 5
_TYPES = {1: "A", 28: "AAAA"}
_TRIES_FOR_A_PORT = 20
_PATIENCE = 10.0


class Reply(Struct, frozen=True):
    """One scripted answer. `silent` sends nothing, `held` waits first, `truncated` sends the rest over TCP only."""

    a: tuple[str, ...] = ()
    aaaa: tuple[str, ...] = ()
    ttl: int = 0  # c-ares keeps what has a TTL in a cache of its own, by the real clock
    rcode: int = 0
    silent: bool = False
    silent_for: str = ""
    truncated: bool = False
    held: asyncio.Event | None = None


class DnsServer:
    """`script` maps a name to one reply, or to several: one after the other, then the last for ever."""

    def __init__(self, script: dict[str, Reply | Sequence[Reply]]) -> None:
        self.script = script
        self.asked: list[tuple[str, str, str]] = []
        self._heard: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._turns: Counter[tuple[str, str]] = Counter()
        self._answering: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def count(self, name: str, kind: str = "A") -> int:
        return sum(asked[:2] == (name, kind) for asked in self.asked)

    async def heard(self, name: str) -> None:
        """Wait for the first question about a name."""
        async with asyncio.timeout(_PATIENCE):
            await self._heard[name].wait()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for _ in range(_TRIES_FOR_A_PORT):
            self._tcp = await asyncio.start_server(self._serve_tcp, "127.0.0.1", 0)
            self.port = self._tcp.sockets[0].getsockname()[1]
            try:
                self._udp, _protocol = await loop.create_datagram_endpoint(
                    lambda: _Datagrams(self._begin), local_addr=("127.0.0.1", self.port)
                )
            except OSError:  # somebody else has the UDP port of that number
                self._tcp.close()
            else:
                return self
        raise RuntimeError("no port is free for both UDP and TCP")

    async def __aexit__(self, *_: object) -> None:
        self._udp.close()
        self._tcp.close()
        for writer in self._writers:
            writer.close()
            await writer.wait_closed()
        for task in self._answering:
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)

    def _begin(self, query: bytes, send: Callable[[bytes], None]) -> None:
        task = asyncio.create_task(self._answer(query, send, "udp"))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _serve_tcp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                (length,) = struct.unpack("!H", await reader.readexactly(2))
                query = await reader.readexactly(length)
                await self._answer(query, lambda reply: writer.write(struct.pack("!H", len(reply)) + reply), "tcp")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()  # the peer is done; who closes the server waits for the rest

    async def _answer(self, query: bytes, send: Callable[[bytes], None], way: str) -> None:
        name, kind, question = _read_question(query)
        self.asked.append((name, kind, way))
        self._heard[name].set()
        reply = self._next_reply(name, kind)
        if reply.held is not None:
            await reply.held.wait()
        if reply.silent or reply.silent_for == kind:
            return
        cut = reply.truncated and way == "udp"
        addresses = () if cut else (reply.a if kind == "A" else reply.aaaa)
        flags = 0x8180 | reply.rcode | (0x0200 if cut else 0)
        header = query[:2] + struct.pack("!HHHHH", flags, 1, len(addresses), 0, 0)
        send(header + question + b"".join(_record(address, reply.ttl) for address in addresses))

    def _next_reply(self, name: str, kind: str) -> Reply:
        scripted = self.script.get(name, Reply(rcode=NXDOMAIN))
        if isinstance(scripted, Reply):
            return scripted
        turn = self._turns[name, kind]
        self._turns[name, kind] += 1
        return scripted[min(turn, len(scripted) - 1)]


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, begin: Callable[[bytes, Callable[[bytes], None]], None]) -> None:
        self._begin = begin

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not on every Python is asyncio's datagram transport an instance of its own abstract class.
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._begin(data, lambda reply: self._transport.sendto(reply, addr))


def _read_question(query: bytes) -> tuple[str, str, bytes]:
    labels = []
    at = 12
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode())
        at += 1 + length
    (kind,) = struct.unpack_from("!H", query, at + 1)
    return ".".join(labels).lower(), _TYPES.get(kind, str(kind)), query[12 : at + 5]


def _record(address: str, ttl: int) -> bytes:
    family, kind = (socket.AF_INET6, 28) if ":" in address else (socket.AF_INET, 1)
    packed = socket.inet_pton(family, address)
    return struct.pack("!HHHIH", 0xC00C, kind, 1, ttl, len(packed)) + packed
