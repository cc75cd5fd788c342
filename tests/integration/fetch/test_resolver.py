"""Where is a host? Asked of a real name server on loopback, through the real c-ares."""

import asyncio
from ipaddress import ip_address
from pathlib import Path

import pytest
from tests.integration.fetch.dns_server import REFUSED, SERVFAIL, DnsServer, Reply

from outrider.errors import ConfigError, DnsError, Phase, TimedOut
from outrider.fetch.resolver import Memory, Resolver
from outrider.testing.clock import FakeClock

PUBLIC = "93.184.215.14"
PUBLIC_6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"


def resolver_on(server: DnsServer, clock: FakeClock | None = None, **options: object) -> Resolver:
    return Resolver(clock or FakeClock(1_000_000.0), nameservers=[server.address], **{"timeout": 5.0, **options})  # type: ignore[arg-type]


async def test_a_name_has_the_addresses_of_both_families_ipv4_first() -> None:
    async with DnsServer({"a.example": Reply(a=(PUBLIC,), aaaa=(PUBLIC_6,))}) as dns, resolver_on(dns) as resolver:
        addresses = await resolver.resolve("a.example")

        assert addresses == (PUBLIC, PUBLIC_6)


async def test_the_family_named_first_comes_first_and_one_not_named_is_not_asked_for() -> None:
    async with DnsServer({"a.example": Reply(a=(PUBLIC,), aaaa=(PUBLIC_6,))}) as dns:
        async with resolver_on(dns, families=("ipv6", "ipv4")) as six_first:
            assert await six_first.resolve("a.example") == (PUBLIC_6, PUBLIC)
        before = dns.count("a.example", "AAAA")
        async with resolver_on(dns, families=("ipv4",)) as four_only:
            assert await four_only.resolve("a.example") == (PUBLIC,)

        assert dns.count("a.example", "AAAA") == before


@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        ("127.0.0.1", ("127.0.0.1",)),
        ("93.184.215.14", (PUBLIC,)),
        ("[::1]", ("::1",)),
        ("[2606:2800:21f:cb07:6820:80da:af6b:8b2c]", (PUBLIC_6,)),
        ("[::ffff:7f00:1]", (str(ip_address("::ffff:7f00:1")),)),
        ("localhost", ("127.0.0.1", "::1")),
        ("localhost.", ("127.0.0.1", "::1")),
        ("LOCALHOST", ("127.0.0.1", "::1")),
        ("shop.localhost", ("127.0.0.1", "::1")),
    ],
)
async def test_a_literal_or_a_localhost_name_is_answered_without_dns(host: str, addresses: tuple[str, ...]) -> None:
    async with DnsServer({"localhost": Reply(a=(PUBLIC,))}) as dns, resolver_on(dns) as resolver:
        assert await resolver.resolve(host) == addresses

        assert dns.asked == []


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("one.test", "127.0.0.1"),
        ("a.b.test", "127.0.0.1"),
        ("deep.inner.test", "127.0.0.2"),
        ("exact.inner.test", "127.0.0.3"),
        ("EXACT.inner.test.", "127.0.0.3"),
        ("test", "127.0.0.9"),
        ("elsewhere.example", "127.0.0.9"),
    ],
)
async def test_given_hosts_win_the_nearest_name_first(host: str, address: str) -> None:
    hosts = {
        "*.test": ("127.0.0.1",),
        "*.inner.test": ("127.0.0.2",),
        "exact.inner.test": ("127.0.0.3",),
        "*": ("127.0.0.9",),
    }
    async with Resolver(FakeClock(1_000_000.0), hosts=hosts) as resolver:
        assert await resolver.resolve(host) == (address,)


@pytest.mark.parametrize("addresses", [("127.0.0.1", "not-an-address"), ("127.1",), ()])
def test_a_given_host_without_a_proper_address_is_a_config_error(addresses: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=r"\*\.test"):
        Resolver(FakeClock(1_000_000.0), hosts={"*.test": addresses})


async def test_a_name_in_the_hosts_file_is_found_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("192.168.7.7 wiki wiki.intranet\n")
    monkeypatch.setenv("CARES_HOSTS", str(hosts))
    async with DnsServer({}) as dns, resolver_on(dns) as resolver:
        assert await resolver.resolve("wiki") == ("192.168.7.7",)
        assert await resolver.resolve("wiki.intranet.") == ("192.168.7.7",)

        assert dns.asked == []


async def test_an_answer_is_kept_at_least_for_the_floor() -> None:
    clock = FakeClock(1_000_000.0)
    async with DnsServer({"a.example": Reply(a=(PUBLIC,), ttl=0)}) as dns, resolver_on(dns, clock) as resolver:
        await resolver.resolve("a.example")
        clock.advance(Memory().floor - 1)
        await resolver.resolve("a.example")
        kept = dns.count("a.example")
        clock.advance(1)
        await resolver.resolve("a.example")

        assert (kept, dns.count("a.example")) == (1, 2)


@pytest.mark.parametrize(
    ("ttl", "kept_for"),
    [(0, 30.0), (29, 30.0), (300, 300.0), (3_600, 3_600.0), (604_800, 3_600.0)],
)
async def test_the_ttl_is_honoured_between_floor_and_ceiling(ttl: int, kept_for: float) -> None:
    clock = FakeClock(1_000_000.0)
    script: dict[str, Reply | list[Reply]] = {"a.example": Reply(a=(PUBLIC,), aaaa=(PUBLIC_6,), ttl=ttl)}
    async with DnsServer({**script}) as dns, resolver_on(dns, clock) as resolver:
        await resolver.resolve("a.example")
        kept = resolver._kept["a.example"]  # noqa: SLF001 - c-ares has a second cache on the real clock, so look here

        assert kept.until - clock.now() == kept_for


async def test_a_clock_set_back_does_not_prolong_an_answer() -> None:
    clock = FakeClock(1_000_000.0)
    async with DnsServer({"a.example": Reply(a=(PUBLIC,))}) as dns, resolver_on(dns, clock) as resolver:
        await resolver.resolve("a.example")
        clock.advance(-86_400)
        await resolver.resolve("a.example")

        assert dns.count("a.example") == 2


async def test_no_such_name_is_told_apart_and_remembered() -> None:
    clock = FakeClock(1_000_000.0)
    async with DnsServer({}) as dns, resolver_on(dns, clock) as resolver:
        with pytest.raises(DnsError, match=r"gone\.example: there is no such name") as first:
            await resolver.resolve("gone.example")
        clock.advance(Memory().missing - 1)
        with pytest.raises(DnsError) as second:
            await resolver.resolve("gone.example")
        asked_while_remembered = dns.count("gone.example")
        clock.advance(1)
        with pytest.raises(DnsError):
            await resolver.resolve("gone.example")

        assert (first.value.exists, second.value.exists) == (False, False)
        assert first.value is not second.value
        assert (asked_while_remembered, dns.count("gone.example")) == (1, 2)


async def test_a_name_without_an_address_exists() -> None:
    async with DnsServer({"mail.example": Reply()}) as dns, resolver_on(dns) as resolver:
        with pytest.raises(DnsError, match="no address") as caught:
            await resolver.resolve("mail.example")

        assert caught.value.exists


@pytest.mark.parametrize("rcode", [SERVFAIL, REFUSED])
async def test_a_failing_server_says_nothing_about_the_name_and_is_asked_again_soon(rcode: int) -> None:
    clock = FakeClock(1_000_000.0)
    script: dict[str, Reply | list[Reply]] = {"a.example": Reply(rcode=rcode)}
    async with DnsServer({**script}) as dns, resolver_on(dns, clock) as resolver:
        with pytest.raises(DnsError) as caught:
            await resolver.resolve("a.example")
        asked = dns.count("a.example")
        with pytest.raises(DnsError):
            await resolver.resolve("a.example")
        asked_at_once = dns.count("a.example")
        dns.script["a.example"] = Reply(a=(PUBLIC,))
        clock.advance(Memory().broken)

        assert caught.value.exists
        assert asked_at_once == asked
        assert await resolver.resolve("a.example") == (PUBLIC,)


async def test_no_answer_in_time_is_timed_out_in_the_dns_phase() -> None:
    async with DnsServer({"a.example": Reply(silent=True)}) as dns, resolver_on(dns, timeout=0.2) as resolver:
        with pytest.raises(TimedOut, match=r"a\.example") as caught:
            await resolver.resolve("a.example")

        assert caught.value.phase is Phase.DNS


async def test_a_slow_name_behind_a_quick_server_is_waited_for() -> None:
    quick: dict[str, Reply | list[Reply]] = {f"quick{n}.example": Reply(a=(PUBLIC,)) for n in range(20)}
    slow: dict[str, Reply | list[Reply]] = {"slow.example": [Reply(silent=True)] * 3 + [Reply(a=(PUBLIC,))]}
    async with DnsServer({**quick, **slow}) as dns, resolver_on(dns, timeout=20.0) as resolver:
        for name in quick:
            await resolver.resolve(name)

        assert await resolver.resolve("slow.example") == (PUBLIC,)
        assert dns.count("slow.example") == 4


async def test_one_family_is_enough_when_the_other_fails_or_is_silent() -> None:
    script: dict[str, Reply | list[Reply]] = {
        "half.example": Reply(a=(PUBLIC,), silent_for="AAAA"),
        "six.example": Reply(aaaa=(PUBLIC_6,)),
    }
    async with DnsServer({**script}) as dns, resolver_on(dns, timeout=1.5) as resolver:
        assert await resolver.resolve("half.example") == (PUBLIC,)
        assert await resolver.resolve("six.example") == (PUBLIC_6,)


async def test_a_truncated_answer_is_asked_for_again_over_tcp() -> None:
    many = tuple(f"93.184.{index // 250}.{index % 250}" for index in range(600))
    async with DnsServer({"a.example": Reply(a=many, truncated=True)}) as dns, resolver_on(dns) as resolver:
        addresses = await resolver.resolve("a.example")

        assert ("a.example", "A", "tcp") in dns.asked
        assert addresses == many[:32]


async def test_one_look_up_a_name_is_under_way_however_many_wait() -> None:
    held = asyncio.Event()
    async with DnsServer({"a.example": Reply(a=(PUBLIC,), held=held)}) as dns, resolver_on(dns) as resolver:
        waiting = [asyncio.create_task(resolver.resolve(name)) for name in ("a.example", "A.example", "a.example.")]
        await dns.heard("a.example")
        held.set()

        assert await asyncio.gather(*waiting) == [(PUBLIC,)] * 3
        assert dns.count("a.example") == 1


async def test_no_more_look_ups_than_allowed_are_under_way() -> None:
    held = asyncio.Event()
    script: dict[str, Reply | list[Reply]] = {f"{name}.example": Reply(a=(PUBLIC,), held=held) for name in "abcd"}
    async with DnsServer({**script}) as dns, resolver_on(dns, at_once=2) as resolver:
        waiting = [asyncio.create_task(resolver.resolve(name)) for name in script]
        await dns.heard("a.example")
        await dns.heard("b.example")
        names_under_way = {name for name, _, _ in dns.asked}
        held.set()

        assert await asyncio.gather(*waiting) == [(PUBLIC,)] * 4
        assert names_under_way == {"a.example", "b.example"}


async def test_a_waiter_that_leaves_does_not_end_the_look_up_of_the_others() -> None:
    held = asyncio.Event()
    async with DnsServer({"a.example": Reply(a=(PUBLIC,), held=held)}) as dns, resolver_on(dns) as resolver:
        first = asyncio.create_task(resolver.resolve("a.example"))
        await dns.heard("a.example")
        second = asyncio.create_task(resolver.resolve("a.example"))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        held.set()

        assert await second == (PUBLIC,)
        assert dns.count("a.example") == 1


async def test_closing_ends_what_is_under_way_and_begins_nothing_more() -> None:
    async with DnsServer({"a.example": Reply(silent=True)}) as dns:
        resolver = resolver_on(dns)
        waiting = asyncio.create_task(resolver.resolve("a.example"))
        await dns.heard("a.example")

        await resolver.close()

        with pytest.raises(DnsError):
            await waiting
        with pytest.raises(DnsError, match="closed"):
            await resolver.resolve("b.example")
        await resolver.close()


async def test_the_names_used_last_are_remembered_and_no_more_than_allowed() -> None:
    script: dict[str, Reply | list[Reply]] = {f"{name}.example": Reply(a=(PUBLIC,)) for name in "abc"}
    async with DnsServer({**script}) as dns, resolver_on(dns, memory=Memory(entries=2)) as resolver:
        for name in "abac":
            await resolver.resolve(f"{name}.example")
        await resolver.resolve("a.example")
        await resolver.resolve("b.example")

        assert (dns.count("a.example"), dns.count("b.example")) == (1, 2)


@pytest.mark.parametrize(
    "host",
    ["a..example", ".", "..", "", f"{'a' * 64}.example", ".".join(["abcdefgh"] * 40), "a\0b.example", "bücher.example"],
)
async def test_what_cannot_be_a_name_does_not_exist_and_nobody_is_asked(host: str) -> None:
    async with DnsServer({}) as dns, resolver_on(dns) as resolver:
        with pytest.raises(DnsError) as caught:
            await resolver.resolve(host)

        assert not caught.value.exists
        assert dns.asked == []
