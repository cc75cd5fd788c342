"""The demo at work: the web in a process of its own, the crawl beside it, and the referee's word at the end."""

import json
import sys
from collections.abc import Sequence
from typing import Final

import typer
from msgspec import Struct
from msgspec.structs import asdict

from outrider.app.directory import CrawlDirectory
from outrider.cli.crawl_run import code_of_end, crawl_and_watch, files_of
from outrider.cli.saying import say
from outrider.loop import run
from outrider.model.progress import Progress
from outrider.model.url import Url
from outrider.observe.plain import Display, display_on
from outrider.observe.summary import summary_document, summary_lines
from outrider.settings import Settings, settings_of
from outrider.testing.webfarm.world import SWIFT, demo
from outrider.testing.webfarm.world_judge import Judge
from outrider.testing.webfarm.world_server import Served, served

_PACE: Final[dict[str, object]] = {
    **SWIFT,
    "delay": 0.1,
    "concurrency": 40,
    "max_visits": 2,
    "network_retries": 0,
    "timeout": 4.0,
    "first_byte_timeout": 2.5,
    "idle_timeout": 2.0,
    "give_up_after": 6.0,
    "give_up_probes": 4,
    "contact": "https://localhost/outrider-demo",
    "allow_private": ["127.0.0.0/8"],
    "workers": 2,
}
"""The demo's own politeness: a second attempt for everything, and short waits, because nobody can be harmed.

Time-outs are longer than a machine with other work on its hands takes to answer itself: a page that came too late
would be fetched again, and the referee would see it.
"""

_SLACK: Final = 0.05
"""What a request may be late on its way here, in seconds: the referee sees arrivals, the crawl spaces departures."""


class Verdict(Struct, frozen=True):
    """What the web's own log says. All but the first should be 0."""

    requests: int
    disallowed: int
    gaps_shortened: int
    fetched_twice: int

    @property
    def is_polite(self) -> bool:
        return not (self.disallowed or self.gaps_shortened or self.fetched_twice)


def run_demo(home: CrawlDirectory, seed: int, steps: Sequence[str], *, as_json: bool) -> int:
    with display_on(sys.stderr) as display:
        last, settings, verdict = run(_crawl(home, seed, display))
    files = files_of(settings, home)
    if as_json:
        typer.echo(
            json.dumps(
                summary_document(last, files, steps) | {"referee": asdict(verdict) | {"polite": verdict.is_polite}}
            )
        )
    else:
        for line in summary_lines(last, files, steps):
            # The referee's word stands where the eye is: before what to do next.
            typer.echo("\n".join([*_told(verdict), "", line]) if line == "Next" else line)
    return code_of_end(last)


async def _crawl(home: CrawlDirectory, seed: int, display: Display) -> tuple[Progress, Settings, Verdict]:
    world = demo(seed)
    say(f"serving a made-up web of {world.sites} sites on this machine, and crawling it")
    async with served(world, log=home.logs / "webfarm.jsonl") as web:
        settings = settings_of(**_PACE, hosts=web.hosts, allow_ports=[web.port])
        last = await crawl_and_watch(settings, list(map(Url, web.seeds)), home, display)
        return last, settings, _judged(web, settings)


def _judged(web: Served, settings: Settings) -> Verdict:
    log = web.log()
    judge = Judge(web.world, log)
    return Verdict(
        requests=len(log),
        disallowed=len(judge.disallowed_requests()),
        gaps_shortened=len(judge.gaps(settings.delay, slack=_SLACK)),
        fetched_twice=len(judge.fetched_more_than_once(web.truth(), web.place)),
    )


def _told(verdict: Verdict) -> list[str]:
    counts = (
        ("requests", verdict.requests, "seen by the web"),
        ("disallowed", verdict.disallowed, "requests for what robots.txt forbids"),
        ("too soon", verdict.gaps_shortened, "requests before a site's pause was over"),
        ("repeated", verdict.fetched_twice, "pages fetched more often than needed"),
    )
    end = "provably polite" if verdict.is_polite else "it objects, which is worth a report of yours"
    return [f"Referee: {end}", *(f"  {name:<11} {count:>11,}  {meaning}" for name, count, meaning in counts)]
