"""What do we send besides the request line? The caller's headers, our name, and the encodings that we can decode.

Host and, unless the caller has its own, `Accept: */*` come from libcurl.
A header that could break out of its line is a mistake of ours, not of the web: it is a `ConfigError`.
"""

import re
from functools import lru_cache
from typing import Final

from outrider.errors import ConfigError

ENCODINGS: Final = "gzip, deflate, br, zstd"
"""What we can decode. Sent as a plain header, because the transport must not
decode: the archive wants the bytes as sent.
"""

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_UNSAFE: Final = re.compile(r"[\r\n\0]")


def header_lines(agent: bytes, given: tuple[tuple[str, str], ...]) -> tuple[bytes, ...]:
    """What goes to libcurl; the same tuple for the same headers, so that a handle is not set anew for nothing.

    Conditions are of one URL, and as long as its site likes: they are not kept.
    """
    if any(name.startswith("If-") for name, _ in given):
        return _lines(agent, given)
    return _kept_lines(agent, given)


def _lines(agent: bytes, given: tuple[tuple[str, str], ...]) -> tuple[bytes, ...]:
    names = {name.lower() for name, _ in given}
    lines = [header_line(name, value) for name, value in given]
    if "user-agent" not in names:
        lines.append(agent)
    if "accept-encoding" not in names:
        lines.append(header_line("Accept-Encoding", ENCODINGS))
    return tuple(lines)


_kept_lines: Final = lru_cache(maxsize=1_024)(_lines)


def header_line(name: str, value: str) -> bytes:
    if not _TOKEN.fullmatch(name) or _UNSAFE.search(value):
        raise ConfigError(f"header {name!r} is {value!r}; expected a token and a value without line breaks")
    try:
        # libcurl's own spelling of a header with an empty value ends in a semicolon.
        return (f"{name}: {value}" if value.strip() else f"{name};").encode("latin-1")
    except UnicodeEncodeError:
        raise ConfigError(f"header {name!r} is {value!r}; expected latin-1 text") from None
