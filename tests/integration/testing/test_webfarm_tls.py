"""Certificates chosen by name, and ports where nobody answers."""

import asyncio
import errno
import socket
import ssl

import pytest

from outrider.testing.webfarm import (
    Certificates,
    Flaw,
    WebFarm,
    blackhole,
    blurts_out,
    never_speaks,
    page,
    refused_port,
)
from outrider.testing.webfarm.caller import call
from outrider.testing.webfarm.holes import TLS_ALERT

SITES = {"*": {"/": page("secret")}}
TCP_SYN_SENT = 2


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    return Certificates(good=("shop.test", "mail.test"))


@pytest.mark.parametrize("name", ["shop.test", "mail.test", "unlisted.test"])
async def test_a_good_name_is_served_over_tls(certificates: Certificates, name: str) -> None:
    async with (
        WebFarm(SITES, certificates=certificates) as farm,
        call(farm.tls_port, context=certificates.client_context(), name=name) as caller,
    ):
        await caller.ask(name)

        assert (await caller.answer())[1] == b"secret"
        assert farm.log[0].tls
        assert farm.referee.hellos == [name]
        assert farm.url(name, tls=True) == f"https://{name}:{farm.tls_port}/"


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("expired.test", "certificate has expired"),
        ("notyet.test", "certificate is not yet valid"),
        ("wrongname.test", "Hostname mismatch"),
        ("untrusted.test", "unable to get local issuer certificate"),
        ("selfsigned.test", "self.signed certificate"),
    ],
)
async def test_a_flawed_certificate_is_flawed_as_its_name_says(
    certificates: Certificates, name: str, complaint: str
) -> None:
    async with WebFarm(SITES, certificates=certificates) as farm:
        with pytest.raises(ssl.SSLCertVerificationError, match=complaint):
            async with call(farm.tls_port, context=certificates.client_context(), name=name):
                pass
        async with asyncio.timeout(30):
            await farm.until(lambda: farm.connections.accepted == 1 and not farm.connections.open)

        assert farm.connections.accepted == 1
        assert farm.requests == 0


async def test_a_handshake_may_be_cut_short(certificates: Certificates) -> None:
    async with WebFarm(SITES, certificates=certificates) as farm:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            async with call(farm.tls_port, context=certificates.client_context(), name="cut.test"):
                pass
        async with asyncio.timeout(30):
            await farm.until(lambda: farm.connections.failed_handshakes == 1)

        assert farm.connections.open == 0


async def test_which_names_are_flawed_is_the_tests_to_say() -> None:
    certificates = Certificates(flawed={"old.test": Flaw.EXPIRED})
    async with WebFarm(SITES, certificates=certificates) as farm:
        with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
            async with call(farm.tls_port, context=certificates.client_context(), name="old.test"):
                pass


async def test_plain_http_on_the_tls_port_fails_and_is_counted(certificates: Certificates) -> None:
    async with WebFarm(SITES, certificates=certificates) as farm, call(farm.tls_port) as caller:
        await caller.ask("shop.test")
        raw = await caller.rest()

        assert b"HTTP" not in raw
        assert farm.connections.failed_handshakes == 1
        assert farm.requests == 0


async def test_a_refused_port_refuses() -> None:
    with refused_port() as (address, port), pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(address, port)


def test_a_connection_into_a_black_hole_never_completes() -> None:
    with blackhole() as where, socket.socket() as client:
        client.setblocking(False)

        started = client.connect_ex(where)
        state = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]

        # On loopback an answered SYN has already been answered when connect returns.
        assert started == errno.EINPROGRESS
        assert state == TCP_SYN_SENT


def test_a_peer_that_never_speaks_can_be_connected_to() -> None:
    with never_speaks() as where, socket.create_connection(where) as client:
        client.setblocking(False)
        client.send(b"GET / HTTP/1.1\r\n\r\n")

        with pytest.raises(BlockingIOError):
            client.recv(1)


async def test_another_protocol_on_the_port_breaks_the_handshake(certificates: Certificates) -> None:
    async with blurts_out(b"220 hello\r\n") as (address, port):
        async with call(port, address=address) as caller:
            assert await caller.rest() == b"220 hello\r\n"
        with pytest.raises(ssl.SSLError):
            async with call(port, address=address, context=certificates.client_context(), name="shop.test"):
                pass


async def test_a_handshake_may_end_with_an_alert(certificates: Certificates) -> None:
    async with blurts_out(TLS_ALERT) as (address, port):
        with pytest.raises(ssl.SSLError, match=r"(?i)handshake.failure"):
            async with call(port, address=address, context=certificates.client_context(), name="shop.test"):
                pass
