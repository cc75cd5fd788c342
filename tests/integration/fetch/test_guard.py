"""The address that was judged is the address that is connected to, whatever the DNS says a moment later."""

import asyncio
from collections.abc import Sequence

import pytest
from tests.integration.fetch.dns_server import DnsServer, Reply

from outrider.errors import AddressRefused, DnsError
from outrider.fetch.guard import Guard
from outrider.fetch.resolver import Memory, Resolver
from outrider.model.url import Url
from outrider.policy.address import AddressRules
from outrider.testing.clock import FakeClock

PUBLIC = "93.184.215.14"


async def test_a_name_that_turns_to_loopback_is_refused_at_the_next_look_up() -> None:
    clock = FakeClock()
    script: dict[str, Reply | Sequence[Reply]] = {"flip.example": [Reply(a=(PUBLIC,)), Reply(a=("127.0.0.1",))]}
    async with DnsServer(script) as dns, Resolver(clock, nameservers=[dns.address]) as resolver:
        guard = Guard(resolver, AddressRules())
        first = await guard.pin(Url("http://flip.example/"))
        again = await guard.pin(Url("http://flip.example/robots.txt"))
        asked = dns.count("flip.example")
        clock.advance(Memory().floor)

        with pytest.raises(AddressRefused, match=r"127\.0\.0\.1"):
            await guard.pin(Url("http://flip.example/"))

        assert first == again == (PUBLIC,)
        assert asked == 1


async def test_what_is_recalled_is_judged_as_if_it_were_looked_up() -> None:
    clock = FakeClock()
    script: dict[str, Reply | Sequence[Reply]] = {
        "open.example": Reply(a=(PUBLIC,)),
        "inward.example": Reply(a=(PUBLIC, "127.0.0.1")),
    }
    async with DnsServer(script) as dns, Resolver(clock, nameservers=[dns.address]) as resolver:
        guard = Guard(resolver, AddressRules())
        before = guard.recall(Url("http://open.example/"))
        await resolver.resolve("open.example")
        await resolver.resolve("inward.example")

        known = guard.recall(Url("http://open.example/"))
        with pytest.raises(AddressRefused, match=r"127\.0\.0\.1"):
            guard.recall(Url("http://inward.example/"))
        with pytest.raises(AddressRefused, match="allow_ports"):
            guard.recall(Url("http://open.example:22/"))
        clock.advance(Memory().floor)
        forgotten = guard.recall(Url("http://open.example/"))

        assert (before, known, forgotten) == (None, (PUBLIC,), None)


async def test_a_verdict_that_is_kept_is_not_applied_to_another_answer() -> None:
    clock = FakeClock()
    script: dict[str, Reply | Sequence[Reply]] = {"flip.example": [Reply(a=(PUBLIC,)), Reply(a=("127.0.0.1",))]}
    async with DnsServer(script) as dns, Resolver(clock, nameservers=[dns.address]) as resolver:
        guard = Guard(resolver, AddressRules())
        await resolver.resolve("flip.example")
        first = [guard.recall(Url(f"http://flip.example/{page}")) for page in range(2)]
        clock.advance(Memory().floor)
        await resolver.resolve("flip.example")

        with pytest.raises(AddressRefused, match=r"127\.0\.0\.1"):
            guard.recall(Url("http://flip.example/2"))

        assert first == [(PUBLIC,), (PUBLIC,)]


async def test_a_pinned_address_is_where_the_connection_goes_after_the_name_has_turned() -> None:
    """The check and the connection share one look-up: there is no second answer to be fooled by."""
    reached = []

    async def note(name: str, writer: asyncio.StreamWriter) -> None:
        reached.append(name)
        writer.close()
        await writer.wait_closed()

    honest = await asyncio.start_server(lambda _, writer: note("honest", writer), "127.0.0.1", 0)
    port = honest.sockets[0].getsockname()[1]
    attacked = await asyncio.start_server(lambda _, writer: note("attacked", writer), "127.0.0.2", port)
    clock = FakeClock()
    script: dict[str, Reply | Sequence[Reply]] = {"flip.example": [Reply(a=("127.0.0.1",)), Reply(a=("127.0.0.2",))]}
    # 127.0.0.1 stands for the public site: the one hole. Everything else of loopback is forbidden ground.
    rules = AddressRules(allow_private=("127.0.0.1/32",))
    async with honest, attacked, DnsServer(script) as dns, Resolver(clock, nameservers=[dns.address]) as resolver:
        guard = Guard(resolver, rules)
        pinned = await guard.pin(Url(f"http://flip.example:{port}/"))
        clock.advance(Memory().floor)
        turned = await resolver.resolve("flip.example")
        for address in pinned:
            reader, writer = await asyncio.open_connection(address, port)
            await reader.read()
            writer.close()

        assert turned == ("127.0.0.2",)
        assert reached == ["honest"]
        assert not guard.approves("127.0.0.2", port)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(a=(PUBLIC, "127.0.0.1")),
        Reply(a=("10.0.0.1", PUBLIC)),
        Reply(a=(PUBLIC,), aaaa=("::1",)),
        Reply(a=(PUBLIC,), aaaa=("fd00::1",)),
        Reply(a=(PUBLIC,), aaaa=("::ffff:10.0.0.1",)),
        Reply(a=(PUBLIC,), aaaa=("64:ff9b::10.0.0.1",)),
    ],
)
async def test_an_answer_that_mixes_outside_and_inside_is_refused_whole(reply: Reply) -> None:
    async with (
        DnsServer({"mixed.example": reply}) as dns,
        Resolver(FakeClock(), nameservers=[dns.address]) as resolver,
    ):
        with pytest.raises(AddressRefused, match=r"mixed\.example"):
            await Guard(resolver, AddressRules()).pin(Url("https://mixed.example/"))


async def test_the_copies_that_a_dns64_server_adds_are_left_out() -> None:
    reply = Reply(a=(PUBLIC,), aaaa=("64:ff9b::5db8:d70e",))
    async with (
        DnsServer({"site.example": reply}) as dns,
        Resolver(FakeClock(), nameservers=[dns.address]) as resolver,
    ):
        assert await Guard(resolver, AddressRules()).pin(Url("https://site.example/")) == (PUBLIC,)


async def test_a_refusal_names_host_address_reason_and_the_way_out() -> None:
    async with Resolver(FakeClock(), hosts={"intra.example": ("10.2.3.4",), "site.example": (PUBLIC,)}) as resolver:
        guard = Guard(resolver, AddressRules())
        with pytest.raises(AddressRefused) as by_address:
            await guard.pin(Url("http://intra.example/"))
        with pytest.raises(AddressRefused) as by_port:
            await guard.pin(Url("http://site.example:6379/"))

        assert str(by_address.value) == (
            "intra.example is not visited: its address 10.2.3.4 is private, RFC 1918 (10.0.0.0/8); "
            "--allow-private 10.2.3.4 would allow it"
        )
        assert str(by_port.value) == (
            f"site.example is not visited: its address {PUBLIC} is asked for on port 6379, "
            "not one of allow_ports (80, 443, 8080, 8443); adding 6379 to allow_ports would allow it"
        )


async def test_a_name_that_does_not_resolve_is_no_refusal() -> None:
    async with DnsServer({}) as dns, Resolver(FakeClock(), nameservers=[dns.address]) as resolver:
        with pytest.raises(DnsError):
            await Guard(resolver, AddressRules()).pin(Url("http://gone.example/"))


async def test_the_second_check_agrees_with_the_first() -> None:
    async with Resolver(FakeClock()) as resolver:
        guard = Guard(resolver, AddressRules(allow_private=("127.0.0.0/8",)))

        assert guard.approves(PUBLIC, 443)
        assert guard.approves("127.0.0.1", 31_337)
        assert not guard.approves(PUBLIC, 31_337)
        assert not guard.approves("::1", 443)


async def test_one_half_of_localhost_may_be_opened_alone() -> None:
    async with Resolver(FakeClock()) as resolver:
        guard = Guard(resolver, AddressRules(allow_private=("127.0.0.0/8",)))

        assert await guard.pin(Url("http://localhost:8000/")) == ("127.0.0.1",)
        assert await guard.pin(Url("http://shop.localhost.:8000/")) == ("127.0.0.1",)
        with pytest.raises(AddressRefused):
            await Guard(resolver, AddressRules()).pin(Url("http://localhost:8000/"))
