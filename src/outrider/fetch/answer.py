"""What has arrived of one response? Lines and chunks in; a final header block and a capped body out.

Knows no library, but the shape of libcurl's callbacks, which call it directly, once for each line: a feeding method
returns None to go on and `STOP` when no more is wanted; why is in `stopped`. Informational blocks (1xx), a proxy's
answer to CONNECT and trailers are counted as bytes and otherwise dropped.
"""

from enum import Enum
from io import BytesIO
from typing import Final

from outrider.fetch.body import content_type, is_wanted
from outrider.model.outcome import Headers

STOP: Final = -1
"""As a number of bytes taken, which is what libcurl asks for: none that could be right."""

OTHER_CAP: Final = 65_536
"""Bytes read of a body that is not a page (3xx, 4xx, 5xx): enough to keep the connection, too little to hurt."""


class Stop(Enum):
    """Why we stopped reading: the first two are still answers."""

    CAP = "the body cap is reached"
    TYPE = "the content type is not wanted"
    HEADERS = "the headers are too large"
    UPGRADE = "the server switched protocols unasked"
    VERSION = "the status line names no version of HTTP that we speak"


class Answer:
    """Reset for each request; never shared. `ready` turns true when the request is about to be sent."""

    def __init__(self, max_header_bytes: int) -> None:
        self._max_header_bytes = max_header_bytes
        self.reset(body_cap=0, wanted=frozenset())

    def reset(self, body_cap: int, wanted: frozenset[str]) -> None:
        self._cap = body_cap
        self._wanted = wanted
        self._lines: list[bytes] = []
        # Not a list: a chunk of two bytes would cost fifty.
        self._body = BytesIO()
        self.ready = False
        self.final = False
        self.stopped: Stop | None = None
        self.status = 0
        self.version = ""
        self.header_bytes = 0
        self.length = 0

    @property
    def arrived(self) -> int:
        return self.header_bytes + self.length

    def add_line(self, line: bytes) -> int | None:
        """Take one header line with its line end."""
        self.header_bytes += len(line)
        if self.header_bytes > self._max_header_bytes:
            return self._stop(Stop.HEADERS)
        if self.final:
            return None
        if line not in {b"\r\n", b"\n"}:
            self._lines.append(line)
            return None
        if not self.ready:
            # A proxy has answered our CONNECT: the site has not spoken yet.
            self._lines.clear()
            return None
        return self._end_block()

    def add_chunk(self, chunk: bytes) -> int | None:
        """Take a piece of the body; `STOP` when there is more than the cap."""
        self.length += len(chunk)
        if self.length > self._cap:
            self._body.write(chunk[: len(chunk) - (self.length - self._cap)])
            return self._stop(Stop.CAP)
        self._body.write(chunk)
        return None

    def body(self) -> bytes:
        return self._body.getvalue()

    def headers(self) -> Headers:
        """Of the final block, in order, as latin-1, without the white space around values (RFC 9110 5.5)."""
        pairs: list[tuple[str, str]] = []
        for line in self._lines[1:]:
            text = line.decode("latin-1")
            if text[0] in " \t" and pairs:
                # RFC 9112 5.2: a folded line continues the value before it.
                name, value = pairs[-1]
                pairs[-1] = (name, " ".join((value, text.strip(" \t\r\n"))).strip(" "))
                continue
            name, _, value = text.partition(":")
            pairs.append((name.strip(" \t"), value.strip(" \t\r\n")))
        return tuple(pairs)

    def _end_block(self) -> int | None:
        version, _, rest = self._lines[0].partition(b" ") if self._lines else (b"", b"", b"")
        self.version = _VERSIONS.get(version, "")
        code = rest[:3]
        self.status = int(code) if code.isdigit() else 0
        if not self.version or self.status < 100:
            return self._stop(Stop.VERSION)
        if self.status == 101:
            return self._stop(Stop.UPGRADE)
        if self.status < 200:
            self._lines.clear()
            return None
        self.final = True
        if self.status >= 300:
            self._cap = min(self._cap, OTHER_CAP)
        elif self._wanted and not self._type_is_wanted():
            return self._stop(Stop.TYPE)
        return None

    def _type_is_wanted(self) -> bool:
        """A type that is missing, or that cannot be understood, is read: what it is, its bytes will tell."""
        for line in self._lines:
            if line[:13].lower() == b"content-type:":
                essence, _ = content_type(line[13:].strip().decode("latin-1"), b"")
                return is_wanted(essence, self._wanted)
        return True

    def _stop(self, why: Stop) -> int:
        self.stopped = why
        return STOP


_VERSIONS: Final = {b"HTTP/1.0": "1.0", b"HTTP/1.1": "1.1", b"HTTP/2": "2", b"HTTP/2.0": "2"}
