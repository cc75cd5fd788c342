"""Many sites of plain pages on loopback, as cheap as Python can serve them: what a crawl costs is to be seen beside it.

Every page has about 35 KB and 50 links: 40 to its own site, 10 to others. Page n of a site is `/p/n`; it links to its
five children in a tree that holds every page, and otherwise to pages that one who crawls in the order of the tree has
met. So nine of ten links are known. Pages of one number have the same links on every site, and are made once; what
differs is the title and the links to others, so that no two pages are the same bytes. There is no robots.txt.

    .venv/bin/python bench/crawl_server.py SITES PAGES [--tls FOLDER]

says its port on the standard output and serves until SIGTERM. `PAGES` are those of each site.
"""

import argparse
import asyncio
import signal
import ssl
import sys
from functools import lru_cache
from pathlib import Path
from typing import Final, cast

import trustme
import uvloop

from outrider.testing.webfarm.generated import prose

ADDRESS: Final = "127.0.0.1"
SIZE: Final = 35_000
FAN: Final = 5
INWARD: Final = 40
OUTWARD: Final = 10

_LINE: Final = 80
_WORDS: Final = prose(SIZE)
_PROSE: Final = b"\n".join(b"<p>" + _WORDS[at : at + _LINE] for at in range(0, len(_WORDS), _LINE))
"""Compresses as prose does, and has a tag every so often: some 500 a page, with those around the links."""
_MISSING: Final = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nnone"


def host_of(site: int) -> str:
    return f"site-{site}.test"


def known_of(page: int) -> list[int]:
    """Pages that were linked from somewhere before page `page` is reached, drawn without luck."""
    met = page * FAN + 1
    return [(page * 2_654_435_761 + turn * 40_503) % met for turn in range(INWARD - FAN)]


class Web:
    """Answers as bytes. Built while it is asked, and kept."""

    def __init__(self, sites: int, pages: int, start: str) -> None:
        self._sites = sites
        self._pages = pages
        self._start = start
        self._by_host = {host_of(site).encode(): site for site in range(sites)}
        self._inward = lru_cache(maxsize=None)(self._made_inward)
        self._outward = lru_cache(maxsize=None)(self._made_outward)

    def answer(self, target: bytes, host: bytes) -> bytes:
        site = self._by_host.get(host)
        if site is None or not (target == b"/" or target.startswith(b"/p/")):
            return _MISSING
        page = 0 if target == b"/" else int(target[3:])
        if page >= self._pages:
            return _MISSING
        inward = self._inward(page)
        outward = self._outward((site * 31 + page) % self._sites)
        title = b"<!doctype html><html><head><title>Page %d of %b</title></head><body><ul>\n" % (page, host)
        rest = SIZE - len(title) - len(inward) - len(outward)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n" % SIZE
        return b"".join((head, title, inward, outward, _PROSE[page % 4096 : page % 4096 + rest]))

    def _made_inward(self, page: int) -> bytes:
        """Links inside a site need no host, so they are the same on all of them."""
        children = [page * FAN + turn for turn in range(1, FAN + 1)]
        wanted = [child for child in children if child < self._pages] + known_of(page)
        return b"".join(b'<li><a href="/p/%d">a page</a>\n' % number for number in wanted)

    def _made_outward(self, mixed: int) -> bytes:
        """To the first pages of others: those are seeds."""
        others = [(mixed * 7 + turn * 13) % self._sites for turn in range(OUTWARD)]
        return "".join(f'<li><a href="{self._start % host_of(other)}">a site</a>\n' for other in others).encode()


class Connection(asyncio.Protocol):
    """GET without a body, connections kept; requests may come in one piece or in many."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._transport: asyncio.Transport | None = None
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._transport is None:
            return
        *requests, self._buffer = (self._buffer + data).split(b"\r\n\r\n")
        for request in requests:
            target = request[4 : request.index(b" ", 4)]
            at = request.lower().index(b"\r\nhost: ") + 8
            host = request[at:].partition(b"\r\n")[0].partition(b":")[0]
            self._transport.write(self._web.answer(target, host))


async def serve(sites: int, pages: int, tls: Path | None) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    webs: list[Web] = []
    server = await loop.create_server(
        lambda: Connection(webs[0]), ADDRESS, 0, ssl=None if tls is None else _context(sites, tls), backlog=4096
    )
    port = server.sockets[0].getsockname()[1]
    webs.append(Web(sites, pages, f"{'http' if tls is None else 'https'}://%s:{port}/"))
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await ended.wait()
    server.close()


def _context(sites: int, folder: Path) -> ssl.SSLContext:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # One certificate for all of them; a wildcard directly below a public suffix is believed by nobody.
    authority.issue_cert(*map(host_of, range(sites))).configure_cert(context)
    context.num_tickets = 0
    return context


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve plain pages of many sites on loopback.")
    parser.add_argument("sites", type=int)
    parser.add_argument("pages", type=int, help="of each site")
    parser.add_argument("--tls", type=Path, metavar="FOLDER", help="https alone; ca.pem is written there")
    given = parser.parse_args()
    uvloop.run(serve(given.sites, given.pages, given.tls))


if __name__ == "__main__":
    main()
