"""The client over real sockets, against a web on loopback that misbehaves."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from outrider import Client, Failed, Fetch, Fetched, Reason, Skipped
from outrider.settings import settings_of
from outrider.testing.webfarm import (
    Certificates,
    Elsewhere,
    WebFarm,
    encoded,
    hang,
    page,
    redirect,
    refused_port,
    refuses_head,
    slow_first_byte,
    status,
    text,
)
from outrider.testing.webfarm.kinds import Site

EVERYWHERE = {"*": ["127.0.0.1"]}
"""No name of a test is ever looked up."""

RULES = "User-agent: *\nDisallow: /private\n"


def client(farm: WebFarm, *, ca_file: str | None = None, **keys: object) -> Client:
    ports = [farm.port] if farm.place.tls_port is None else [farm.port, farm.tls_port]
    given = {
        "contact": "a@example.org",
        "delay": 0,
        "max_retries": 0,
        "allow_private": ["127.0.0.0/8"],
        "allow_ports": ports,
    } | keys
    return Client(settings=settings_of(**given), hosts=EVERYWHERE, ca_file=ca_file)


def reason(fetch: Fetch) -> Reason | None:
    match fetch.outcome:
        case Failed(failure):
            return failure.reason
        case Skipped(why):
            return why
        case _:
            return None


async def test_a_fetch_brings_content_and_its_evidence_home() -> None:
    """S1-33, S1-8, S4-6: robots.txt first, compressed as servers do, then the hops, then the page."""
    sites: dict[str, Site] = {
        "a.test": {
            "/robots.txt": encoded(RULES, "gzip", content_type="text/plain"),
            "/": redirect(301, "/b"),
            "/b": redirect(302, Elsewhere("b.test")),
        },
        "b.test": {"/": encoded("<title>here</title>", "br")},
    }
    async with WebFarm(sites) as farm, client(farm) as crawler:
        fetch = await crawler.fetch(farm.url("a.test"))
        barred = await crawler.fetch(farm.url("a.test", "/private/page"))

        assert [(asked.host, asked.target) for asked in farm.log] == [
            ("a.test", "/robots.txt"),
            ("a.test", "/"),
            ("a.test", "/b"),
            ("b.test", "/robots.txt"),
            ("b.test", "/"),
        ]
        assert isinstance(fetch.outcome, Fetched)
        assert (fetch.text, fetch.url) == ("<title>here</title>", farm.url("b.test"))
    assert [hop.address for hop in fetch.visit.hops] == ["127.0.0.1"] * 3
    assert all(hop.timing.total > 0 for hop in fetch.visit.hops)
    assert {each.kind for each in fetch.evidence} == {
        "robots_check",
        "redirect_chain",
        "http_response",
        "http_headers",
        "fetch_timing",
    }
    assert reason(barred) is Reason.ROBOTS_DISALLOWED
    assert (barred.robots_allowed, barred.status) == (False, 0)


async def test_the_status_of_a_forbidden_page_costs_one_head_and_only_if_asked_for() -> None:
    """S1-14, C14."""
    site: Site = {"/robots.txt": text(RULES), "/private": refuses_head(page("secret"), code=403)}
    async with WebFarm({"a.test": site}) as farm, client(farm, robots_blocked="status") as crawler:
        fetch = await crawler.fetch(farm.url("a.test", "/private"))

        assert [(asked.method, asked.target) for asked in farm.log] == [("GET", "/robots.txt"), ("HEAD", "/private")]
    assert (fetch.status, fetch.content, reason(fetch)) == (403, b"", Reason.ROBOTS_DISALLOWED)


async def test_an_authority_of_your_own_is_trusted_and_a_stranger_is_not(tmp_path: Path) -> None:
    """C34: https and http of a host have their own robots.txt."""
    certificates = Certificates(good=("a.test",), flawed={})
    ca_file = tmp_path / "ca.pem"
    ca_file.write_bytes(certificates.authority)
    async with WebFarm({"a.test": {"/": page("safe")}}, certificates=certificates) as farm:
        async with client(farm, ca_file=str(ca_file)) as crawler:
            fetches = [await crawler.fetch(farm.url("a.test", tls=tls)) for tls in (True, False)]
        async with client(farm) as stranger:
            refused = await stranger.fetch(farm.url("a.test", tls=True))

        robots = farm.asked(target="/robots.txt")
    assert [fetch.text for fetch in fetches] == ["safe", "safe"]
    assert [asked.tls for asked in robots] == [True, False]
    assert "tls_untrusted" in (refused.error or "")


async def test_sites_are_asked_side_by_side() -> None:
    """H4-9: all of them are in flight before the first one has answered."""
    answered = asyncio.Event()
    hosts = [f"s{n}.test" for n in range(8)]
    sites: dict[str, Site] = {host: {"/": slow_first_byte(answered, page(host))} for host in hosts}
    async with WebFarm(sites) as farm, client(farm, concurrency=8) as crawler:
        tasks = [asyncio.create_task(crawler.fetch(farm.url(host))) for host in hosts]
        await farm.until(lambda: len(farm.asked(target="/")) == 8)
        answered.set()
        fetches = await asyncio.gather(*tasks)

    assert [fetch.text for fetch in fetches] == hosts


async def test_a_cancelled_fetch_hangs_up_and_gives_the_site_back() -> None:
    site: Site = {"/hang": hang(), "/": page("x")}
    async with WebFarm({"a.test": site}) as farm, client(farm) as crawler:
        stuck = asyncio.create_task(crawler.fetch(farm.url("a.test", "/hang")))
        waiting = asyncio.create_task(crawler.fetch(farm.url("a.test")))
        await farm.until(lambda: bool(farm.asked(target="/hang")))
        stuck.cancel()

        fetch = await waiting

    assert stuck.cancelled()
    assert fetch.ok


async def test_two_clients_at_once_are_two_visitors() -> None:
    async with WebFarm({"a.test": {"/": page("x")}}) as farm, client(farm) as one, client(farm) as other:
        fetches = await asyncio.gather(*(each.fetch(farm.url("a.test")) for each in (one, other) for _ in range(3)))

        assert all(fetch.ok for fetch in fetches)
        assert len(farm.asked(target="/robots.txt")) == 2
        assert len(farm.asked(target="/")) == 6


async def test_closing_a_client_ends_what_is_still_in_flight() -> None:
    async with WebFarm({"a.test": {"/hang": hang()}, "b.test": {"/robots.txt": hang()}}) as farm:
        async with client(farm, max_retries=3, retry_backoff=0.01) as crawler:
            tasks = [
                asyncio.create_task(crawler.fetch(farm.url(host, "/hang"))) for host in ("a.test", "b.test", "a.test")
            ]
            await farm.until(lambda: farm.requests == 3)

        fetches = await asyncio.gather(*tasks)

    assert [fetch.ok for fetch in fetches] == [False] * 3
    assert reason(fetches[0]) is Reason.CONNECTION_LOST


async def test_a_site_where_nobody_listens_is_soon_left_alone() -> None:
    """S4-17, S4-21, C13: robots.txt is asked once, and the pages are not asked at all."""
    with refused_port() as (_, port):
        settings = settings_of(allow_private=["127.0.0.0/8"], allow_ports=[port], delay=0, max_retries=0)
        async with Client(settings=settings) as crawler:
            fetches = [await crawler.fetch(f"http://127.0.0.1:{port}/{n}") for n in range(3)]

    assert {reason(fetch) for fetch in fetches} == {Reason.CONNECT_REFUSED}
    assert [fetch.visit.requests for fetch in fetches][1:] == [0, 0]


# ── Addresses ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("policy", ["defer", "allow", "deny"])
async def test_an_address_that_was_not_allowed_is_never_connected_to(policy: str) -> None:
    """Whatever an unreachable robots.txt means by setting: no packet, and the fetch says why."""
    async with (
        WebFarm({"a.test": {"/": page("inside")}}) as farm,
        client(farm, allow_private=[], robots_unreachable=policy) as crawler,
    ):
        fetches = [await crawler.fetch(farm.url("a.test", path)) for path in ("/", "/again")]

        assert farm.connections.accepted == 0
    assert [reason(fetch) for fetch in fetches] == [Reason.BLOCKED_ADDRESS] * 2
    assert all("127.0.0.1" in (fetch.error or "") for fetch in fetches)


@pytest.mark.parametrize("inside", ["http://10.0.0.1/", "http://[::ffff:169.254.169.254]/", "http://0x7f000002:1/"])
async def test_a_redirect_does_not_lead_inside(inside: str) -> None:
    async with (
        WebFarm({"a.test": {"/": redirect(302, inside)}}) as farm,
        client(farm, allow_private=["127.0.0.1/32"]) as crawler,
    ):
        fetch = await crawler.fetch(farm.url("a.test"))

    assert reason(fetch) is Reason.BLOCKED_ADDRESS
    assert [hop.status for hop in fetch.visit.hops] == [302]


async def test_a_robots_txt_that_leads_inside_is_unreachable_and_the_site_is_not_blamed_for_its_address() -> None:
    site: Site = {"/robots.txt": redirect(302, "http://10.0.0.1/robots.txt"), "/": page("x")}
    async with WebFarm({"a.test": site}) as farm:
        async with client(farm) as careful:
            put_off = await careful.fetch(farm.url("a.test"))
        async with client(farm, robots_unreachable="allow") as bold:
            fetched = await bold.fetch(farm.url("a.test"))

    assert reason(put_off) is Reason.ROBOTS_UNREACHABLE
    assert "10.0.0.1" in (put_off.error or "")
    assert fetched.ok


# ── Interrupts ───────────────────────────────────────────────────────────────────────────────────────────────────────

INTERRUPTED = """
import asyncio, sys
from outrider import Client
from outrider.testing.webfarm import WebFarm, hang

async def main():
    async with WebFarm({"*": {"/": hang()}}) as farm:
        opened = {"allow_private": ["127.0.0.0/8"], "allow_ports": [farm.port]}
        async with Client(hosts={"*": ["127.0.0.1"]}, delay=0, **opened) as client:
            stuck = [asyncio.create_task(client.fetch(farm.url("127.0.0.1"))) for _ in range(3)]
            await farm.until(lambda: bool(farm.asked(target="/")))
            print("in flight", flush=True)
            await asyncio.gather(*stuck)

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_ends_a_program_cleanly() -> None:
    """Ctrl-C with fetches in flight: no hang, nothing left to complain about."""
    program = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "in flight\n"

        program.send_signal(signal.SIGINT)
        rest, complaints = program.communicate(timeout=30)
    finally:
        program.kill()

    assert rest == "interrupted\n"
    assert complaints == ""
    assert program.returncode == 0


async def test_status_codes_of_robots_txt_decide_over_the_wire_too() -> None:
    """C13, S4-35."""
    sites: dict[str, Site] = {
        f"r{code}.test": {"/robots.txt": status(code), "/": page("x")} for code in (404, 403, 429, 500, 503)
    }
    async with WebFarm(sites) as farm:
        async with client(farm) as careful:
            deferred = [reason(await careful.fetch(farm.url(host))) for host in sites]
        async with client(farm, robots_unreachable="allow") as bold:
            allowed = [(await bold.fetch(farm.url(host))).ok for host in sites]

    assert deferred == [None, None, *[Reason.ROBOTS_UNREACHABLE] * 3]
    assert allowed == [True] * 5
