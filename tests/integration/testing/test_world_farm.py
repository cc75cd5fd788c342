"""A world on real sockets: samples of every kind behave as the description says."""

import asyncio
import gzip
import re
import zlib
from collections.abc import AsyncIterator

import brotli
import pytest
import zstandard
from msgspec.structs import replace

from outrider.model.url import Url
from outrider.testing.webfarm import Certificates
from outrider.testing.webfarm.caller import ask, call
from outrider.testing.webfarm.world import NOBODY, World, demo, small, vast, with_waits
from outrider.testing.webfarm.world_farm import WorldFarm
from outrider.testing.webfarm.world_log import Logged
from outrider.testing.webfarm.world_nodes import Page, Spot
from outrider.testing.webfarm.world_site import target_of

WORLD = demo(7)
LINK = re.compile(rb'<a href="([^"]+)"')
BASE = re.compile(rb'<base href="([^"]+)"')


@pytest.fixture
async def farm() -> AsyncIterator[WorldFarm]:
    async with WorldFarm(WORLD) as farm:
        yield farm


def host_with(target: str, world: World = WORLD) -> str:
    for host in world.hosts:
        site = world.site(host)
        if site is not None and site.node(target) is not None:
            return host
    raise AssertionError(f"nobody has {target}")


def host_called(name: str) -> str:
    return next(host for host in WORLD.hosts if host.startswith(name))


def body_of(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


async def test_a_page_on_the_wire_has_the_links_of_its_description(farm: WorldFarm) -> None:
    for number in range(40):
        site = WORLD.site(WORLD.host(number))
        assert site is not None
        for target in map(target_of, range(min(site.pages, 8))):
            node = site.node(target)
            assert isinstance(node, Page)

            body = body_of(await ask(farm.port, site.host, target))

            here = Url(farm.url(site.host, target))
            base = BASE.search(body)
            start = here.resolve(base[1].decode()) if base else here
            found = [start.resolve(link.decode()) for link in LINK.findall(body)]
            assert found == [farm.url(link.to.host, link.to.target) for link in node.links]
            assert len(body) >= node.size


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
async def test_a_page_is_encoded_for_those_who_accept_it(farm: WorldFarm, encoding: str) -> None:
    undo = {"gzip": gzip.decompress, "br": brotli.decompress, "zstd": zstandard.decompress}[encoding]
    spot = next(spot for spot, node in pages() if node.encoding == encoding)

    encoded = await ask(farm.port, spot.host, spot.target, headers={"Accept-Encoding": "gzip, br, zstd"})
    plain = await ask(farm.port, spot.host, spot.target)

    assert f"Content-Encoding: {encoding}".encode() in encoded
    assert b"Content-Encoding" not in plain
    assert undo(body_of(encoded)) == body_of(plain)


@pytest.mark.parametrize(
    ("validator", "sent", "asked_with"),
    [("etag", b"ETag: ", "If-None-Match"), ("date", b"Last-Modified: ", "If-Modified-Since")],
)
async def test_a_page_that_is_known_is_not_sent_again(
    farm: WorldFarm, validator: str, sent: bytes, asked_with: str
) -> None:
    spot = next(spot for spot, node in pages() if node.validator == validator)
    first = await ask(farm.port, spot.host, spot.target)
    known = first.partition(sent)[2].partition(b"\r\n")[0].decode()

    second = await ask(farm.port, spot.host, spot.target, headers={asked_with: known})

    assert status_of(second) == 304
    assert body_of(second) == b""


def pages() -> list[tuple[Spot, Page]]:
    found = []
    for host in WORLD.hosts:
        site = WORLD.site(host)
        assert site is not None
        found += [
            (Spot(host, target), node)
            for target in map(target_of, range(site.pages))
            if site.door is None and isinstance(node := site.node(target), Page)
        ]
    return found


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/r/301", 301),
        ("/r/308", 308),
        ("/r/far", 301),
        ("/c/nowhere", 302),
        ("/private/", 200),
        ("/missing", 404),
        ("/gone", 410),
        ("/no-content", 204),
        ("/blob", 200),
        ("/empty", 200),
        ("/error", 500),
        ("/echo/", 200),
        ("/calendar/39", 200),
        ("/sitemap.xml", 200),
        ("/feed.xml", 200),
    ],
)
async def test_each_kind_of_path_answers_as_described(farm: WorldFarm, target: str, status: int) -> None:
    answer = await ask(farm.port, host_with(target), target)

    assert status_of(answer) == status


async def test_a_redirect_to_another_site_names_it_with_its_port(farm: WorldFarm) -> None:
    host = host_with("/r/far")

    answer = await ask(farm.port, host, "/r/far")

    assert re.search(rb"Location: http://[a-z]+-\d+\.test:%d/\r\n" % farm.port, answer)


async def test_sitemaps_list_what_no_link_leads_to(farm: WorldFarm) -> None:
    host = host_with("/sitemap.xml")

    robots = await ask(farm.port, host, "/robots.txt")
    index = await ask(farm.port, host, "/sitemap.xml")
    zipped = body_of(await ask(farm.port, host, "/sitemap-two.xml.gz"))

    assert f"Sitemap: {farm.url(host, '/sitemap.xml')}\n".encode() in robots
    assert f"<loc>{farm.url(host, '/sitemap-two.xml.gz')}</loc>".encode() in index
    assert f"<loc>{farm.url(host, '/hidden/5')}</loc>".encode() in zlib.decompress(zipped, 31)


async def test_a_feed_is_announced_and_lists_its_news(farm: WorldFarm) -> None:
    host = host_with("/feed.xml")

    first = await ask(farm.port, host, "/")
    feed = await ask(farm.port, host, "/feed.xml")

    assert b'type="application/rss+xml" href="/feed.xml"' in first
    assert f"<link>{farm.url(host, '/news/3')}</link>".encode() in feed


async def test_a_huge_robots_txt_has_its_rule_at_the_top(farm: WorldFarm) -> None:
    body = body_of(await ask(farm.port, host_with("/closed"), "/robots.txt"))

    assert len(body) > 500_000
    assert b"User-agent: *\nDisallow: /closed\n" in body[:200]


async def test_a_busy_site_asks_for_a_pause_and_then_answers(farm: WorldFarm) -> None:
    host = host_called("busy-")

    robots = await ask(farm.port, host, "/robots.txt")
    first = await ask(farm.port, host, "/")
    second = await ask(farm.port, host, "/")

    assert status_of(robots) in {200, 404}
    assert status_of(first) == 429
    assert b"Retry-After: 1\r\n" in first
    assert status_of(second) == 200


async def test_an_outage_ends_after_some_requests(farm: WorldFarm) -> None:
    host = host_called("outage-")

    answers = [status_of(await ask(farm.port, host, "/")) for _ in range(6)]

    assert answers == [503, 503, 503, 503, 200, 200]


async def test_a_blackout_ends_after_some_time() -> None:
    host = host_called("blackout-")
    async with WorldFarm(with_waits(WORLD, 3600.0)) as dark, WorldFarm(with_waits(WORLD, 0.0)) as bright:
        with pytest.raises(ConnectionResetError):
            await ask(dark.port, host, "/")
        answer = await ask(bright.port, host, "/")

    assert status_of(answer) == 200


async def test_a_flaky_page_fails_once(farm: WorldFarm) -> None:
    host = host_called("flaky-")

    answers = [status_of(await ask(farm.port, host, "/flaky/1")) for _ in range(3)]

    assert answers == [503, 200, 200]


async def test_robots_txt_comes_late_or_never(farm: WorldFarm) -> None:
    late, never = host_called("late-robots-"), host_called("no-robots-")

    answers = [status_of(await ask(farm.port, late, "/robots.txt")) for _ in range(3)]

    assert answers == [503, 503, 200]
    assert status_of(await ask(farm.port, never, "/robots.txt")) == 500


async def test_a_dead_site_resets_and_a_refusing_one_is_not_there(farm: WorldFarm) -> None:
    with pytest.raises(ConnectionResetError):
        await ask(farm.port, host_called("dead-"), "/")
    with pytest.raises(ConnectionRefusedError):
        async with call(farm.port, address=NOBODY):
            pass


async def test_a_bomb_is_small_on_the_wire_and_large_behind_it(farm: WorldFarm) -> None:
    async with call(farm.port) as caller:
        await caller.ask(host_called("bombs-"), "/bomb")
        head, body = await caller.answer()

    assert b"Content-Encoding: gzip" in head
    assert len(body) < 200_000
    assert len(zlib.decompress(body, 31)) == 64 * 1_048_576


@pytest.mark.parametrize(("target", "fault"), [("/cut", b""), ("/garbage", b"HELO"), ("/broken_chunks", b"zz\r\n")])
async def test_a_liar_lies(farm: WorldFarm, target: str, fault: bytes) -> None:
    answer = await ask(farm.port, host_called("liar-"), target)

    assert fault in answer


async def test_an_endless_page_goes_on(farm: WorldFarm) -> None:
    async with call(farm.port) as caller:
        await caller.ask(host_called("endless-page-"), "/endless")
        await caller.head()

        assert len(await caller.read(1_000_000)) == 1_000_000


async def test_a_name_that_is_not_of_the_world_is_misdirected(farm: WorldFarm) -> None:
    assert status_of(await ask(farm.port, "elsewhere.test", "/")) == 421
    assert status_of(await ask(farm.port, WORLD.host(0), "/not-there")) == 404


async def test_every_request_is_told_with_what_was_said() -> None:
    log: list[Logged] = []
    async with WorldFarm(small(7), tell=log.append) as farm:
        await ask(farm.port, "busy-15.test", "/?a=b", "HEAD")
        await asyncio.gather(*(ask(farm.port, "busy-15.test", "/") for _ in range(2)))

    assert [(line.method, line.target, line.status, line.retry_after) for line in log] == [
        ("HEAD", "/?a=b", 429, 1.0),
        ("GET", "/", 200, None),
        ("GET", "/", 200, None),
    ]
    assert log[0].monotonic_at <= log[1].monotonic_at


async def test_a_world_speaks_tls_as_well() -> None:
    certificates = Certificates()
    async with (
        WorldFarm(small(7), certificates=certificates) as farm,
        call(farm.tls_port, context=certificates.client_context(), name="harvest-0.test") as caller,
    ):
        await caller.ask("harvest-0.test")
        _, body = await caller.answer()

    assert f'href="https://orchard-1.test:{farm.tls_port}/"'.encode() in body


async def test_a_page_of_a_vast_world_is_served_at_once() -> None:
    async with WorldFarm(vast(3)) as farm:
        answer = await ask(farm.port, vast(3).host(9_999), target_of(99))

    assert status_of(answer) == 200


async def test_a_world_that_remembers_is_served_by_one_process_only() -> None:
    with pytest.raises(ValueError, match="remembers"):
        WorldFarm(WORLD, shared=True)

    steady = replace(small(7), hostile_share=0.0)
    async with WorldFarm(steady, shared=True) as one, WorldFarm(steady, shared=True, port=one.port) as two:
        assert one.port == two.port
