"""Where is a host? Its addresses, each name asked for once at a time and remembered as long as the DNS allows.

Answered in this order: a literal address; localhost and the names below it (RFC 6761); the `hosts` given by the user
(`*.suffix` stands for every name below it, `*` for every name); what is remembered; then c-ares, which reads /etc/hosts
(or the file that CARES_HOSTS names) before it asks the DNS. Search domains are not used: a URL means the same host on
every machine. Which of the addresses may be connected to is not decided here: see `guard`.
"""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Final, Literal, Self

import aiodns
import pycares
from aiodns.error import ARES_EBADNAME, ARES_ENODATA, ARES_ENOTFOUND, ARES_ETIMEOUT, DNSError
from msgspec import Struct

from outrider.errors import ConfigError, DnsError, Phase, TimedOut
from outrider.ports import Clock

Family = Literal["ipv4", "ipv6"]
BOTH: Final[tuple[Family, ...]] = ("ipv4", "ipv6")
"""IPv4 first: more machines have a working IPv4 than a working IPv6, and a crawler gains nothing by a race."""

_LOOPBACK: Final[dict[Family, str]] = {"ipv4": "127.0.0.1", "ipv6": "::1"}
_MOST_ADDRESSES: Final = 32
"""An answer can hold thousands; remembering them all would let one zone fill our memory."""
_LONGEST_NAME: Final = 253
"""RFC 1035 2.3.4, as text. A longer name cannot exist, and remembering thousands of them would cost gigabytes."""
_TRIES: Final = 5
"""c-ares shortens its wait to what a server usually takes, a quarter of a second at least, and doubles it each try.
With fewer, a name that is slow behind a quick server would be given up within a second; `timeout` bounds them all."""
_AI_NOSORT: Final = 1 << 7  # we order by family ourselves; sorting would open a socket for every address
_AI_ENVHOSTS: Final = 1 << 8


class Memory(Struct, frozen=True):
    """How long and how much is remembered. A TTL is honoured between `floor` and `ceiling`."""

    floor: float = 30.0
    ceiling: float = 3_600.0
    missing: float = 60.0
    broken: float = 5.0
    entries: int = 65_536


class _Found(Struct, frozen=True):
    addresses: tuple[str, ...]
    ttl: float


class _Missing(Struct, frozen=True):
    """The DNS answered: there is no such name, or (`exists`) it has no address."""

    message: str
    exists: bool


class _Broken(Struct, frozen=True):
    """The DNS did not answer, or not with an answer."""

    message: str
    timed_out: bool = False


_Answer = _Found | _Missing | _Broken


class _Kept(Struct, frozen=True):
    answer: _Answer
    since: float
    until: float


class Resolver:
    """One per event loop. `families` are asked for, the first preferred.

    `timeout` bounds a look-up once it has begun; `at_once` of them are under way, because a burst of thousands of
    datagrams would drown in the buffers and come back as timeouts.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        hosts: Mapping[str, Sequence[str]] | None = None,
        families: tuple[Family, ...] = BOTH,
        nameservers: Sequence[str] = (),
        timeout: float = 5.0,
        at_once: int = 128,
        memory: Memory | None = None,
    ) -> None:
        self._clock = clock
        self._hosts = {name.lower(): _checked(name, addresses) for name, addresses in (hosts or {}).items()}
        self._families = families
        self._nameservers = nameservers
        self._timeout = timeout
        self._places = asyncio.Semaphore(at_once)
        self._memory = memory or Memory()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._flights: dict[str, asyncio.Task[_Answer]] = {}
        self._dns: aiodns.DNSResolver | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Look-ups under way end as `DnsError`, and none begins any more."""
        self._closed = True
        if self._dns is not None:
            await self._dns.close()
        if self._flights:
            await asyncio.wait(self._flights.values())

    async def resolve(self, host: str) -> tuple[str, ...]:
        """The addresses of a host as `Url.host` gives it, at least one. Raises `DnsError` or `TimedOut`."""
        return self.recall(host) or _addresses(await self._ask(_name(host)))

    def recall(self, host: str) -> tuple[str, ...] | None:
        """What `resolve` answers, or raises, without asking anybody; None when the DNS must be asked."""
        kept = self._recall(host)
        if kept is None:
            name = _name(host)
            known = _literal(name) or self._loopback(name) or self._given(name)
            if known:
                return known
            kept = self._recall(name)
        return None if kept is None else _addresses(kept)

    def _given(self, name: str) -> tuple[str, ...]:
        """From `hosts`: the name itself, else the longest `*.suffix` above it."""
        while self._hosts:
            if name in self._hosts:
                return self._hosts[name]
            above = name.removeprefix("*.").partition(".")[2]
            if not above:
                return self._hosts.get("*", ())
            name = f"*.{above}"
        return ()

    def _loopback(self, name: str) -> tuple[str, ...]:
        # RFC 6761 6.3: nobody's DNS is asked where localhost is, and none is believed.
        is_local = name == "localhost" or name.endswith(".localhost")
        return tuple(_LOOPBACK[family] for family in self._families) if is_local else ()

    def _recall(self, name: str) -> _Answer | None:
        kept = self._kept.get(name)
        if kept is None:
            return None
        # `since`: after a clock that was set back, nothing lives longer than it was meant to.
        if not kept.since <= self._clock.now() < kept.until:
            del self._kept[name]
            return None
        self._kept.move_to_end(name)
        return kept.answer

    def _keep(self, name: str, answer: _Answer) -> None:
        now = self._clock.now()
        self._kept[name] = _Kept(answer, now, now + _lifetime(answer, self._memory))
        self._kept.move_to_end(name)
        while len(self._kept) > self._memory.entries:
            self._kept.popitem(last=False)

    async def _ask(self, name: str) -> _Answer:
        """Join the look-up under way for this name, or begin it. It belongs to nobody: a waiter may leave."""
        if self._closed:
            return _Broken(f"{name} is not looked up: the resolver is closed")
        flight = self._flights.get(name)
        if flight is None:
            flight = self._flights[name] = asyncio.create_task(self._look_up(name), name=f"look up {name}")
            flight.add_done_callback(lambda _: self._flights.pop(name))
        return await asyncio.shield(flight)

    async def _look_up(self, name: str) -> _Answer:
        # c-ares takes a C string, and asks the root about an empty one: only what is plainly a name is handed over.
        if len(name) > _LONGEST_NAME or not (name.isascii() and name.isprintable() and all(name.split("."))):
            return _Missing(f"{name[:_LONGEST_NAME]!r} is not a host name", exists=False)
        try:
            async with self._places, asyncio.timeout(self._timeout):
                found = await self._channel().getaddrinfo(
                    name, family=self._family(), type=socket.SOCK_STREAM, flags=_AI_NOSORT | _AI_ENVHOSTS
                )
        except TimeoutError:
            answer: _Answer = _Broken(f"{name}: no answer from the DNS in {self._timeout:g} s", timed_out=True)
        except DNSError as exc:
            answer = _failure(name, exc)
        else:
            answer = self._ordered(name, found)
        if not self._closed:
            self._keep(name, answer)
        return answer

    def _ordered(self, name: str, found: pycares.AddrInfoResult) -> _Answer:
        by_family: dict[Family, list[str]] = {family: [] for family in BOTH}
        for node in found.nodes:
            by_family["ipv4" if node.family == socket.AF_INET else "ipv6"].append(node.addr[0].decode())
        addresses = [address for family in self._families for address in by_family[family][:_MOST_ADDRESSES]]
        if not addresses:
            return _no_address(name)
        ttls = [node.ttl for node in found.nodes] + [cname.ttl for cname in found.cnames]
        return _Found(tuple(dict.fromkeys(addresses)), min(ttls))

    def _family(self) -> socket.AddressFamily:
        if len(self._families) > 1:
            return socket.AF_UNSPEC
        return socket.AF_INET if self._families == ("ipv4",) else socket.AF_INET6

    def _channel(self) -> aiodns.DNSResolver:
        """Made at the first look-up, inside the running loop; most tests and `hosts` never need one."""
        if self._dns is None:
            self._dns = aiodns.DNSResolver(
                nameservers=self._nameservers or None,
                flags=pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS,
                timeout=self._timeout / 3,  # of the first try, while nothing is learned: a second fits in
                tries=_TRIES,
            )
        return self._dns


def _name(host: str) -> str:
    return host.lower().removesuffix(".")


def _addresses(answer: _Answer) -> tuple[str, ...]:
    match answer:
        case _Found(addresses=addresses):
            return addresses
        case _Missing(message=message, exists=exists):
            raise DnsError(message, exists=exists)
        case _Broken(message=message, timed_out=True):
            raise TimedOut(message, Phase.DNS)
        case _Broken(message=message):
            raise DnsError(message)


def _lifetime(answer: _Answer, memory: Memory) -> float:
    match answer:
        case _Found(ttl=ttl):
            return min(max(ttl, memory.floor), memory.ceiling)
        case _Missing():
            return memory.missing
        case _Broken():
            return memory.broken


def _failure(name: str, exc: DNSError) -> _Answer:
    code, text = exc.args[0], exc.args[1]
    if code in {ARES_ENOTFOUND, ARES_EBADNAME}:
        return _Missing(f"{name}: there is no such name", exists=False)
    if code == ARES_ENODATA:
        return _no_address(name)
    return _Broken(f"{name}: {text}", timed_out=code == ARES_ETIMEOUT)


def _no_address(name: str) -> _Missing:
    return _Missing(f"{name}: the name has no address", exists=True)


def _literal(name: str) -> tuple[str, ...]:
    """An address written as the host; only what ends in a digit or a bracket can be one."""
    if not name.endswith("]") and not name[-1:].isdigit():
        return ()
    try:
        return (str(ip_address(name.removeprefix("[").removesuffix("]"))),)
    except ValueError:
        return ()


def _checked(name: str, addresses: Sequence[str]) -> tuple[str, ...]:
    try:
        checked = tuple(str(ip_address(address)) for address in addresses)
    except ValueError as exc:
        raise ConfigError(f"hosts: {name!r} = {addresses!r}: {exc}") from None
    if not checked:
        raise ConfigError(f"hosts: {name!r} has no address")
    return checked
