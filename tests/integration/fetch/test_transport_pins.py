"""Where does a request go? To the address that our resolver approved, and nowhere else."""

import errno
from typing import TYPE_CHECKING

import pytest

from outrider.errors import AddressRefused, DnsError, Phase, TimedOut
from outrider.fetch.transport import Pin
from outrider.model.url import Url
from outrider.ports import Request

if TYPE_CHECKING:
    from tests.integration.fetch.conftest import Make, RawServer

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def page(length: int) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length + b"x" * length


async def test_a_pin_does_not_leak_to_a_request_with_another(
    make: "Make", server: "RawServer", second_server: "RawServer"
) -> None:
    pins = {"pinned.test": "127.0.0.2", "other.test": "127.0.0.1"}

    async def resolve(url: Url) -> Pin:
        return Pin((pins[url.host],))

    server.routes["/x"], second_server.routes["/x"] = page(1), page(2)

    async with make(resolve=resolve) as transport:
        pinned = await transport.request(Request(server.url("/x", "pinned.test")))
        other = await transport.request(Request(server.url("/x", "other.test")))

    assert (pinned.address, pinned.body) == ("127.0.0.2", b"xx")
    assert (other.address, other.body) == ("127.0.0.1", b"x")


async def test_a_new_pin_is_not_served_over_a_kept_connection_to_the_old_address(
    make: "Make", server: "RawServer", second_server: "RawServer"
) -> None:
    pins = [Pin(("127.0.0.1",)), Pin(("127.0.0.2",)), Pin(("127.0.0.1",))]

    async def resolve(_url: Url) -> Pin:
        return pins.pop(0)

    server.routes["/x"], second_server.routes["/x"] = page(1), page(2)

    async with make(resolve=resolve) as transport:
        answers = [await transport.request(Request(server.url("/x"))) for _ in range(3)]

    assert [(answer.address, len(answer.body), answer.reused) for answer in answers] == [
        ("127.0.0.1", 1, False),
        ("127.0.0.2", 2, False),
        ("127.0.0.1", 1, True),
    ]


async def test_the_next_address_is_tried_when_one_does_not_connect(make: "Make", server: "RawServer") -> None:
    async def resolve(_url: Url) -> Pin:
        return Pin(("127.0.0.9", "127.0.0.1"))

    server.routes["/x"] = OK

    async with make(resolve=resolve) as transport:
        response = await transport.request(Request(server.url("/x")))

    assert response.address == "127.0.0.1"


async def test_an_ipv6_address_can_be_pinned(make: "Make", server: "RawServer") -> None:
    async def resolve(_url: Url) -> Pin:
        return Pin(("0:0::1",))

    try:
        await server.stop()
        await server.start(host="::1")
    except OSError as error:
        await server.start()
        if error.errno not in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
            raise
        pytest.skip("no IPv6 on this machine")
    server.routes["/x"] = OK

    async with make(resolve=resolve) as transport:
        by_name = await transport.request(Request(server.url("/x")))
        by_address = await transport.request(Request(server.url("/x", "[::1]")))

    assert (by_name.address, by_name.body) == ("::1", b"hello")
    assert (by_address.address, by_address.body) == ("::1", b"hello")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "site.test.", "a_b.test", "xn--bcher-kva.test"])
async def test_any_host_goes_to_its_pin_under_its_own_name(
    make: "Make", server: "RawServer", second_server: "RawServer", host: str
) -> None:
    async def resolve(_url: Url) -> Pin:
        return Pin(("127.0.0.2",))

    second_server.routes["/x"] = OK

    async with make(resolve=resolve) as transport:
        response = await transport.request(Request(server.url("/x", host)))

    assert (response.address, server.connections) == ("127.0.0.2", 0)
    assert f"Host: {host}:{server.port}\r\n".encode() in second_server.heads[0]


async def test_an_address_can_be_vetoed_when_the_socket_is_made(make: "Make", server: "RawServer") -> None:
    asked: list[tuple[str, int]] = []

    def veto(address: str, port: int) -> bool:
        asked.append((address, port))
        return False

    async with make(check_address=veto) as transport:
        with pytest.raises(AddressRefused):
            await transport.request(Request(server.url("/x")))

    assert asked == [("127.0.0.1", server.port)]
    assert server.connections == 0


@pytest.mark.parametrize(
    "error", [DnsError("gone", exists=False), AddressRefused("private"), TimedOut("slow", Phase.DNS)]
)
async def test_what_the_resolver_raises_is_passed_on(make: "Make", error: Exception) -> None:
    async def resolve(_url: Url) -> Pin:
        raise error

    async with make(resolve=resolve) as transport:
        with pytest.raises(type(error)) as caught:
            await transport.request(Request(Url("http://site.test/")))

    assert caught.value is error


async def test_no_address_is_a_refusal(make: "Make") -> None:
    async def resolve(_url: Url) -> Pin:
        return Pin(())

    async with make(resolve=resolve) as transport:
        with pytest.raises(AddressRefused):
            await transport.request(Request(Url("http://site.test/")))
