"""What does one visit cost? CPU of this process for each request: the bare library, our transport, the whole visit.

    .venv/bin/python bench/visit.py [--quick]

- *bare*: libcurl's multi interface on uvloop with as little Python as it takes: address pinned, body as sent.
- *transport*: `CurlTransport`, with the resolver and the guard in front.
- *no records*: `Visitor` alone (robots.txt known, pace, decode, hash, character set).
- *visit*: the same with the page record and the evidence.

They take turns over the same URLs, and each round gives one ratio, so that a busy machine slows all of them alike.
The server has the other core. Goal: a whole visit costs at most 1.35 of what the bare library costs.
"""

import argparse
import asyncio
import gc
import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.metadata import version
from platform import python_version
from statistics import median
from time import process_time
from typing import Any, Final

import msgspec
import pycurl
import uvloop
from page_server import CASES, HOSTS, PAGE, Case, Server, address_of, open_server

from outrider.app import open_transport, open_visits, pace_limits
from outrider.clock import SystemClock
from outrider.fetch.evidence import evidence, page_record
from outrider.fetch.hold import Hold
from outrider.model.outcome import Fetched
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.pace import fresh_pace
from outrider.ports import Request
from outrider.settings import Settings, settings_of

GOAL: Final = 1.35
AGENT: Final = "Outrider-bench/1 (+https://example.org/bot)"

Fetch = Callable[[Url], Awaitable[int]]
"""One request; returns the length of the body."""


class Bare:
    """The least that fetches many pages at once with libcurl: no limits but one timeout, no errors told apart."""

    def __init__(self, ca_file: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._ca_file = ca_file
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, 1_000)
        self._idle: list[tuple[Any, list[bytes], list[bytes]]] = []
        self._ended: dict[Any, asyncio.Future[None]] = {}
        self._timer: asyncio.Handle | None = None
        self._pins = {host: [f"::{address_of(host)}:"] for host in HOSTS}

    async def fetch(self, url: Url) -> int:
        easy, lines, chunks = line = self._idle.pop() if self._idle else self._line()
        easy.setopt(pycurl.URL, url)
        easy.setopt(pycurl.CONNECT_TO, self._pins[url.host])
        self._ended[easy] = ended = self._loop.create_future()
        self._multi.add_handle(easy)
        await ended
        if easy.getinfo(pycurl.RESPONSE_CODE) != 200:
            raise RuntimeError(f"{url}: {lines}")
        body = b"".join(chunks)
        lines.clear()
        chunks.clear()
        self._idle.append(line)
        return len(body)

    def close(self) -> None:
        for easy, _, _ in self._idle:
            easy.close()
        self._multi.close()

    def _line(self) -> tuple[Any, list[bytes], list[bytes]]:
        easy, lines, chunks = pycurl.Curl(), list[bytes](), list[bytes]()
        for option, value in (
            (pycurl.NOSIGNAL, 1),
            (pycurl.HTTP_CONTENT_DECODING, 0),
            (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS),
            (pycurl.SSL_EC_CURVES, "X25519:P-256:P-384"),
            (pycurl.CAINFO, self._ca_file),
            (pycurl.TIMEOUT, 30),
            (pycurl.HTTPHEADER, [f"User-Agent: {AGENT}", "Accept-Encoding: gzip, deflate, br, zstd"]),
            (pycurl.HEADERFUNCTION, lines.append),
            (pycurl.WRITEFUNCTION, chunks.append),
        ):
            easy.setopt(option, value)
        return easy, lines, chunks

    def _act(self, fd: int, events: int) -> None:
        _, running = self._multi.socket_action(fd, events)
        if running == len(self._ended):
            return
        _, good, bad = self._multi.info_read()
        for easy in good:
            self._multi.remove_handle(easy)
            self._ended.pop(easy).set_result(None)
        for easy, number, message in bad:
            self._multi.remove_handle(easy)
            self._ended.pop(easy).set_exception(RuntimeError(f"{number}: {message}"))

    def _on_socket(self, event: int, fd: int, _multi: object, _data: object) -> None:
        if event & pycurl.POLL_IN and event != pycurl.POLL_REMOVE:
            self._loop.add_reader(fd, self._act, fd, pycurl.CSELECT_IN)
        else:
            self._loop.remove_reader(fd)
        if event & pycurl.POLL_OUT and event != pycurl.POLL_REMOVE:
            self._loop.add_writer(fd, self._act, fd, pycurl.CSELECT_OUT)
        else:
            self._loop.remove_writer(fd)

    def _on_timer(self, milliseconds: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if milliseconds == 0:
            self._timer = self._loop.call_soon(self._act, pycurl.SOCKET_TIMEOUT, 0)
        elif milliseconds > 0:
            self._timer = self._loop.call_later(milliseconds / 1000, self._act, pycurl.SOCKET_TIMEOUT, 0)


@asynccontextmanager
async def open_bare(server: Server, _settings: Settings) -> AsyncIterator[Fetch]:
    bare = Bare(server.ca_file)
    try:
        yield bare.fetch
    finally:
        bare.close()


def _hosts() -> dict[str, tuple[str, ...]]:
    return {host: (address_of(host),) for host in HOSTS}


@asynccontextmanager
async def open_ours(server: Server, settings: Settings) -> AsyncIterator[Fetch]:
    async with open_transport(settings, SystemClock(), hosts=_hosts(), ca_file=server.ca_file) as transport:

        async def fetch(url: Url) -> int:
            return len((await transport.request(Request(url))).body)

        yield fetch


@asynccontextmanager
async def open_whole(server: Server, settings: Settings, *, records: bool = True) -> AsyncIterator[Fetch]:
    pace = fresh_pace(pace_limits(settings))
    async with open_visits(settings, hosts=_hosts(), ca_file=server.ca_file) as visits:

        async def fetch(url: Url) -> int:
            hold = Hold(Site(url.host, pace=pace), visits.clock, visits.clock.now() + 300.0)
            haul = await visits.visitor.visit(Task(url), hold)
            is_kept = not records or (page_record(haul) is not None and evidence(haul, settings.agent_token))
            if not is_kept or not isinstance(haul.visit.outcome, Fetched):
                raise RuntimeError(f"{url}: {haul.visit.outcome}")
            return len(haul.content)

        yield fetch


CONTESTANTS: Final[dict[str, Callable[[Server, Settings], AbstractAsyncContextManager[Fetch]]]] = {
    "bare": open_bare,
    "transport": open_ours,
    "no records": partial(open_whole, records=False),
    "visit": open_whole,
}


class Figures(msgspec.Struct):
    """CPU seconds for each request, by contestant, one figure a round."""

    case: Case
    spent: dict[str, list[float]] = msgspec.field(default_factory=lambda: {name: [] for name in CONTESTANTS})

    def cost(self, name: str) -> float:
        return median(self.spent[name])

    def ratios(self, name: str) -> list[float]:
        return sorted(mine / bare for mine, bare in zip(self.spent[name], self.spent["bare"], strict=True))


async def measure(case: Case, server: Server, rounds: int, pages: int) -> Figures:
    """`rounds` in which each contestant, another one first each time, fetches `pages` pages of every host."""
    figures = Figures(case)
    settings = settings_of(
        user_agent=AGENT,
        contact="bench@example.org",
        delay=0,
        allow_private=["127.0.0.0/8"],
        allow_ports=sorted(server.ports.values()),
    )
    urls = [[Url(url) for url in of_host] for of_host in server.urls(case, pages)]
    async with AsyncExitStack() as stack:
        fetches = {name: await stack.enter_async_context(CONTESTANTS[name](server, settings)) for name in CONTESTANTS}
        for fetch in fetches.values():  # connections, handles, robots.txt, caches
            await _round(fetch, [of_host[:2] for of_host in urls])
        for number in range(rounds):
            names = list(CONTESTANTS)
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                gc.collect()
                before = process_time()
                await _round(fetches[name], urls)
                figures.spent[name].append((process_time() - before) / (len(HOSTS) * pages))
    return figures


async def _round(fetch: Fetch, urls: list[list[Url]]) -> None:
    """One page of a host after the other, all hosts at once: as many in flight as there are hosts."""

    async def walk(of_host: list[Url]) -> None:
        for url in of_host:
            if await fetch(url) != len(PAGE):
                raise RuntimeError(f"{url}: not the page")

    await asyncio.gather(*map(walk, urls))


def show(all_figures: list[Figures]) -> None:
    ours = [name for name in CONTESTANTS if name != "bare"]
    print(f"\n{'':10} {'µs of CPU a request':^43}   {'times bare: median (least to most)':^68}  goal")
    heads = " ".join(f"{name:>10}" for name in CONTESTANTS)
    print(f"{'':10} {heads}   {' '.join(f'{name:^22}' for name in ours)}  ≤ {GOAL}")
    for figures in all_figures:
        costs = " ".join(f"{figures.cost(name) * 1e6:10.0f}" for name in CONTESTANTS)
        spreads = "  ".join(_spread(figures.ratios(name)) for name in ours)
        met = "met" if median(figures.ratios("visit")) <= GOAL else "MISSED"
        print(f"{figures.case.name:10} {costs}   {spreads}  {met}", flush=True)


def show_floor(all_figures: list[Figures]) -> None:
    """What no visit can do without, however it is written: so much is left of the goal for everything else."""
    before = process_time()
    for _ in range(2_000):
        hashlib.sha256(PAGE).hexdigest()
    spent = (process_time() - before) / 2_000
    print(f"\nof each visit, the SHA-256 of the page alone: {spent * 1e6:.0f} µs")
    for figures in all_figures:
        without = (figures.cost("visit") - spent) / figures.cost("bare")
        room = figures.cost("bare") * (GOAL - 1) - spent
        print(f"{figures.case.name:10} without it: {without:.2f}; the goal leaves {room * 1e6:.0f} µs for all the rest")


def _spread(ratios: list[float]) -> str:
    return f"{median(ratios):5.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU of one visit: the bare library, our transport, the whole visit.")
    parser.add_argument("--quick", action="store_true", help="few rounds: a first look")
    parser.add_argument("--case", choices=[case.name for case in CASES], help="only this one")
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument(
        "--farm", action="store_true", help="the farm of the tests as the server, even if nginx is there"
    )
    given = parser.parse_args()
    rounds = given.rounds or (3 if given.quick else 9)
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(0, {cores[0]})
    cases = [case for case in CASES if given.case in {None, case.name}]
    with open_server(cores[1] if len(cores) > 1 else None, farm=given.farm) as server:
        print(f"server: {server.name}, on {'a core of its own' if len(cores) > 1 else 'the same core'}")
        print(f"{len(PAGE):,} bytes a page; {len(HOSTS)} hosts, one request each in flight; {rounds} rounds")
        print(f"{pycurl.version.partition(' zlib')[0]}, uvloop {version('uvloop')}, Python {python_version()}")
        found = [
            uvloop.run(measure(case, server, rounds, pages=8 if case.kept or not case.tls else 2)) for case in cases
        ]
    show(found)
    show_floor(found)


if __name__ == "__main__":
    main()
