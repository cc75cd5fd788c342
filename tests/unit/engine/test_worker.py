"""One process's share of a crawl: lease sites, serve them, extend what takes long, until nothing is owed."""

from tests.unit.engine.crawling import ROOT, Scene, linking

from outrider.model.ledger import State


async def test_a_crawl_follows_its_links_and_ends() -> None:
    scene = Scene({f"{ROOT}/": linking("/a", "/b"), f"{ROOT}/a": linking("/b"), f"{ROOT}/b": linking("/")})

    await scene.crawl()

    census = await scene.memory.census()
    assert (census.fetched, census.discovered, census.leased) == (3, 3, 0)
    assert scene.asked == ["GET /robots.txt", "GET /", "GET /a", "GET /b"]
    assert (await scene.entry(f"{ROOT}/a")).state is State.FETCHED
