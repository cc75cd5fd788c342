"""What may a value look like? Every key has a kind, and every kind says in words what it expects.

The words are what an error and the reference page print, so that nobody has to read a library's. Text is understood
wherever it comes from (a flag and the environment know nothing else); a boolean is never taken for a number.
"""

import json
import re
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Annotated, Final, NamedTuple
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from outrider.model.url import LONGEST
from outrider.policy.extensions import GROUPS
from outrider.settings.agent import is_contact, is_header_safe, product_token
from outrider.settings.durations import seconds_in


class Expects(NamedTuple):
    """Rides in a kind's annotation; reads on from "expected …"."""

    words: str


SIZE: Final = Expects("bytes, as a number or like 512k, 10MiB, 10MB")
TIME: Final = Expects("seconds or a time like 10m, 1h30m")

_SWITCH: Final = {
    word: state for state, words in ((True, "true 1 yes on"), (False, "false 0 no off")) for word in words.split()
}
_NONE: Final = {"none", "never"}
_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s*(?:([kmgt])(i?b)?|b)?", re.IGNORECASE)
_OPEN, _CLOSE = "([{", ")]}"


def _switch(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word not in _SWITCH:
        raise ValueError
    return _SWITCH[word]


def _number(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError  # noqa: TRY004 - pydantic turns a ValueError into one of its own; a TypeError would escape
    return value


def _time(value: object) -> object:
    seconds = seconds_in(value) if isinstance(value, str) else None
    return _number(value) if seconds is None else seconds


def _size(value: object) -> object:
    if not isinstance(value, str):
        return _number(value)
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        raise ValueError
    number, prefix, unit = match.groups()
    base = 1000 if (unit or "").lower() == "b" else 1024  # MB is decimal; M and MiB are what memory is counted in
    return int(float(number) * base ** ("kmgt".index(prefix.lower()) + 1 if prefix else 0))


def _or_none(value: object) -> object:
    return None if isinstance(value, str) and value.strip().lower() in _NONE else value


def _items(value: object) -> list[object]:
    """Text is a JSON list, or parted by the commas outside brackets, so that the pattern `a{1,3}` stays whole."""
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if not isinstance(value, str):
        raise ValueError  # noqa: TRY004 - as above
    try:
        listed = json.loads(value)
    except ValueError:
        listed = None
    if isinstance(listed, list):
        return listed
    return [item for item in _split(value) if item]


def _split(text: str) -> list[str]:
    parts, start, depth, escaped = [], 0, 0, False
    for place, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth = max(0, depth - 1)
        elif char == "," and not depth:
            parts.append(text[start:place].strip())
            start = place + 1
    return [*parts, text[start:].strip()]


def _pattern(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{value!r} has an error: {error}") from None


def _network(value: object) -> IPv4Network | IPv6Network:
    if isinstance(value, IPv4Network | IPv6Network):
        return value
    try:
        if isinstance(value, bool | int):
            raise ValueError  # noqa: TRY004, TRY301 - ip_network would read a number as an address
        return ip_network(value)  # type: ignore[arg-type]  # whatever else it is, ip_network refuses it
    except ValueError:
        raise ValueError(f"{value!r} is not one") from None


def _extensions(value: object) -> frozenset[str]:
    found: set[str] = set()
    for item in _items(value):
        if not isinstance(item, str) or not re.fullmatch(r"\.?[A-Za-z0-9_-]+", item):
            raise ValueError(f"{item!r} is neither")
        word = item.lower()
        found |= GROUPS.get(word) or {"." + word.removeprefix(".")}
    return frozenset(found)


def _ascending(steps: tuple[float, ...]) -> tuple[float, ...]:
    if list(steps) != sorted(steps):
        raise ValueError("the steps must not become shorter")
    return steps


def _host(text: str) -> str:
    host = text.strip().lower().rstrip(".")
    if not host or not re.fullmatch(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]|[0-9a-f:.]+", host):
        raise ValueError(f"{text!r} is not a host name (write a name outside ASCII as xn--…)")
    return host


def _media_type(text: str) -> str:
    kind = text.strip().lower()
    if not re.fullmatch(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+*-]+", kind):
        raise ValueError(f"{text!r} is not one")
    return kind


def _servers(text: str) -> str:
    for server in text.split(","):
        if not re.fullmatch(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}", server.strip()):
            raise ValueError(f"{server.strip()!r} is not one")
    return text


def _listen(text: str) -> str:
    host, _, port = text.rpartition(":")
    ip_address(host.removeprefix("[").removesuffix("]"))
    if not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65_535:
        raise ValueError
    return text


def _url_with(*schemes: str) -> AfterValidator:
    def check(text: str) -> str:
        try:
            parts = urlsplit(text)
            # redis:///1 is a database of this machine; a proxy has a name.
            has_path = parts.scheme in {"redis", "rediss"} and parts.path.strip("/")
            has_place = bool(parts.hostname or has_path) and parts.port != 0
        except ValueError:
            raise ValueError from None  # its own message would quote a password
        if parts.scheme not in schemes or not has_place:
            raise ValueError
        return text

    return AfterValidator(check)


def _pairs(value: object) -> dict[str, str]:
    """A table, or a list of name=value."""
    if isinstance(value, Mapping):
        return {
            str(name): item
            if isinstance(item, str)
            else ",".join(map(str, _items(item)))
            if isinstance(item, list | tuple)
            else str(item)
            for name, item in value.items()
        }
    pairs = {}
    for item in _items(value):
        name, equals, rest = str(item).partition("=")
        if not equals or not name.strip() or not rest.strip():
            raise ValueError(f"{item!r} is not one")
        pairs[name.strip()] = rest.strip()
    return pairs


def _by_site(value: object) -> dict[str, str]:
    """Sites are known by names in lower case."""
    return {name.lower(): item for name, item in _pairs(value).items()}


def _addresses(value: object) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, listed in _pairs(value).items():
        addresses = tuple(part.strip() for part in re.split(r"[,;\s]+", listed) if part.strip())
        for address in addresses:
            try:
                ip_address(address)
            except ValueError:
                raise ValueError(f"{address!r} is not an address") from None
        found[name.lower()] = addresses
    return found


def _store_url(text: str) -> str:
    if not re.match(r"[a-z][a-z0-9+.-]*:", text):
        raise ValueError
    return text


def _auto(value: object) -> object:
    return None if isinstance(value, str) and value.strip().lower() in {"auto", *_NONE} else value


def _agent(text: str) -> str:
    if not is_header_safe(text) or product_token(text) is None:
        raise ValueError
    return text


def _contact(text: str) -> str:
    if not is_contact(text):
        raise ValueError
    return text


_REAL: Final = (BeforeValidator(_number), Field(allow_inf_nan=False))
_TIME: Final = (BeforeValidator(_time), Field(allow_inf_nan=False))
_WHOLE: Final = BeforeValidator(_number)

Switch = Annotated[bool, BeforeValidator(_switch), Expects("true or false")]
Seconds = Annotated[float, *_TIME, Field(ge=0), Expects(f"{TIME.words}, 0 or more")]
SomeSeconds = Annotated[float, *_TIME, Field(gt=0), Expects(f"{TIME.words}, more than 0")]
Factor = Annotated[float, *_REAL, Field(ge=1), Expects("a number, 1 or more")]
Growth = Annotated[float, *_REAL, Field(gt=1), Expects("a number, more than 1")]
Share = Annotated[float, *_REAL, Field(gt=0, le=1), Expects("a share, more than 0 and at most 1")]
Count = Annotated[int, _WHOLE, Field(ge=0), Expects("a whole number, 0 or more")]
SomeCount = Annotated[int, _WHOLE, Field(ge=1), Expects("a whole number, 1 or more")]
Size = Annotated[int, BeforeValidator(_size), Field(ge=1), SIZE]
RobotsSize = Annotated[
    int, BeforeValidator(_size), Field(ge=512_000), Expects(f"{SIZE.words}, at least 500KiB (RFC 9309 2.5)")
]
UrlLength = Annotated[int, _WHOLE, Field(ge=1, le=LONGEST), Expects(f"a whole number from 1 to {LONGEST}")]
Name = Annotated[str, Field(pattern=r"^\S+$"), Expects("a name without blanks")]

SecondsOrNever = Annotated[
    SomeSeconds | None, BeforeValidator(_or_none), Expects(f"{TIME.words}, more than 0, or never")
]
CountOrNone = Annotated[Count | None, BeforeValidator(_or_none), Expects("a whole number, 0 or more, or none")]
SomeCountOrNever = Annotated[
    SomeCount | None, BeforeValidator(_or_none), Expects("a whole number, 1 or more, or never")
]
SomeCountOrNone = Annotated[SomeCount | None, BeforeValidator(_or_none), Expects("a whole number, 1 or more, or none")]
SizeOrNone = Annotated[Size | None, BeforeValidator(_or_none), Expects(f"{SIZE.words}, or none")]
MemoryOrNone = Annotated[
    Annotated[int, BeforeValidator(_size), Field(ge=256 * 1024 * 1024)] | None,
    BeforeValidator(_or_none),
    Expects(f"{SIZE.words}, at least 256MiB, or none"),
]
CountOrAuto = Annotated[
    Annotated[int, _WHOLE, Field(ge=1, le=256)] | None,
    BeforeValidator(_auto),
    Expects("a whole number from 1 to 256, or auto"),
]
StoreUrl = Annotated[
    Annotated[str, AfterValidator(_store_url)] | None,
    BeforeValidator(_or_none),
    Expects("a store URL such as redis://localhost, or none"),
]
FileOrNone = Annotated[str | None, BeforeValidator(_or_none), Expects("the path of a file, or none")]
Addresses = Annotated[
    dict[str, tuple[str, ...]], BeforeValidator(_addresses), Expects("a list of name=address, such as *.test=127.0.0.1")
]
Intervals = Annotated[
    dict[str, SomeSeconds], BeforeValidator(_by_site), Expects("a list of site=time, such as example.org=1h")
]

Agent = Annotated[
    str, AfterValidator(_agent), Expects("printable ASCII that begins with a product name, as in name/1.0")
]
Contact = Annotated[
    Annotated[str, AfterValidator(_contact)] | None,
    BeforeValidator(_or_none),
    Expects("an http(s) URL or an e-mail address, without blanks or brackets, or none"),
]
Proxy = Annotated[
    Annotated[str, _url_with("http", "https", "socks5", "socks5h")] | None,
    BeforeValidator(_or_none),
    Expects("a URL that begins with http://, https://, socks5:// or socks5h://, or none"),
]
RedisUrl = Annotated[
    str,
    _url_with("redis", "rediss", "redis+cluster", "rediss+cluster"),
    Expects("a URL that begins with redis://, rediss://, redis+cluster:// or rediss+cluster://"),
]
Listen = Annotated[
    Annotated[str, AfterValidator(_listen)] | None,
    BeforeValidator(_or_none),
    Expects("an address and a port, such as 127.0.0.1:9464, or none"),
]
Servers = Annotated[str, AfterValidator(_servers), Expects("host:port, several parted by commas")]

Patterns = Annotated[
    tuple[Annotated[re.Pattern[str], BeforeValidator(_pattern)], ...],
    BeforeValidator(_items),
    Expects("a list of regular expressions"),
]
Paths = Annotated[
    tuple[Annotated[str, Field(pattern=r"^/\S*$")], ...],
    BeforeValidator(_items),
    Expects("a list of paths that begin with /, where * stands for anything"),
]
Extensions = Annotated[
    frozenset[str], BeforeValidator(_extensions), Expects(f"a list of extensions or groups ({', '.join(GROUPS)})")
]
Hosts = Annotated[
    frozenset[Annotated[str, AfterValidator(_host)]], BeforeValidator(_items), Expects("a list of host names")
]
Networks = Annotated[
    tuple[Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)], ...],
    BeforeValidator(_items),
    Expects("a list of networks such as 10.0.0.0/8 or fd00::/8, with no bits set beyond the prefix"),
]
Ports = Annotated[
    frozenset[Annotated[int, _WHOLE, Field(ge=1, le=65_535)]],
    BeforeValidator(_items),
    Expects("a list of ports, 1 to 65535"),
]
Steps = Annotated[
    tuple[SomeSeconds, ...],
    BeforeValidator(_items),
    AfterValidator(_ascending),
    Expects("a list of growing times, such as 30s, 5m, 1h"),
]
MediaTypes = Annotated[
    tuple[Annotated[str, AfterValidator(_media_type)], ...],
    BeforeValidator(_items),
    Expects("a list of media types such as text/html"),
]
