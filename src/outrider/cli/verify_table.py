"""What verification found, as a person reads it: a line for each check, then what is wrong, then what is worth knowing.

Examples quote URLs from the web, so nothing is printed before it is made visible.
"""

from collections.abc import Iterator
from typing import Final

from rich.text import Text

from outrider.cli.terminal import GAP, hanging
from outrider.observe.words import counted, visible
from outrider.ops.verify import Finding, Remark, Report

_NAME: Final = 15
_COUNT: Final = 11
_FOUND: Final = 9
_RUNNING: Final = {
    True: "The crawl is running: what it is about to settle is not judged.",
    None: "The crawl may be running, on another machine: what it is about to settle is not judged.",
}


def told(report: Report, width: int) -> Iterator[Text]:
    yield Text(_row("CHECK", "CHECKED", "WRONG", "WHAT"), "bold")
    for finding in report.checks:
        found = f"{finding.violations:,}" if finding.violations else "-"
        text = _row(finding.name, f"{finding.checked:,}", found, finding.about)
        yield Text(text, "red" if finding.violations else "")
    for finding in report.checks:
        yield from _listed(finding, finding.violations, "red", width)
    for remark in report.notes:
        yield from _listed(remark, remark.count, "", width)
    asides = [_RUNNING[report.running]] if report.running is not False else []
    asides += [f"Not checked: {sentence}." for sentence in report.skipped]
    if asides:
        yield Text()
    for sentence in asides:
        yield from hanging(Text(), Text(visible(sentence)), 0, width)
    yield Text()
    yield (
        Text("sound", "bold green")
        if report.sound
        else Text(f"not sound: {counted(report.violations, 'violation')}", "bold red")
    )


def _listed(one: Finding | Remark, count: int, style: str, width: int) -> Iterator[Text]:
    if not count:
        return
    yield Text()
    yield from hanging(Text(), Text(f"{one.name}: {count:,} {_told(one)}", style), 0, width)
    for example in one.examples:
        yield from hanging(Text(), Text(visible(example)), len(GAP), width)
    if count > len(one.examples):
        yield Text(f"{GAP}… and {count - len(one.examples):,} more")


def _told(one: Finding | Remark) -> str:
    return f"wrong ({one.about})" if isinstance(one, Finding) else one.about


def _row(name: str, count: str, found: str, about: str) -> str:
    return f"{name:<{_NAME}}{count:>{_COUNT}}{found:>{_FOUND}}{GAP}{about}"
