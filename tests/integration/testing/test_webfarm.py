"""The farm itself: names, log, kept connections, and that nothing is left of it."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from outrider.testing.webfarm import (
    Asked,
    Certificates,
    Choice,
    Instant,
    Place,
    Reply,
    WebFarm,
    endless_body,
    hang,
    page,
    reset,
    slow_first_byte,
    text,
)
from outrider.testing.webfarm.caller import ask, call

SITES = {
    "a.test": {"/": page("a"), "/q?x=1": page("with query"), "/q": page("without")},
    "b.test": {"/": page("b"), "/robots.txt": text("User-agent: *\nDisallow: /")},
}


async def test_the_host_header_chooses_the_site() -> None:
    async with WebFarm(SITES) as farm:
        a = await ask(farm.port, "a.test")
        b = await ask(farm.port, f"B.Test:{farm.port}")

    assert a.startswith(b"HTTP/1.1 200 OK\r\n")
    assert a.endswith(b"\r\n\r\na")
    assert b.endswith(b"\r\n\r\nb")


async def test_a_name_without_a_site_is_told_so_and_an_unknown_path_is_not_found() -> None:
    async with WebFarm(SITES) as farm:
        nowhere = await ask(farm.port, "c.test")
        missing = await ask(farm.port, "a.test", "/none")

    assert nowhere.startswith(b"HTTP/1.1 421 ")
    assert missing.startswith(b"HTTP/1.1 404 Not Found\r\n")


async def test_a_star_stands_for_every_other_host_and_path() -> None:
    async with WebFarm({"*": {"*": page("any")}}) as farm:
        answer = await ask(farm.port, "whoever.test", "/wherever")

    assert answer.endswith(b"any")


async def test_a_target_with_its_query_comes_before_the_path_alone() -> None:
    async with WebFarm(SITES) as farm:
        exact = await ask(farm.port, "a.test", "/q?x=1")
        path = await ask(farm.port, "a.test", "/q?x=2")

    assert exact.endswith(b"with query")
    assert path.endswith(b"without")


async def test_the_log_holds_every_request_in_order_as_it_was_sent() -> None:
    async with WebFarm(SITES) as farm:
        await ask(farm.port, "a.test", "/?x=1", headers={"X-Twice": "1", "x-twice": "2"})
        await ask(farm.port, "b.test", "/robots.txt", "HEAD")

        first, second = farm.log

    assert (first.host, first.method, first.target, first.path) == ("a.test", "GET", "/?x=1", "/")
    assert first.headers == (("Host", "a.test"), ("Connection", "close"), ("X-Twice", "1"), ("x-twice", "2"))
    assert first.header("HOST") == "a.test"
    assert first.head.startswith(b"GET /?x=1 HTTP/1.1\r\n")
    assert first.peer.startswith("127.0.0.1:")
    assert first.monotonic_at <= second.monotonic_at
    assert first.connection_id != second.connection_id
    assert farm.asked(host="b.test") == [second]
    assert farm.asked(target="/robots.txt", method="HEAD") == [second]
    assert farm.asked(host="a.test", target="/robots.txt") == []
    assert farm.requests == 2


async def test_without_a_log_requests_are_still_counted() -> None:
    async with WebFarm(SITES, keeps_log=False) as farm:
        await ask(farm.port, "a.test")

    assert farm.log == []
    assert farm.requests == 1


async def test_a_connection_is_kept_and_counted_once() -> None:
    async with WebFarm(SITES) as farm, call(farm.port) as caller:
        for _ in range(3):
            await caller.ask("a.test")
            head, body = await caller.answer()

            assert b"Connection" not in head
            assert body == b"a"

        assert {asked.connection_id for asked in farm.log} == {1}
        assert msgspec.structs.astuple(farm.connections) == (1, 1, 1, 0)


async def test_requests_sent_at_once_are_answered_one_after_the_other() -> None:
    one = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"
    async with WebFarm(SITES) as farm, call(farm.port) as caller:
        await caller.send(one + one.replace(b"a.test", b"b.test"))

        assert (await caller.answer())[1] == b"a"
        assert (await caller.answer())[1] == b"b"


async def test_a_request_may_come_in_pieces_and_with_a_body() -> None:
    async with WebFarm(SITES) as farm, call(farm.port) as caller:
        for piece in (b"\r\nPOST / HT", b"TP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n", b"\r\nbo", b"dy"):
            await caller.send(piece)
        await caller.answer()
        await caller.ask("b.test")

        assert (await caller.answer())[1] == b"b"
        assert [asked.method for asked in farm.log] == ["POST", "GET"]


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
        (b"GET / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"413"),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000, b"431"),
    ],
)
async def test_a_client_that_breaks_the_rules_is_answered_and_cut(raw: bytes, status: bytes) -> None:
    async with WebFarm(SITES) as farm, call(farm.port) as caller:
        await caller.send(raw)
        answer = await caller.rest()

        assert answer.startswith(b"HTTP/1.1 " + status)
        assert b"\r\nConnection: close\r\n" in answer
        assert farm.referee.malformed == 1
        assert farm.requests == 0


async def test_an_old_client_and_an_absolute_target_are_understood() -> None:
    async with WebFarm(SITES) as farm, call(farm.port) as caller:
        await caller.send(b"GET http://b.test/ HTTP/1.0\n\n")

        assert (await caller.rest()).endswith(b"b")


async def test_a_head_request_gets_the_head_of_the_page_and_no_body() -> None:
    async with WebFarm(SITES) as farm:
        answer = await ask(farm.port, "a.test", method="HEAD")

    assert b"\r\nContent-Length: 1\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


async def test_sites_can_change_while_the_farm_runs() -> None:
    async with WebFarm(SITES) as farm:
        del farm.sites["a.test"]
        gone = await ask(farm.port, "a.test")
        farm.sites["a.test"] = {"/": page("back")}
        back = await ask(farm.port, "a.test")

    assert gone.startswith(b"HTTP/1.1 421 ")
    assert back.endswith(b"back")


async def test_a_farm_has_one_port_on_each_of_its_addresses() -> None:
    async with WebFarm(SITES, addresses=("127.0.0.1", "127.0.0.2")) as farm:
        for address in ("127.0.0.1", "127.0.0.2"):
            async with call(farm.port, address=address) as caller:
                await caller.ask("a.test")

                assert (await caller.answer())[1] == b"a"


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="this machine has no IPv6")
async def test_a_farm_can_live_on_ipv6() -> None:
    async with WebFarm(SITES, addresses=("::1",)) as farm, call(farm.port, address="::1") as caller:
        await caller.ask("a.test")
        await caller.answer()

        assert farm.log[0].peer.startswith("[::1]:")


async def test_a_farm_is_never_seen_from_outside() -> None:
    with pytest.raises(ValueError, match="not a loopback address"):
        async with WebFarm(SITES, addresses=("0.0.0.0",)):  # noqa: S104  that it is refused is the point
            pass


async def test_urls_name_the_port_and_https_needs_certificates() -> None:
    async with WebFarm(SITES) as farm:
        assert farm.url("a.test", "/x") == f"http://a.test:{farm.port}/x"
        with pytest.raises(ValueError, match="no certificates"):
            farm.url("a.test", tls=True)


class Broken(Instant, frozen=True):
    def reply(self, asked: Asked, place: Place) -> Reply:
        raise LookupError(f"{asked.target} at {place.port}")


class Indirect(Choice, frozen=True):
    def choose(self, asked: Asked, nth: int) -> Instant:  # noqa: ARG002  it is broken whoever asks
        return Broken()


@pytest.mark.parametrize("behaviour", [Broken(), Indirect(), slow_first_byte(0, Broken())])
async def test_a_bug_in_a_behaviour_is_raised_when_the_farm_closes(behaviour: Instant) -> None:
    with pytest.RaisesGroup(LookupError):
        async with WebFarm({"a.test": {"/": behaviour}}) as farm, call(farm.port) as caller:
            await caller.ask("a.test")
            assert await caller.rest() == b""


def open_sockets() -> set[str]:
    """The sockets of this process, by the kernel's own numbers."""
    names = {str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()}
    return {name for name in names if name.startswith("socket:")}


async def test_nothing_is_left_of_a_closed_farm() -> None:
    sites = {"a.test": {"/": page("a"), "/hang": hang(), "/endless": endless_body()}}
    certificates = Certificates(good=sites)
    trust = certificates.client_context()
    before = open_sockets()
    tasks = asyncio.all_tasks()

    async with WebFarm(sites, certificates=certificates) as farm:
        idle, hanging, endless, halfway = [await asyncio.open_connection("127.0.0.1", farm.port) for _ in range(4)]
        mute = await asyncio.open_connection("127.0.0.1", farm.tls_port)
        secure = await asyncio.open_connection("127.0.0.1", farm.tls_port, ssl=trust, server_hostname="a.test")
        hanging[1].write(b"GET /hang HTTP/1.1\r\nHost: a.test\r\n\r\n")
        endless[1].write(b"GET /endless HTTP/1.1\r\nHost: a.test\r\n\r\n")
        secure[1].write(b"GET /hang HTTP/1.1\r\nHost: a.test\r\n\r\n")
        halfway[1].write(b"GET / HT")
        async with asyncio.timeout(30):
            await farm.until(lambda: farm.requests == 3 and farm.connections.open == 6)
    farm_tasks = asyncio.all_tasks() - tasks
    for _, writer in (idle, hanging, endless, halfway, mute, secure):
        writer.transport.abort()
    for _, writer in (idle, hanging, endless, halfway, mute, secure):
        try:
            await writer.wait_closed()
        except OSError:
            continue  # how the farm hung up is not the question

    assert farm.connections.open == 0
    assert farm_tasks == set()
    assert open_sockets() == before
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", farm.port)


def test_a_farm_runs_on_uvloop_too() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def visit() -> tuple[bytes, str]:
        certificates = Certificates()
        async with WebFarm({"a.test": {"/": page("a"), "/cut": reset("half")}}, certificates=certificates) as farm:
            with pytest.raises(ConnectionResetError):
                await ask(farm.port, "a.test", "/cut")
            async with call(farm.tls_port, context=certificates.client_context(), name="a.test") as caller:
                await caller.ask("a.test")
                return (await caller.answer())[1], type(asyncio.get_running_loop()).__module__

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        body, loop = runner.run(visit())

    assert body == b"a"
    assert loop.startswith("uvloop")
