"""How do bytes become a question, and an answer bytes? Tolerant of odd clients, bounded against endless ones."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from outrider.model.status import PHRASES

LONGEST_HEAD: Final = 65_536
LONGEST_BODY: Final = 1_048_576
"""Of a request; a crawler sends none."""

HeaderValue: TypeAlias = str | bytes
"""Text is sent as UTF-8; bytes go out as they are, however wrong."""
HeaderFields: TypeAlias = Mapping[str, HeaderValue] | Iterable[tuple[str, HeaderValue]]

_BODILESS: Final = frozenset({*range(100, 200), 204, 304})
_FRAMING: Final = re.compile(rb"(?im)^(host|connection|content-length|transfer-encoding)[ \t]*:[ \t]*([^\r\n]*)")


class Malformed(ValueError):
    """The client does not speak HTTP, or without end. `status` is the answer it gets before the line is cut."""

    def __init__(self, status: int) -> None:
        super().__init__(f"answered {status}")
        self.status = status


class Asked(Struct, frozen=True):
    """One request as it arrived. `at` is wall time and `monotonic_at` the loop-independent clock of this process.

    `host` is the bare name, lower case, without its port; `head` is every byte up to the empty line.
    """

    at: float
    monotonic_at: float
    host: str
    method: str
    target: str
    head: bytes
    connection_id: int
    peer: str
    tls: bool = False

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """As sent, in order; cut out of the head on demand, because a bench asks millions of times and never looks."""
        lines = self.head.decode("latin-1").splitlines()[1:]
        pairs = (line.partition(":") for line in lines if line)
        return tuple((name, value.strip(" \t")) for name, _, value in pairs)

    def header(self, name: str) -> str | None:
        wanted = name.lower()
        if wanted.encode() not in self.head.lower():
            return None
        return next((value for key, value in self.headers if key.lower() == wanted), None)


class Head(Struct, frozen=True):
    """What the server must know of a request; it takes the first `size` bytes of the buffer, body included."""

    method: str
    target: str
    host: str
    keep_alive: bool
    raw: bytes
    size: int


class Reply(Struct, frozen=True):
    """A whole answer. The first `head_size` bytes are its head, which is all that a HEAD request gets."""

    whole: bytes
    head_size: int

    @property
    def head(self) -> bytes:
        return self.whole[: self.head_size]

    @property
    def body(self) -> bytes:
        return self.whole[self.head_size :]


def parse(buffer: bytes | bytearray) -> Head | None:
    """The first request in `buffer`, or None while more must come. Raises `Malformed`."""
    end = buffer.find(b"\r\n\r\n") + 4
    if end == 3:
        end = buffer.find(b"\n\n") + 2
    if end == 1:
        if len(buffer) > LONGEST_HEAD:
            raise Malformed(431)
        return None
    if end > LONGEST_HEAD:
        raise Malformed(431)
    raw = bytes(buffer[:end])
    line, _, rest = raw.lstrip(b"\r\n").partition(b"\n")
    words = line.decode("latin-1").split()
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Malformed(400)
    method, target, version = words
    # Reversed, so that of a header sent twice the first one counts.
    framing = {name.lower(): value for name, value in reversed(_FRAMING.findall(rest))}
    size = end + _body_length(framing)
    if len(buffer) < size:
        return None
    authority = framing.get(b"host", b"").decode("latin-1")
    if "://" in target:
        authority, slash, path = target.partition("://")[2].partition("/")
        target = slash + path or "/"
    asks_to = framing.get(b"connection", b"").strip().lower()
    keep_alive = asks_to == b"keep-alive" if version == "HTTP/1.0" else asks_to != b"close"
    return Head(method, target, _bare_host(authority), keep_alive, raw, size)


def _body_length(framing: Mapping[bytes, bytes]) -> int:
    if b"transfer-encoding" in framing:
        raise Malformed(411)
    said = framing.get(b"content-length", b"0").strip()
    if not said.isdigit():
        raise Malformed(400)
    if len(said) > 9 or int(said) > LONGEST_BODY:
        raise Malformed(413)
    return int(said)


def _bare_host(authority: str) -> str:
    host = authority.strip().lower()
    return host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]


def head(status: int, headers: HeaderFields = (), *, reason: str | None = None) -> bytes:
    """Status line and headers as given, nothing added, nothing corrected."""
    phrase = reason if reason is not None else PHRASES.get(status, "Unheard Of")
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    lines = [f"HTTP/1.1 {status} {phrase}".encode()]
    lines += [b"%s: %s" % (name.encode(), _as_bytes(value)) for name, value in pairs]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def render(status: int, headers: HeaderFields = (), body: bytes = b"", *, reason: str | None = None) -> Reply:
    """An honest answer: its length is said, and a status that has no body gets none."""
    pairs = list(headers.items() if isinstance(headers, Mapping) else headers)
    if status in _BODILESS:
        body = b""
    else:
        pairs.append(("Content-Length", str(len(body))))
    top = head(status, pairs, reason=reason)
    return Reply(top + body, len(top))


def chunk(data: bytes) -> bytes:
    """One piece of a chunked body; an empty one ends it."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def with_close(whole: bytes) -> bytes:
    """The same answer, telling that the connection ends with it."""
    return whole.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)


def _as_bytes(value: HeaderValue) -> bytes:
    return value if isinstance(value, bytes) else value.encode()
