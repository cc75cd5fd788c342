"""A crawl that goes on for as long as somebody watches, and `outrider serve` beside it: both as a user starts them.

The web is small and of this process, so that a test can change it and read its log: `many.test` and `quiet.test` have
more pages than anybody fetches, `odd.test` has one of each oddity, `down.test` answers 503.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from outrider.app.directory import toml_of
from outrider.settings import settings_of
from outrider.testing.webfarm import Behaviour, WebFarm, chain, generated, loop, page, redirect, status, text
from outrider.testing.webfarm.kinds import Site
from outrider.testing.webfarm.world import SWIFT

PATIENCE: Final = 60.0
SCRIPT: Final = "<script>window.pwned = 1; alert('x')</script><img src=x onerror=alert(1)>\u202e"
"""As the title of a page: markup, and a character that turns the direction of writing."""
_BEATS: Final = 12

_ODDITIES: Final = ("/far", "/farther", "/round", "/lost", "/hopeless", "/titled", "/private", "/scripted", "/pic.zip")
_ASKED_FOR: Final = frozenset(_ODDITIES) - {"/private", "/pic.zip"}
_SETTINGS: Final[Mapping[str, object]] = {
    **SWIFT,
    "delay": 0.1,
    "max_visits": 1,
    "redirect_revisits": 0,
    "breaker_backoff": 300.0,
    "breaker_max_backoff": 600.0,
    "give_up_after": 3_600.0,
    "give_up_probes": 1_000,
    "workers": 1,
    "contact": "crew@example.org",
    "hosts": {"*.test": ["127.0.0.1"]},
    "allow_private": ["127.0.0.0/8"],
}


def oddities() -> dict[str, Behaviour]:
    return {
        "/": page("<title>Home</title>" + "".join(f"<a href='{link}'>{link}</a>" for link in _ODDITIES)),
        "/robots.txt": text("User-agent: *\nDisallow: /private\n"),
        "/titled": page(f"<title>{SCRIPT}</title>"),
        "/lost": status(404),
        "/hopeless": status(410),
        "/scripted": redirect(302, "javascript:alert(1)"),
        **loop("/round", 2),
        **chain("/far", 9),
        **chain("/farther", 9),
    }


class Web:
    """A farm in a thread of its own. Its log is written there, and only ever grows."""

    def __init__(self) -> None:
        self.odd = oddities()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._until = asyncio.Event()
        self._farm: WebFarm | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._until.set)
        self._thread.join(PATIENCE)

    @property
    def farm(self) -> WebFarm:
        assert self._farm is not None
        return self._farm

    def requests(self, host: str, target: str | None = None) -> int:
        return len(self.farm.asked(host, target))

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something to be true; what the farm was asked so far is told when it never is."""
        until = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < until, [(asked.host, asked.target) for asked in self.farm.log[-40:]]
            time.sleep(0.02)

    def is_silent(self, host: str) -> bool:
        """While others are asked a dozen times, is this one not asked at all?"""
        before, others = self.requests(host), self.requests("many.test")
        self.until(lambda: self.requests("many.test") >= others + _BEATS)
        return self.requests(host) == before

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        sites: dict[str, Site] = {
            "many.test": generated(100_000, 12, 3_000),
            "quiet.test": generated(100_000, 12, 3_000, seed=1),
            "odd.test": self.odd,
            "down.test": {"*": status(503)},
        }
        async with WebFarm(sites) as self._farm:
            self._ready.set()
            await self._until.wait()


class Watched(Struct, frozen=True):
    """`url` is the dashboard's, without a slash at the end."""

    url: str
    web: Web
    folder: Path

    def odd(self, path: str) -> str:
        return self.web.farm.url("odd.test", path)


@contextmanager
def watched(folder: Path) -> Iterator[Watched]:
    with ExitStack() as stack:
        web = stack.enter_context(Web())
        config = folder / "crawl.toml"
        config.write_text(toml_of(settings_of(**_SETTINGS, allow_ports=[web.farm.port])))
        seeds = [web.farm.url(host) for host in ("odd.test", "many.test", "quiet.test", "down.test")]
        where = folder / "crawl"
        stack.enter_context(running("crawl", *seeds, "-d", str(where), "--config", str(config), "--json"))
        # Whatever is odd has ended, and the two large sites have just begun.
        web.until(lambda: all(web.requests("odd.test", path) for path in _ASKED_FOR))
        serving = stack.enter_context(running("serve", str(where), "--listen", "127.0.0.1:0"))
        yield Watched(address_of(serving), web, where)


@contextmanager
def running(*command: str, folder: Path | None = None) -> Iterator["subprocess.Popen[str]"]:
    """In a group of its own, which is asked to end, and ended."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OUTRIDER_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "outrider", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        cwd=folder,
        env=environment,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def address_of(serving: "subprocess.Popen[str]") -> str:
    """Where it says that the dashboard is."""
    assert serving.stdout is not None
    line = serving.stdout.readline()
    found = next((word for word in line.split() if word.startswith("http://")), None)
    assert found is not None, line
    return found.rstrip("/")
