"""Every way we know to write "the inside" so that it looks like the outside, and nothing of it gets through.

Each text goes the whole way: parsed by `Url` (which may refuse it), resolved, judged by the guard. In the tables every
unknown name is *public*, so a text is refused for what it means and not because a name could not be found.
"""

import asyncio
from collections.abc import AsyncIterator
from ipaddress import ip_address
from pathlib import Path

import pytest

from outrider.errors import AddressRefused, InvalidUrl
from outrider.fetch.guard import Guard
from outrider.fetch.resolver import Resolver
from outrider.model.url import Url
from outrider.policy.address import AddressRules
from outrider.testing.clock import FakeClock

PUBLIC = "93.184.215.14"

NAMES_THAT_LEAD_INSIDE = {
    "loopback.example": ("127.0.0.1",),
    "loopback-high.example": ("127.255.255.254",),
    "zero.example": ("0.0.0.0",),  # noqa: S104 - an answer, not a binding
    "ten.example": ("10.0.0.1",),
    "lan.example": ("192.168.1.1",),
    "lan-172.example": ("172.31.255.255",),
    "carrier.example": ("100.64.0.1",),
    "metadata.example": ("169.254.169.254",),
    "alibaba.example": ("100.100.100.200",),
    "azure.example": ("168.63.129.16",),
    "oracle.example": ("192.0.0.192",),
    "aws6.example": ("fd00:ec2::254",),
    "google6.example": ("fd20:ce::254",),
    "broadcast.example": ("255.255.255.255",),
    "multicast.example": ("224.0.0.251",),
    "six.example": ("::1",),
    "unspecified6.example": ("::",),
    "mapped.example": ("::ffff:127.0.0.1",),
    "mapped-lan.example": ("::ffff:192.168.0.1",),
    "compatible.example": ("::127.0.0.1",),
    "translated.example": ("::ffff:0:127.0.0.1",),
    "nat64.example": ("64:ff9b::127.0.0.1",),
    "nat64-local.example": ("64:ff9b:1::10.0.0.1",),
    "nat64-public.example": ("64:ff9b::8.8.8.8",),
    "sixtofour.example": ("2002:7f00:1::",),
    "teredo.example": ("2001:0:808:808:0:0:80ff:fffe",),
    "isatap.example": ("2a00:1450::5efe:7f00:1",),
    "unique-local.example": ("fd12:3456:789a::1",),
    "link-local.example": ("fe80::1",),
    "link-local-zone.example": ("fe80::1%lo",),
    "site-local.example": ("fec0::1",),
    "multicast6.example": ("ff02::1",),
    "mixed.example": (PUBLIC, "127.0.0.1"),
    "mixed-first.example": ("10.0.0.1", PUBLIC),
    "mixed6.example": (PUBLIC, "::1"),
    "127.0.0.1.nip.io": ("127.0.0.1",),
    "*.evil.example": ("127.0.0.1",),
}

WITH_INVISIBLE_CHARACTERS = [
    "\thttp://127.0.0.1/",
    "\nhttp://127.0.0.1/\n",
    "\0http://127.0.0.1/",
    "\x1fhttp://127.0.0.1/",
    "ht\ntp://127.0.0.1/",
    "http:\n//127.0.0.1/",
    "http:/\t/127.0.0.1/",
    "http://127\t.0.0.1/",
    "http://127.0.\n0.1/",
    "http://12\r\n7.0.0.1/",
    "http://local\thost/",
    "http://[::\n1]/",
    "http://public.example\t@127.0.0.1/",
    "http://127.0.0.1\0.public.example/",
    "http://127.0.0.1\r\nHost: public.example/",
    "http://127.0.0.1\x7f/",
    "http://127.0.0.1\ufeff/",
    "http://127.0.0.1\u200b/",
    "http://127.\u00ad0.0.1/",
    "http://127.0.0\u2060.1/",
]

PORTS = (0, 1, 22, 23, 25, 53, 110, 143, 445, 3306, 5432, 6379, 9200, 11211)


def texts(name: str) -> list[str]:
    """The lines of a table beside this file."""
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line and not line.startswith("# ")]


REFUSED = [
    *texts("ways_inside.txt"),
    *WITH_INVISIBLE_CHARACTERS,
    *(f"http://public.example:{port}/" for port in PORTS),
    *(f"http://{name.replace('*', 'any')}/" for name in NAMES_THAT_LEAD_INSIDE),
]
HONEST = texts("honest_urls.txt")


def judged(hosts: dict[str, tuple[str, ...]], rules: AddressRules) -> Guard:
    return Guard(Resolver(FakeClock(), hosts=hosts), rules)


def test_the_table_is_as_long_as_promised() -> None:
    assert len(set(REFUSED)) >= 250
    assert len(set(REFUSED)) == len(REFUSED)


@pytest.mark.parametrize("text", REFUSED)
async def test_a_way_inside_is_refused(text: str) -> None:
    guard = judged({"*": (PUBLIC,), **NAMES_THAT_LEAD_INSIDE}, AddressRules())

    with pytest.raises((InvalidUrl, AddressRefused)):
        await guard.pin(Url(text))


@pytest.mark.parametrize("text", HONEST)
async def test_an_honest_url_passes(text: str) -> None:
    guard = judged({"*": (PUBLIC,)}, AddressRules())

    addresses = await guard.pin(Url(text))

    assert addresses
    assert all(guard.approves(address, Url(text).port) for address in addresses)


@pytest.mark.parametrize("base", ["http://public.example/", "https://public.example/a/b"])
@pytest.mark.parametrize(
    "location",
    ["//127.0.0.1/", r"\\127.0.0.1", r"/\127.0.0.1/", "http:\\\\127.1", "//[::1]/", "///127.0.0.1", "//2130706433"],
)
async def test_a_redirect_inside_is_refused(base: str, location: str) -> None:
    guard = judged({"*": (PUBLIC,)}, AddressRules())

    with pytest.raises(AddressRefused):
        await guard.pin(Url(base).resolve(location))


class AttackServer:
    """What must never be reached: it counts who comes."""

    def __init__(self) -> None:
        self.connections = 0
        self.port = 0

    async def count(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.close()
        await writer.wait_closed()


@pytest.fixture
async def attacked() -> AsyncIterator[AttackServer]:
    server = AttackServer()
    async with await asyncio.start_server(server.count, "127.0.0.1", 0) as listening:
        server.port = listening.sockets[0].getsockname()[1]
        yield server


async def connect_where_approved(guard: Guard, text: str, port: int) -> None:
    """As a transport does: to the pinned addresses, to no others; the URL's port becomes the attacked one."""
    try:
        url = Url(text)
        aimed = Url(f"{url.scheme}://{url.host}:{port}/")
        addresses = await guard.pin(aimed)
    except (InvalidUrl, AddressRefused):
        return
    for address in addresses:
        assert _is_loopback(address), f"{text} was approved, and no packet may leave this machine to count it"
        reader, writer = await asyncio.open_connection(address, port)
        await reader.read()
        writer.close()


def _is_loopback(address: str) -> bool:
    known = ip_address(address)
    return (getattr(known, "ipv4_mapped", None) or known).is_loopback


async def test_nothing_inside_is_ever_connected_to(attacked: AttackServer) -> None:
    # Here every unknown name leads inside as well, and the port is allowed: only the address can save us.
    hosts = {"*": ("127.0.0.1",), **NAMES_THAT_LEAD_INSIDE}
    guard = judged(hosts, AddressRules(allow_ports=frozenset({attacked.port})))

    for text in REFUSED:
        await connect_where_approved(guard, text, attacked.port)

    assert attacked.connections == 0


async def test_a_hole_is_the_only_way_in(attacked: AttackServer) -> None:
    """The counter counts: with the hole open the same road leads to the same server, on a port of no list."""
    guard = judged({"*": ("127.0.0.1",)}, AddressRules(allow_private=("127.0.0.0/8",)))
    roads = ["http://127.0.0.1/", "http://2130706433/", "http://public.example/", "http://[::ffff:127.0.0.1]/"]

    for text in roads:
        await connect_where_approved(guard, text, attacked.port)

    assert attacked.connections == len(roads)


@pytest.mark.parametrize(
    "text",
    [
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
    ],
)
async def test_a_hole_for_loopback_opens_nothing_else(text: str) -> None:
    guard = judged({}, AddressRules(allow_private=("127.0.0.0/8",)))

    with pytest.raises(AddressRefused):
        await guard.pin(Url(text))
