"""What was asked for, and what was reached: a line for each goal, from the figures of one run of `scripts/bench`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from crawl import Figures
from growth import MARKS, Found, Growth, by_spell, growth, side_by_side
from msgspec import Struct, json

MIB: Final = 1_048_576
FLAT: Final = 1.1
"""Memory that grows by less than a tenth after the first minute counts as flat. Half minutes are compared by their
medians: what waits while the disk stalls is a peak of some seconds, which may fall anywhere.
"""


class Alone(Struct, frozen=True):
    """What Outrider showed without the others: whole crawls, one that grows, and CPU of reading a page, in µs."""

    crawls: list[Figures]
    growth: Found
    whole_way: float


class Goal(Struct, frozen=True):
    wanted: str
    reached: str
    is_met: bool


Ratio = Callable[[str, str], float | None]
"""Of a scenario and a peer; None when the peer was not there."""


def read_alone(folder: Path) -> Alone:
    crawls = [json.decode(line, type=Figures) for line in (folder / "crawl.jsonl").read_bytes().splitlines()]
    growth = json.decode((folder / "growth.json").read_bytes(), type=Found)
    reading = json.decode((folder / "extract.json").read_bytes(), type=dict[str, float])
    return Alone(crawls, growth, reading["whole_way"])


def goals(slower: Ratio, dearer: Ratio, alone: Alone) -> Iterator[Goal]:
    for wanted, ratio, scenario, peer, words in (
        (10.0, slower, "many sites", "Scrapy", "pages/s of Scrapy, many sites"),
        (6.0, slower, "many sites", "Crawlee", "pages/s of Crawlee, many sites"),
        (5.0, slower, "TLS", "Scrapy", "pages/s of Scrapy, TLS"),
        (1.0, dearer, "many sites", "Colly", "pages per second of CPU of Colly, many sites"),
    ):
        found = ratio(scenario, peer)
        if found is not None:
            yield Goal(f"at least {wanted:g} times the {words}", f"{found:.2f} times", found >= wanted)
    for rate, case, words in ((1_500, "plain", "plain"), (600, "new TLS", "a full TLS handshake for each")):
        mine = [one for one in alone.crawls if one.case.name == case]
        reached, possible = median(one.rate for one in mine), median(one.alone for one in mine)
        told = f"{reached:,.0f}; {possible:,.0f} if it had had both cores to itself"
        yield Goal(f"at least {rate:,} pages/s of 35 KB, {words}", told, reached >= rate)
    grown, young = side_by_side(alone.growth, MARKS[0])
    share = grown.rate / young.rate
    told = f"{share:.0%} of that of a young crawl in the same seconds; by CPU a page {young.cpu / grown.cpu:.0%}"
    yield Goal("at a million known URLs 85 % of the rate at 10,000", told, share >= 0.85)
    spells = by_spell(alone.growth)
    begin, *later = spells[2:] or spells[-1:]
    most = max(later, default=begin)
    told = f"{begin / MIB:,.0f} MiB in the half minute after it, at most {most / MIB:,.0f} MiB in a later one"
    yield Goal("memory flat after the first minute", told, most <= begin * FLAT)
    told = f"{alone.whole_way:.0f} µs at best"
    yield Goal("at most 350 µs of CPU for the links of an article, all the way", told, alone.whole_way <= 350)


def goal_table(found: Iterable[Goal]) -> list[str]:
    rows = [f"| {goal.wanted} | {goal.reached} | {'yes' if goal.is_met else '**no**'} |" for goal in found]
    return ["## Goals", "", "| goal | reached | met |", "|---|---|---|", *rows, ""]


def growth_table(found: Found) -> list[str]:
    def line(name: str, row: Growth) -> str:
        return f"| {name}{row.known:,} | {row.rate:,.0f} | {row.cpu * 1e6:,.0f} | {row.memory / MIB:,.0f} MiB |"

    grown, young = side_by_side(found, MARKS[0])
    head = "| URLs known | pages/s | CPU a page, µs | memory of all processes, at most |"
    rows = [line("", row) for row in growth(found.grown, MARKS)]
    both = [line("side by side, the grown one: ", grown), line("side by side, the young one: ", young)]
    return ["## A crawl that grows", "", head, "|---:|---:|---:|---:|", *rows, *both, ""]


def crawl_table(crawls: Sequence[Figures]) -> list[str]:
    lines = ["## Whole crawls of 400 sites", "", "| | pages/s | of both cores | CPU a page, µs | server, µs |"]
    lines += ["|---|---:|---:|---:|---:|"]
    for name in dict.fromkeys(one.case.name for one in crawls):
        mine = [one for one in crawls if one.case.name == name]
        rate, had = median(one.rate for one in mine), median(one.rate / one.alone for one in mine)
        cpu, server = median(one.crawl for one in mine), median(one.server for one in mine)
        spread = f"{min(one.rate for one in mine):,.0f} to {max(one.rate for one in mine):,.0f}"
        lines.append(f"| {name} | {rate:,.0f} ({spread}) | {had:.0%} | {cpu * 1e6:,.0f} | {server * 1e6:,.0f} |")
    return [*lines, ""]
