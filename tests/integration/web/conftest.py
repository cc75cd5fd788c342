"""A small crawl that has really taken place, with something of every kind in it; and its dashboard."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from tests.integration.web.dashboards import Dashboard

import outrider
from outrider.testing.webfarm import WebFarm, chain, loop, page, status, text

TITLE: Final = "<script>alert('x')</script>"
LINKS: Final = ("/a", "/lost", "/broken", "/gone", "/loop", "/far", "/private", "/b.zip", "/titled")


class Crawled(NamedTuple):
    folder: Path
    origin: str


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """Nobody changes this one."""
    folder = tmp_path_factory.mktemp("web") / "crawl-site"

    async def crawl() -> str:
        site = {
            "/": page("<title>Home</title>" + "".join(f"<a href='{link}'>{link}</a>" for link in LINKS)),
            "/a": page("<title>a</title>"),
            "/titled": page("<title>&lt;script&gt;alert('x')&lt;/script&gt;</title>"),
            "/lost": status(404),
            "/broken": status(500),
            "/gone": status(410),
            "/robots.txt": text("User-agent: *\nDisallow: /private\n"),
            **loop("/loop", 2),
            **chain("/far", 9),
        }
        async with WebFarm({"site.test": site, "other.test": {"/": page("<title>Other</title>")}}) as farm:
            keys: dict[str, Any] = {
                "contact": "me@example.org",
                "scope": "host",
                "delay": 0.001,
                "retry_backoff": 0.01,
                "server_error_retries": 0,
                "max_visits": 1,
                "redirect_revisits": 0,
                "hosts": "*.test=127.0.0.1",
                "allow_private": "127.0.0.0/8",
                "allow_ports": [farm.port],
            }
            async for _ in outrider.crawl([farm.url("site.test"), farm.url("other.test")], directory=folder, **keys):
                pass
            return farm.url("site.test").rstrip("/")

    return Crawled(folder, asyncio.run(crawl()))


@pytest.fixture(scope="module")
def dashboard(crawled: Crawled) -> Iterator[Dashboard]:
    """To be looked at alone."""
    with Dashboard(crawled.folder) as running:
        yield running


@pytest.fixture
def own(crawled: Crawled, tmp_path: Path) -> Crawled:
    """A copy, for whoever changes something."""
    return Crawled(Path(shutil.copytree(crawled.folder, tmp_path / "crawl-site")), crawled.origin)
