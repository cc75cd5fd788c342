"""May we connect there? Only to globally reachable unicast addresses, only on web ports, and into holes by name.

The tables are ours and not `ipaddress.is_global`, whose answers change between patch releases of Python. They follow
the IANA registries "IPv4 Special-Purpose Address", "IPv6 Special-Purpose Address", "IPv4 Multicast Address Space" and
"IPv6 Address Space"; IPv6 is closed by default: outside 2000::/3 nothing is global unicast.

An IPv6 address can carry an IPv4 address inside. Only the plain mapped form (::ffff:0:0/96) is the same destination
written otherwise, so it is judged as that IPv4 address. Every translator and tunnel (NAT64, 6to4, Teredo, ISATAP, …)
is refused even around a public address: our own network decides where its far end is, no public site is to be had only
that way, and each of them is a known road around a list like this one. Whoever lives behind NAT64 opens it by name
(64:ff9b::/96), and then what comes out at its end is still judged by the same rules.

Not here: looking names up (`fetch/resolver`), and who asks (`fetch/guard`).
"""

from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

from msgspec import Struct

from outrider.errors import ConfigError

WEB_PORTS: Final = frozenset({80, 443, 8080, 8443})


class AddressRules(Struct, frozen=True):
    """`allow_private` are networks trusted by name, on every port; elsewhere only `allow_ports` are connected to."""

    allow_private: tuple[str, ...] = ()
    allow_ports: frozenset[int] = WEB_PORTS

    def __post_init__(self) -> None:
        _holes(self.allow_private)  # a mistyped network is told at once, not at the first visit


class Allowed(Struct, frozen=True):
    """Connect."""


class Refused(Struct, frozen=True):
    """`why` completes "the address …". `inward`: a packet sent there could be answered by us or by our neighbours.

    `remedy` is the setting that would allow it, as a user would write it; empty when nothing would.
    """

    why: str
    inward: bool = False
    remedy: str = ""


class _Block(Struct, frozen=True):
    first: int
    last: int
    name: str
    carried: Callable[[int], tuple[int, ...]] | None = None


class _Reading(Struct, frozen=True):
    """What an address is, whatever the rules: `name` is None when it is globally reachable unicast."""

    number: int
    version: int
    name: str | None
    inward: bool = False
    carried: tuple[int, ...] = ()


def judge_address(address: str, port: int, rules: AddressRules) -> Allowed | Refused:
    """May a socket be connected to this address and port? Anything that is not plainly an address is refused."""
    if not 0 < port < 65_536:
        return Refused(f"is asked for on port {port}, and there is none")
    reading = _read(address)
    if reading is None:
        return Refused("is not an IP address", inward=True)
    if rules.allow_private and _is_trusted(reading, rules):
        # A hole opens the tunnel; whatever comes out at its far end is judged as what it is.
        ends = (judge_address(str(IPv4Address(end)), port, rules) for end in reading.carried)
        return next((end for end in ends if isinstance(end, Refused)), _ALLOWED)
    if reading.name is not None:
        remedy = f"--allow-private {address.partition('%')[0]}"
        return Refused(f"is {reading.name}", inward=reading.inward, remedy=remedy)
    if port not in rules.allow_ports:
        ports = ", ".join(map(str, sorted(rules.allow_ports))) or "none"
        why = f"is asked for on port {port}, not one of allow_ports ({ports})"
        return Refused(why, remedy=f"adding {port} to allow_ports")
    return _ALLOWED


_ALLOWED: Final = Allowed()


def _embedded(shift: int) -> Callable[[int], tuple[int, ...]]:
    return lambda number: (number >> shift & 0xFFFF_FFFF,)


def _teredo(number: int) -> tuple[int, ...]:
    """RFC 4380 4: the server's address in the clear, the client's with every bit turned."""
    return (number >> 64 & 0xFFFF_FFFF, ~number & 0xFFFF_FFFF)


def _block(cidr: str, name: str, carried: Callable[[int], tuple[int, ...]] | None = None) -> _Block:
    network = ip_network(cidr)
    return _Block(int(network[0]), int(network[-1]), f"{name} ({cidr})", carried)


# The first that matches gives the name, so the narrow come before the wide.
_V4: Final = (
    _block("0.0.0.0/8", "this host or network, RFC 791"),
    _block("10.0.0.0/8", "private, RFC 1918"),
    _block("100.100.100.200/32", "a cloud's metadata service"),
    _block("100.64.0.0/10", "shared by a carrier's NAT, RFC 6598"),
    _block("127.0.0.0/8", "loopback, RFC 1122"),
    # Azure's wire server: a public address that every machine there has behind it, with its secrets.
    _block("168.63.129.16/32", "a cloud's metadata service"),
    _block("169.254.169.254/32", "a cloud's metadata service"),
    _block("169.254.0.0/16", "link-local, RFC 3927"),
    _block("172.16.0.0/12", "private, RFC 1918"),
    _block("192.0.0.0/24", "for protocol assignments, RFC 6890"),
    _block("192.0.2.0/24", "for documentation, RFC 5737"),
    _block("192.88.99.0/24", "a 6to4 relay, RFC 7526"),
    _block("192.168.0.0/16", "private, RFC 1918"),
    _block("198.18.0.0/15", "for benchmarking, RFC 2544"),
    _block("198.51.100.0/24", "for documentation, RFC 5737"),
    _block("203.0.113.0/24", "for documentation, RFC 5737"),
    _block("224.0.0.0/4", "multicast, RFC 5771"),
    _block("255.255.255.255/32", "broadcast, RFC 919"),
    _block("240.0.0.0/4", "reserved, RFC 1112"),
)
_V6: Final = (
    _block("::/128", "unspecified, RFC 4291"),
    _block("::1/128", "loopback, RFC 4291"),
    _block("::/96", "IPv4-compatible, RFC 4291", _embedded(0)),
    _block("::ffff:0:0:0/96", "IPv4-translated, RFC 2765", _embedded(0)),
    _block("64:ff9b::/96", "a NAT64 translator, RFC 6052", _embedded(0)),
    _block("64:ff9b:1::/48", "a local NAT64 translator, RFC 8215"),
    _block("100::/64", "discarded, RFC 6666"),
    _block("100:0:0:1::/64", "a dummy prefix, RFC 9780"),
    _block("2001::/32", "a Teredo tunnel, RFC 4380", _teredo),
    _block("2001:2::/48", "for benchmarking, RFC 5180"),
    _block("2001:10::/28", "an ORCHID, RFC 4843"),
    _block("2001:20::/28", "an ORCHID, RFC 7343"),
    _block("2001::/23", "for protocol assignments, RFC 2928"),
    _block("2001:db8::/32", "for documentation, RFC 3849"),
    _block("2002::/16", "a 6to4 tunnel, RFC 3056", _embedded(80)),
    _block("3ffe::/16", "of the former 6bone, RFC 3701"),
    _block("3fff::/20", "for documentation, RFC 9637"),
    _block("5f00::/16", "a segment routing identifier, RFC 9602"),
    _block("fd00:ec2::254/128", "a cloud's metadata service"),
    _block("fd20:ce::254/128", "a cloud's metadata service"),
    _block("fc00::/7", "unique local, RFC 4193"),
    _block("fe80::/10", "link-local, RFC 4291"),
    _block("fec0::/10", "site-local, RFC 3879"),
    _block("ff00::/8", "multicast, RFC 4291"),
)
_GLOBAL_UNICAST: Final = 0b001
"""The first three bits of 2000::/3."""
_MAPPED: Final = 0xFFFF
"""The first 96 bits of ::ffff:0:0/96."""
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})
"""RFC 5214 6.1: the first half of an interface identifier whose second half is an IPv4 address."""


@lru_cache(maxsize=65_536)
def _read(text: str) -> _Reading | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    number = int(address)
    if isinstance(address, IPv4Address):
        return _read_v4(number)
    reading = _read_v4(number & 0xFFFF_FFFF) if number >> 32 == _MAPPED else _read_v6(number)
    if address.scope_id is not None and reading.name is None:
        return _Reading(number, 6, "bound to one interface by a zone, RFC 4007", inward=True)
    return reading


def _read_v4(number: int) -> _Reading:
    block = _find(number, _V4)
    return _Reading(number, 4, block.name if block else None, inward=block is not None)


def _read_v6(number: int) -> _Reading:
    block = _find(number, _V6)
    if block is not None and block.carried is not None:
        carried = block.carried(number)
        # Around a public address it is a detour; around any other it is a way in.
        return _Reading(number, 6, block.name, any(_find(end, _V4) for end in carried), carried)
    if block is not None:
        return _Reading(number, 6, block.name, inward=True)
    if number >> 125 != _GLOBAL_UNICAST:
        return _Reading(number, 6, "not global unicast (outside 2000::/3)", inward=True)
    if number >> 32 & 0xFFFF_FFFF in _ISATAP:
        inward = _find(number & 0xFFFF_FFFF, _V4) is not None
        return _Reading(number, 6, "an ISATAP tunnel, RFC 5214", inward)
    return _Reading(number, 6, None)


def _find(number: int, blocks: tuple[_Block, ...]) -> _Block | None:
    return next((block for block in blocks if block.first <= number <= block.last), None)


_Hole: TypeAlias = tuple[int, int, int]
"""Version, first and last address."""


def _is_trusted(reading: _Reading, rules: AddressRules) -> bool:
    return any(
        version == reading.version and first <= reading.number <= last
        for version, first, last in _holes(rules.allow_private)
    )


@lru_cache(maxsize=64)
def _holes(cidrs: tuple[str, ...]) -> tuple[_Hole, ...]:
    return tuple(_hole(cidr) for cidr in cidrs)


def _hole(cidr: str) -> _Hole:
    try:
        network: IPv4Network | IPv6Network = ip_network(cidr)
    except ValueError as exc:
        raise ConfigError(f"allow_private: {cidr!r} is not a network such as 10.0.0.0/8 or fd00::/8 ({exc})") from None
    if isinstance(network, IPv6Network) and int(network[0]) >> 32 == _MAPPED:
        raise ConfigError(f"allow_private: {cidr!r} is an IPv4 network in disguise; write it as IPv4")
    return network.version, int(network[0]), int(network[-1])
