"""A web that is stored nowhere: the same every time, and its truth known without a crawl."""

import re
from collections import deque

import pytest

from outrider.testing.webfarm import Place, WebFarm, farm_of, generated, reachable, text
from outrider.testing.webfarm.caller import ask, call
from outrider.testing.webfarm.generated import number_of, path_of

LINK = re.compile(rb'href="([^"]+)"')


async def test_a_generated_page_has_its_size_and_its_links_and_is_always_the_same() -> None:
    site = generated(pages=10_000, links=20, size=8_000, seed=3)
    async with WebFarm({"big.test": site}) as farm:
        first = await ask(farm.port, "big.test", "/p/77")
        second = await ask(farm.port, "big.test", "/p/77")
        other = await ask(farm.port, "big.test", "/p/78")
        beyond = await ask(farm.port, "big.test", "/p/10000")

    body = first.partition(b"\r\n\r\n")[2]
    assert first == second
    assert first != other
    assert len(body) == 8_000
    assert len(LINK.findall(body)) == 20
    assert all((number_of(link.decode()) or 0) < 10_000 for link in LINK.findall(body))
    assert beyond.startswith(b"HTTP/1.1 404 ")


async def test_a_generated_page_knows_its_validator() -> None:
    async with WebFarm({"big.test": generated(pages=5, links=3, seed=9)}) as farm:
        answer = await ask(farm.port, "big.test", "/p/4", headers={"If-None-Match": '"9-4"'})

    assert answer.startswith(b"HTTP/1.1 304 ")


async def test_extra_paths_come_before_the_generated_ones() -> None:
    async with WebFarm({"big.test": generated(extra={"/robots.txt": text("hi"), "/p/1": text("own")})}) as farm:
        robots = await ask(farm.port, "big.test", "/robots.txt")
        own = await ask(farm.port, "big.test", "/p/1")

    assert robots.endswith(b"hi")
    assert own.endswith(b"own")


@pytest.mark.parametrize(
    "path", ["/p/0", "/p/01", "/p/", "/p/x", "/p/-1", "/p/٣", "/p/1/", "/q/1", "12", "/p/" + "9" * 5000]
)
def test_a_page_has_one_spelling(path: str) -> None:
    assert number_of(path) is None
    assert number_of(path_of(0)) == 0
    assert number_of(path_of(12)) == 12


@pytest.mark.parametrize(("sites", "outward"), [(1, 2), (4, 1), (9, 2), (3, 0)])
async def test_what_is_reachable_is_what_a_crawl_over_the_wire_finds(sites: int, outward: int) -> None:
    web = farm_of(sites, pages_each=30, links=8, size=500, outward=outward)
    async with WebFarm(web) as farm, call(farm.port) as caller:
        found = {farm.url("site0.test")}
        queue = deque(found)
        while queue:
            url = queue.popleft()
            host, slash, path = url.removeprefix("http://").partition("/")
            await caller.ask(host, slash + path)
            head, body = await caller.answer()
            links = {link.decode() for link in LINK.findall(body)}
            new = {f"http://{host}{link}" if link.startswith("/") else link for link in links} - found
            found |= new
            queue.extend(new)

            assert head.startswith(b"HTTP/1.1 200 ")

        truth = list(reachable(web, ["site0.test"], farm.place))

    assert found == set(truth)
    assert len(truth) == len(found) == 30 * (sites if outward else 1)


def test_the_truth_of_a_huge_web_can_be_listed_without_storing_it() -> None:
    web = {"huge.test": generated(pages=10**12)}

    first = next(reachable(web, ["huge.test"], Place(("127.0.0.1",), 80)))

    assert first == "http://huge.test:80/"
    assert web["huge.test"].get("/p/999999999999") is not None
    assert web["huge.test"].get("/p/1000000000000") is None


def test_a_site_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="two links"):
        generated(pages=10, links=3, outward=2)
