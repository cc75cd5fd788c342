"""Was the crawl polite, and did it do what the truth says? Judged by the server's log and the crawler's ledger.

Times are those of arrival at the server. A crawler spaces the moments at which it *sends*, and a request that was held
up on its way makes the next one seem early by as much: that is what `slack` is for. It is 0 unless you say otherwise,
and should be far below the interval that is judged.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final

from msgspec import Struct

from outrider.model.ledger import State
from outrider.model.reason import Reason
from outrider.model.url import SiteBy, Url
from outrider.testing.webfarm.kinds import Place
from outrider.testing.webfarm.world import World
from outrider.testing.webfarm.world_log import Logged
from outrider.testing.webfarm.world_truth import Expected, Fate

ROBOTS: Final = "/robots.txt"
_ASKS_TO_WAIT: Final = frozenset({429, 503})


class Gap(Struct, frozen=True):
    """`later` came `waited` seconds after `earlier`, and `owed` is what it should have been."""

    site: str
    earlier: Logged
    later: Logged
    waited: float
    owed: float


class Difference(Struct, frozen=True):
    """What the ledger says of a URL is not what must be; no state: the URL is not in the ledger at all."""

    url: str
    expected: Expected | None
    state: State | None
    reason: Reason | None = None


class Judge:
    """Of one log of one world. Every verdict is a list of what was wrong: good crawls get empty ones."""

    def __init__(self, world: World, log: Iterable[Logged]) -> None:
        self._world = world
        self._log = sorted(log, key=lambda line: line.monotonic_at)

    def disallowed_requests(self) -> list[Logged]:
        """Requests for what robots.txt forbids: any method, and also after a redirect."""
        return [line for line in self._log if self._is_disallowed(line)]

    def unasked_robots(self) -> list[Logged]:
        """Requests to a host before its robots.txt was answered in any way that permits them (RFC 9309 2.3.1)."""
        permitted: set[tuple[str, bool]] = set()
        early: list[Logged] = []
        for line in self._log:
            origin = line.host, line.tls
            if line.target == ROBOTS:
                if 200 <= line.status < 500 and line.status != 429:
                    permitted.add(origin)
            elif origin not in permitted and line.method == "GET":
                # A HEAD may be the probe that asks whether a site is up again.
                early.append(line)
        return early

    def gaps(self, interval: float, *, site_by: SiteBy = "domain", slack: float = 0.0) -> list[Gap]:
        """Requests that came too soon after the one before them to the same site.

        Owed is the longest of `interval`, the Crawl-delay of a robots.txt that the site has sent, and what is left of
        a Retry-After.
        """
        found: list[Gap] = []
        for site, lines in self._by_site(site_by).items():
            delay, silent_until = interval, 0.0
            for earlier, later in pairwise(lines):
                delay = max(delay, self._crawl_delay(earlier))
                silent_until = max(silent_until, _silent_until(earlier))
                owed = max(delay, silent_until - earlier.monotonic_at)
                waited = later.monotonic_at - earlier.monotonic_at
                if waited + slack < owed:
                    found.append(Gap(site, earlier, later, waited, owed))
        return found

    def fetched_more_than_once(self, truth: Mapping[str, Expected], place: Place, *, more: int = 0) -> dict[str, int]:
        """URL → how often it was had with success, where that is more than must be.

        `more` is how often beyond that: a crawl that was killed may repeat the visits that were under way.
        """
        had = Counter(
            place.url(line.host, line.target, tls=line.tls)
            for line in self._log
            if line.method == "GET" and 200 <= line.status < 300 and line.target != ROBOTS
        )
        return {url: times for url, times in had.items() if times > more + _most_gets(truth.get(url))}

    def _by_site(self, site_by: SiteBy) -> dict[str, list[Logged]]:
        lines: defaultdict[str, list[Logged]] = defaultdict(list)
        for line in self._log:
            lines[Url(f"http://{line.host}/").site(site_by)].append(line)
        return lines

    def _is_disallowed(self, line: Logged) -> bool:
        site = self._world.site(line.host)
        return site is not None and site.is_disallowed(line.target)

    def _crawl_delay(self, line: Logged) -> float:
        if line.target != ROBOTS or line.status != 200:
            return 0.0
        site = self._world.site(line.host)
        return site.crawl_delay if site is not None else 0.0


def differences(truth: Mapping[str, Expected], ledger: Iterable[tuple[str, State, Reason | None]]) -> list[Difference]:
    """Where the ledger of a finished crawl is not the truth: wrong ends, URLs that are missing, URLs nobody named."""
    seen = {url: (state, reason) for url, state, reason in ledger}
    wrong = [
        Difference(url, truth.get(url), state, reason)
        for url, (state, reason) in seen.items()
        if (expected := truth.get(url)) is None or not expected.allows(state, reason)
    ]
    missing = (url for url, expected in truth.items() if url not in seen and expected.state is not Fate.HOP)
    return wrong + [Difference(url, truth[url], None) for url in missing]


def _most_gets(expected: Expected | None) -> int:
    return 1 if expected is None else max(1, expected.gets)


def _silent_until(line: Logged) -> float:
    if line.status not in _ASKS_TO_WAIT or line.retry_after is None:
        return 0.0
    return line.monotonic_at + line.retry_after
