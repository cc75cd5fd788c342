"""The web lying and breaking, as scripts: what is sent, in which order, and how it ends.

Each fault is data, so a new one is a new tuple of steps. Compression that lies is in `encodings`, names and ports that
do not answer in `holes`, certificates that do not hold in `certificates`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import count
from typing import Literal, TypeAlias, assert_never

from msgspec import Struct

from outrider.testing.webfarm.behaviours import HELLO
from outrider.testing.webfarm.kinds import Scripted, Until, Wire
from outrider.testing.webfarm.wire import chunk, head

_BODY = HELLO.encode()
_BLOCK = b"<p>and so on and so on" * 400


class Send(Struct, frozen=True):
    data: bytes


class Wait(Struct, frozen=True):
    until: Until


class Stream(Struct, frozen=True):
    """Pieces made while they are sent, so that a gigabyte costs a piece of memory."""

    pieces: Callable[[], Iterable[bytes]]


class Repeat(Struct, frozen=True):
    """The same bytes `times` times, or without end; `every` seconds when that is not 0."""

    data: bytes
    every: float = 0.0
    times: int | None = None


class Close(Struct, frozen=True):
    pass


class Reset(Struct, frozen=True):
    pass


Step: TypeAlias = Send | Wait | Stream | Repeat | Close | Reset


class Script(Scripted, frozen=True):
    """The head, then the steps. A HEAD request gets the head alone, unless there is none and the steps are all.

    `ends_by_closing`: the answer has no length, so the connection must end with it.
    """

    head: bytes
    steps: tuple[Step, ...]
    ends_by_closing: bool = False

    async def play(self, wire: Wire) -> None:
        if self.head:
            await wire.send(self.head)
        if not self.head or wire.asked.method != "HEAD":
            for step in self.steps:
                await _take(step, wire)
        if self.ends_by_closing:
            wire.close()


async def _take(step: Step, wire: Wire) -> None:
    match step:
        case Send(data):
            await wire.send(data)
        case Wait(until):
            await wire.wait(until)
        case Stream(pieces):
            for piece in pieces():
                await wire.send(piece)
                await wire.wait(0)
        case Repeat(data, every, times):
            for _ in count() if times is None else range(times):
                await wire.send(data)
                await wire.wait(every)
        case Close():
            wire.close()
        case Reset():
            wire.reset()
        case _:
            assert_never(step)


def script(*steps: Step | bytes) -> Script:
    """Any sequence of steps; bare bytes are sent. Nothing is added, so the status line is yours to write, or not."""
    return Script(b"", tuple(Send(step) if isinstance(step, bytes) else step for step in steps))


def _html(headers: Mapping[str, str]) -> bytes:
    return head(200, {"Content-Type": "text/html", **headers})


def reset(after: Literal["nothing", "head", "half"] = "nothing") -> Script:
    """A TCP reset before any byte, after the head, or in the middle of the body."""
    top = _html({"Content-Length": str(len(_BODY))})
    match after:
        case "nothing":
            return script(Reset())
        case "head":
            return script(top, Reset())
        case "half":
            return script(top, _BODY[: len(_BODY) // 2], Reset())
        case _:
            assert_never(after)


def hang(after: bytes = b"") -> Script:
    """Sends `after`, then nothing ever more, and never closes."""
    return script(after, Repeat(b"", every=3600.0)) if after else script(Repeat(b"", every=3600.0))


def silent_close() -> Script:
    """Takes the question and closes without an answer."""
    return script(Close())


def close_early(body: bytes = _BODY) -> Script:
    """Says the whole length, sends half, and closes in good order."""
    return script(_html({"Content-Length": str(len(body))}), body[: len(body) // 2], Close())


def longer_than_said(body: bytes = _BODY) -> Script:
    """Says half the length and sends all: what follows looks like the next answer, and is none."""
    return script(_html({"Content-Length": str(len(body) // 2)}), body, Close())


def broken_chunks(how: Literal["size", "ending", "length"] = "size") -> Script:
    """A chunk whose size is no number, a body without its last chunk, or a chunk longer than its size."""
    top = _html({"Transfer-Encoding": "chunked"})
    match how:
        case "size":
            return script(top, chunk(_BODY), b"zz\r\n", _BODY, Close())
        case "ending":
            return script(top, chunk(_BODY), Close())
        case "length":
            return script(top, b"5\r\n" + _BODY + b"\r\n0\r\n\r\n", Close())
        case _:
            assert_never(how)


def garbage_status_line(line: bytes = b"\x00\xffHELO example 42") -> Script:
    """Something is sent where HTTP should be."""
    return script(line + b"\r\n\r\n", Close())


def no_headers_end() -> Script:
    """The head stops in the middle of a header, and the connection closes."""
    return script(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Unfinished: ", Close())


def header_bomb(headers: int = 10_000, size: int = 1_000) -> Script:
    """An answer that is right in every way, but for its `headers` headers of `size` bytes each."""
    return script(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n",
        Stream(partial(_many_headers, headers, b"b" * size)),
        b"Content-Length: %d\r\n\r\n" % len(_BODY) + _BODY,
    )


def _many_headers(headers: int, value: bytes) -> Iterator[bytes]:
    for start in range(0, headers, 64):
        yield b"".join(b"X-%d: %s\r\n" % (n, value) for n in range(start, min(start + 64, headers)))


def endless_headers() -> Script:
    """Header after header, and no end of them."""
    return script(b"HTTP/1.1 200 OK\r\n", Repeat(b"X-More: and more\r\n" * 64))


def endless_body(*, chunked: bool = False, block: bytes = _BLOCK) -> Script:
    """A page that goes on for as long as anyone reads, by chunks or without any length."""
    if chunked:
        return Script(_html({"Transfer-Encoding": "chunked"}), (Repeat(chunk(block)),))
    return Script(_html({}), (Repeat(block),), ends_by_closing=True)
