"""What did the runs of `peers.py` show? RESULTS.md with its tables, a plot for each figure, and the ratios for --check.

    python bench/results.py FOLDER            writes bench/RESULTS.md, bench/images/*.png and bench/ratios.json
    python bench/results.py FOLDER --check    compares with bench/ratios.json instead; exit code 1 if one is worse

A ratio is how much more CPU a page costs a peer than Outrider in the same round; its spread is over the rounds. It is
the ratios that are compared from machine to machine, not the seconds.
"""

import argparse
import os
import platform
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from shutil import which
from statistics import median
from typing import Final

from goals import Alone, crawl_table, goal_table, goals, growth_table, read_alone
from growth import Moment
from msgspec import Struct, json
from peers import CONTESTANTS, Run
from serving import nginx

HERE: Final = Path(__file__).parent
MIB: Final = 1_048_576
OURS: Final = CONTESTANTS[0].name
TOLERANCE: Final = 0.8
"""A ratio may fall to this part of what is stored before it counts as a regression."""


class Row(Struct, frozen=True):
    """One contestant in one scenario, over all rounds. Ratios are lowest, median and highest."""

    scenario: str
    contestant: str
    pages: int
    rate: float
    cpu: float
    server: float
    memory: int
    slower: tuple[float, float, float]
    dearer: tuple[float, float, float]


def rows_of(runs: Iterable[Run]) -> list[Row]:
    by_scenario: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        by_scenario[run.scenario][run.contestant].append(run)
    rows = []
    for scenario, by_contestant in by_scenario.items():
        ours = by_contestant[OURS]
        for contestant, theirs in by_contestant.items():
            slower = [their.wall / our.wall for their, our in zip(theirs, ours, strict=True)]
            dearer = [their.cpu / our.cpu for their, our in zip(theirs, ours, strict=True)]
            rows.append(
                Row(
                    scenario,
                    contestant,
                    theirs[0].pages,
                    median(one.pages / one.wall for one in theirs),
                    median(one.cpu / one.pages for one in theirs),
                    median(one.server / one.pages for one in theirs),
                    max(one.memory for one in theirs),
                    (min(slower), median(slower), max(slower)),
                    (min(dearer), median(dearer), max(dearer)),
                )
            )
    return rows


def table(rows: Sequence[Row]) -> list[str]:
    """Markdown, a table for each scenario."""
    lines: list[str] = []
    for scenario in dict.fromkeys(row.scenario for row in rows):
        here = [row for row in rows if row.scenario == scenario]
        lines += [f"## {scenario}: {here[0].pages:,} pages", ""]
        lines += ["| | pages/s | slower by | CPU a page, µs | dearer by | largest process | server, µs |"]
        lines += ["|---|---:|---:|---:|---:|---:|---:|"]
        for row in here:
            lines.append(
                f"| {row.contestant} | {row.rate:,.0f} | {_spread(row.slower)} | {row.cpu * 1e6:,.0f} | "
                f"{_spread(row.dearer)} | {row.memory >> 20:,} MiB | {row.server * 1e6:,.0f} |"
            )
        lines.append("")
    return lines


def _spread(ratio: tuple[float, float, float]) -> str:
    lowest, middle, highest = ratio
    return "1" if lowest == highest == 1.0 else f"**{middle:.2f}** ({lowest:.2f} to {highest:.2f})"


def machine() -> list[str]:
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    facts = [f"{os.cpu_count()} cores ({cpu}), {memory} GiB, {platform.system()} {platform.release()}"]
    facts += [f"Python {platform.python_version()}", *versions()]
    return [f"- {fact}" for fact in facts]


def versions() -> list[str]:
    peers = Path(os.environ["BENCH_PEERS"])
    python = [str(peers / "bin/python"), "-c", "import crawlee, scrapy; print(scrapy.__version__, crawlee.__version__)"]
    scrapy, crawlee = subprocess.run(python, capture_output=True, text=True, check=True).stdout.split()  # noqa: S603
    colly = next(line for line in (HERE / "peers/colly/go.mod").read_text().splitlines() if "gocolly/colly" in line)
    found = [f"Scrapy {scrapy}, Crawlee {crawlee}, Colly {colly.split()[-1]}"]
    if wget := which("wget"):
        told = subprocess.run([wget, "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S603
        found.append(told.splitlines()[0])
    if front := nginx():
        told = subprocess.run([front, "-v"], capture_output=True, text=True, check=True).stderr  # noqa: S603
        found.append(f"{told.partition(':')[2].strip()}, for new TLS connections")
    return found


def plots(rows: Sequence[Row], moments: Sequence[Moment], folder: Path) -> list[Path]:
    import matplotlib as mpl  # noqa: PLC0415 - only here, and slow to import

    mpl.use("Agg")
    from matplotlib.figure import Figure  # noqa: PLC0415 - the same

    folder.mkdir(exist_ok=True)
    made = []
    figures: tuple[tuple[str, str, Callable[[Row], float]], ...] = (
        ("cpu", "CPU a page, µs: less is better", lambda row: row.cpu * 1e6),
        ("rate", "Pages a second: more is better", lambda row: row.rate),
    )
    for name, title, figure in figures:
        scenarios = list(dict.fromkeys(row.scenario for row in rows))
        contestants = list(dict.fromkeys(row.contestant for row in rows))
        drawing = Figure(figsize=(9, 4.5), layout="constrained")
        axes = drawing.subplots()
        width = 0.8 / len(contestants)
        for place, contestant in enumerate(contestants):
            values = {row.scenario: figure(row) for row in rows if row.contestant == contestant}
            at = [number + place * width for number, scenario in enumerate(scenarios) if scenario in values]
            axes.bar(at, [values[scenario] for scenario in scenarios if scenario in values], width, label=contestant)
        axes.set_xticks([number + 0.4 - width / 2 for number in range(len(scenarios))], scenarios)
        axes.set_yscale("log")
        axes.set_ylim(top=4 * axes.get_ylim()[1])  # room for who is who
        axes.set_title(title)
        axes.legend(ncols=3, fontsize="small")
        made.append(folder / f"{name}.png")
        drawing.savefig(made[-1], dpi=110)
    drawing = Figure(figsize=(9, 3.5), layout="constrained")
    left = drawing.subplots()
    left.plot([one.at for one in moments], [one.known / 1_000 for one in moments], "C0")
    left.set_xlabel("seconds")
    left.set_ylabel("URLs known, thousands", color="C0")
    right = left.twinx()
    right.plot([one.at for one in moments], [one.memory / MIB for one in moments], "C1")
    right.set_ylabel("memory, MiB", color="C1")
    right.set_ylim(bottom=0)
    left.set_title("A crawl that grows: what it knows, and the memory of all its processes")
    made.append(folder / "growth.png")
    drawing.savefig(made[-1], dpi=110)
    return made


def ratios(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows:
        if row.contestant != OURS:
            found[row.scenario][row.contestant] = round(row.dearer[1], 3)
    return dict(found)


def worse(now: Mapping[str, Mapping[str, float]], before: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What has become more than a fifth dearer for us, measured by each peer."""
    return [
        f"{scenario}, against {peer}: {ratio:.2f} now, {before[scenario][peer]:.2f} stored"
        for scenario, peers in now.items()
        for peer, ratio in peers.items()
        if ratio < before.get(scenario, {}).get(peer, 0.0) * TOLERANCE
    ]


def ratio_of(rows: Sequence[Row], figure: Callable[[Row], float]) -> Callable[[str, str], float | None]:
    found = {(row.scenario, row.contestant): figure(row) for row in rows}
    return lambda scenario, contestant: found.get((scenario, contestant))


def report(rows: Sequence[Row], alone: Alone, pictures: Sequence[Path]) -> str:
    reached = goals(ratio_of(rows, lambda row: row.slower[1]), ratio_of(rows, lambda row: row.dearer[1]), alone)
    head = [
        "# Outrider beside its peers",
        "",
        "Written by `./scripts/bench`; the [README](README.md) says what is measured, and how. How much slower or",
        "dearer a peer is: its seconds divided by Outrider's of the same round, lowest to highest over the rounds in",
        "brackets. Above 1, Outrider is faster or needs less. Outrider keeps records, archive, events and frontier on",
        "disk before a page counts; what the others keep:",
        "",
        *(f"- {one.name}: {one.keeps}" for one in CONTESTANTS),
        "",
        "The machine:",
        "",
        *machine(),
        "",
        *(f"![{picture.stem}](images/{picture.name})" for picture in pictures),
        "",
    ]
    remarks = (HERE / "remarks.md").read_text(encoding="utf-8").splitlines()
    parts = [*head, *goal_table(reached), *remarks, "", *table(rows), *crawl_table(alone.crawls)]
    return "\n".join([*parts, *growth_table(alone.growth)]).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Tables, plots and ratios of the runs of peers.py.")
    parser.add_argument("folder", type=Path, help="what peers.py, crawl.py, growth.py and extract.py left there")
    parser.add_argument("--check", action="store_true", help="compare with the stored ratios, and write nothing")
    given = parser.parse_args()
    runs = (given.folder / "peers.jsonl").read_bytes().splitlines()
    rows = rows_of(json.decode(line, type=Run) for line in runs)
    stored = HERE / "ratios.json"
    if given.check:
        found = worse(ratios(rows), json.decode(stored.read_bytes(), type=dict[str, dict[str, float]]))
        print("\n".join(found) or "nothing is worse than what is stored")
        sys.exit(bool(found))
    alone = read_alone(given.folder)
    text = report(rows, alone, plots(rows, alone.growth.grown, HERE / "images"))
    (HERE / "RESULTS.md").write_text(text, encoding="utf-8")
    stored.write_bytes(json.format(json.encode(ratios(rows)), indent=2) + b"\n")


if __name__ == "__main__":
    main()
