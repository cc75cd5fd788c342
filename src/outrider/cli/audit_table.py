"""What an audit found, as a person reads it: the sites with the tightest pauses, the rules, then each violation.

URLs come from the web, so nothing is printed before it is made visible.
"""

from collections.abc import Iterator
from heapq import nsmallest
from typing import Final

from rich.text import Text

from outrider.cli.terminal import GAP, hanging, shortened
from outrider.observe.words import counted, visible
from outrider.ops.audit import Report, SiteLine, Violation
from outrider.ops.audit.moments import moment

MOST_SITES: Final = 20
_SITE: Final = 33
_NUMBER: Final = 11
_RULE: Final = 16
_RUNNING: Final = {
    True: "The crawl is running: what is on record so far was judged.",
    None: "The crawl may be running: what is on record so far was judged.",
}


def told(report: Report, width: int) -> Iterator[Text]:
    yield from _sites(report.sites)
    yield Text(f"{'RULE':<{_RULE}}{'JUDGED':>{_NUMBER}}{'BROKEN':>9}{GAP}WHAT", "bold")
    for rule in report.rules:
        broken = f"{rule.violations:,}" if rule.violations else "-"
        row = f"{rule.name:<{_RULE}}{rule.checked:>{_NUMBER},}{broken:>9}{GAP}{rule.about}"
        yield Text(row, "red" if rule.violations else "")
    yield from _violations(report, width)
    asides = [_RUNNING[report.running]] if report.running is not False else []
    asides += [f"Not judged: {sentence}." for sentence in report.skipped]
    if asides:
        yield Text()
    for sentence in asides:
        yield from hanging(Text(), Text(visible(sentence)), 0, width)
    yield Text()
    scope = f"{counted(report.requests, 'request')} to {counted(len(report.sites), 'site')}"
    if report.clean:
        yield Text(f"clean: {scope}", "bold green")
    else:
        yield Text(f"not clean: {counted(report.violations, 'violation')} in {scope}", "bold red")


def _sites(sites: tuple[SiteLine, ...]) -> Iterator[Text]:
    """Those that broke a rule first, then those whose smallest pause was the tightest."""
    if not sites:
        return
    head = f"{'SITE':<{_SITE}}{'REQUESTS':>{_NUMBER}}{'SMALLEST':>{_NUMBER}}{'DUE':>{_NUMBER}}{'BROKEN':>{_NUMBER}}"
    yield Text(head, "bold")
    for line in nsmallest(MOST_SITES, sites, key=lambda one: (-one.violations, one.margin, one.site)):
        broken = f"{line.violations:,}" if line.violations else "-"
        row = f"{shortened(line.site, _SITE - 1):<{_SITE}}{line.requests:>{_NUMBER},}"
        row += f"{_seconds(line.smallest):>{_NUMBER}}{_seconds(line.allowed):>{_NUMBER}}{broken:>{_NUMBER}}"
        yield Text(row, "red" if line.violations else "")
    if len(sites) > MOST_SITES:
        yield Text(f"… and {len(sites) - MOST_SITES:,} more, with wider pauses")
    yield Text()


def _violations(report: Report, width: int) -> Iterator[Text]:
    for rule in report.rules:
        if not rule.violations:
            continue
        shown = [one for one in report.examples if one.rule == rule.name]
        yield Text()
        for one in shown:
            yield from hanging(Text(f"{rule.name} ", "red"), Text(visible(_sentence(one))), len(rule.name) + 1, width)
        if rule.violations > len(shown):
            yield Text(f"{rule.name} … and {rule.violations - len(shown):,} more", "red")


def _sentence(one: Violation) -> str:
    parts = [one.site, "" if one.at is None else moment(one.at), one.url]
    place = " ".join(part for part in parts if part)
    return f"{place}: {one.evidence}" if place else one.evidence


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f} s"
