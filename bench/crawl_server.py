"""Many sites of plain pages on loopback, as cheap as Python can serve them: what a crawl costs is to be seen beside it.

Every page has about 35 KB and 50 links to different pages: 40 to its own site, 10 to others. Page n of a site is
`/p/n`; it links to its five children in a tree that holds every page, and otherwise to pages that one who crawls in the
order of the tree has met. So nine of ten links are known. The first pages have not met so many of their own site, and
link to more of the others: no page is lighter than another. Pages of one number have the same links on every site, and
are made once; what differs is the title and the links to others, so that no two pages are the same bytes. There is no
robots.txt.

    .venv/bin/python bench/crawl_server.py SITES PAGES [--tls FOLDER] [--addresses] [--size BYTES] [--close]
        [--behind PORT]

says its port on the standard output and serves until SIGTERM. `PAGES` are those of each site. With `--addresses` a site
is an address of loopback in place of a name, for those who have to resolve it; with `--close` it is one request a
connection. `--behind`: somebody else speaks TLS for it, at that port of every site.
"""

import argparse
import asyncio
import signal
import ssl
import sys
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from math import gcd
from pathlib import Path
from typing import Final, cast

import trustme
import uvloop
from msgspec import Struct

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


def address_of(site: int) -> str:
    """A site that everybody finds without a name server."""
    return f"127.77.{site // 250}.{site % 250 + 1}"


def known_of(page: int, pages: int) -> list[int]:
    """Different pages that were linked from somewhere before page `page` is reached, drawn without luck."""
    met = min(page * FAN + 1, pages)
    stride = next(step for step in count(met * 5 // 8 + 1) if gcd(step, met) == 1)
    return [(page * 2_654_435_761 + turn * stride) % met for turn in range(min(INWARD - FAN, met))]


class Web:
    """Answers as bytes. Built while it is asked, and kept."""

    def __init__(self, hosts: Sequence[str], pages: int, start: str, size: int = SIZE, *, closes: bool = False) -> None:
        self._hosts = hosts
        self._sites = len(hosts)
        self._pages = pages
        self._start = start
        self._size = size
        self._prose = _PROSE * (size // len(_PROSE) + 1)
        self._keeping = b"Connection: close\r\n" if closes else b""
        self._by_host = {host.encode(): site for site, host in enumerate(hosts)}
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
        missing = max(INWARD - FAN - (page * FAN + 1), 0)
        outward = self._outward((site * 31 + page) % self._sites, OUTWARD + missing)
        title = b"<!doctype html><html><head><title>Page %d of %b</title></head><body><ul>\n" % (page, host)
        rest = self._size - len(title) - len(inward) - len(outward)
        prose = self._prose[page % 4096 : page % 4096 + rest]
        length = len(title) + len(inward) + len(outward) + len(prose)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n%b\r\n"
        return b"".join((head % (length, self._keeping), title, inward, outward, prose))

    def _made_inward(self, page: int) -> bytes:
        """Links inside a site need no host, so they are the same on all of them."""
        children = [page * FAN + turn for turn in range(1, FAN + 1)]
        wanted = [child for child in children if child < self._pages] + known_of(page, self._pages)
        return b"".join(b'<li><a href="/p/%d">a page</a>\n' % number for number in wanted)

    def _made_outward(self, mixed: int, number: int) -> bytes:
        """To the first pages of others: those are seeds."""
        others = [(mixed * 7 + turn * 13) % self._sites for turn in range(number)]
        return "".join(f'<li><a href="{self._start % self._hosts[other]}">a site</a>\n' for other in others).encode()


class Connection(asyncio.Protocol):
    """GET without a body, connections kept; requests may come in one piece or in many."""

    def __init__(self, web: Web, *, closes: bool) -> None:
        self._web = web
        self._closes = closes
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
            if self._closes:
                self._transport.close()
                return


class Plan(Struct, frozen=True):
    """What is to be served."""

    sites: int
    pages: int
    tls: Path | None = None
    addresses: bool = False
    size: int = SIZE
    closes: bool = False
    behind: int | None = None


async def serve(plan: Plan) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    hosts = [(address_of if plan.addresses else host_of)(site) for site in range(plan.sites)]
    webs: list[Web] = []
    certificates = None if plan.tls is None else Certificates(plan.tls)
    listening: list[asyncio.Server] = []
    port = 0
    for address in hosts if plan.addresses and plan.behind is None else [ADDRESS]:
        context = None if certificates is None else certificates.of(address)
        server = await loop.create_server(
            lambda: Connection(webs[0], closes=plan.closes), address, port, ssl=context, backlog=4096
        )
        listening.append(server)
        port = server.sockets[0].getsockname()[1]
    is_plain = plan.tls is None and plan.behind is None
    start = f"{'http' if is_plain else 'https'}://%s:{plan.behind or port}/"
    webs.append(Web(hosts, plan.pages, start, plan.size, closes=plan.closes))
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await ended.wait()
    for server in listening:
        server.close()


class Certificates:
    """One for each host, as sites have: a certificate that names hundreds costs whoever reads it much more."""

    def __init__(self, folder: Path) -> None:
        self._authority = trustme.CA()
        self._authority.cert_pem.write_to_path(folder / "ca.pem")
        self._made: dict[str, ssl.SSLContext] = {}

    def of(self, host: str) -> ssl.SSLContext:
        """Whoever asks by another name than `host`, and says so, gets that one's."""
        if host not in self._made:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self._authority.issue_cert(host).configure_cert(context)
            context.num_tickets = 0
            context.sni_callback = self._chosen
            self._made[host] = context
        return self._made[host]

    def _chosen(self, connection: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
        if name is not None:
            connection.context = self.of(name)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve plain pages of many sites on loopback.")
    parser.add_argument("sites", type=int)
    parser.add_argument("pages", type=int, help="of each site")
    parser.add_argument("--tls", type=Path, metavar="FOLDER", help="https alone; ca.pem is written there")
    parser.add_argument("--addresses", action="store_true", help="a site is an address of loopback, not a name")
    parser.add_argument("--size", type=int, default=SIZE, help="bytes of a page")
    parser.add_argument("--close", action="store_true", dest="closes", help="one request a connection")
    parser.add_argument("--behind", type=int, metavar="PORT", help="somebody else speaks TLS there")
    uvloop.run(serve(Plan(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
