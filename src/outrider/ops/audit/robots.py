"""Did robots.txt allow it? Each URL is judged again, against the file that was in force when it was asked for.

A worker may keep a copy for as long as it is valid while another has fetched a newer one. So a URL may be asked for if
any file allows it that was valid then; the verdict that is shown is that of the newest.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final

from outrider.model.asked import Asked, AskedFor, Manners, RobotsAnswer
from outrider.model.robots import RobotsFile, RobotsVerdict
from outrider.model.url import Url
from outrider.ops.audit.moments import SLACK, moment
from outrider.ops.audit.report import Findings, Rule, Violation
from outrider.policy.robots import Defer, RobotsRules, Unreachable, judge, parse

OVERDUE: Final = 900.0
"""A copy is judged by before the request takes its turn, which may take minutes: hops, retries, a long Crawl-delay."""
_MOST_PARSED: Final = 64


class ParsedFiles:
    """The last files that were parsed: many sites send the same one."""

    def __init__(self) -> None:
        self._parsed: OrderedDict[tuple[bytes, int], RobotsRules] = OrderedDict()

    def rules_of(self, file: RobotsFile, most: int) -> RobotsRules | None:
        if file.body is None:
            return None
        key = file.body, most
        rules = self._parsed.pop(key, None) or parse(file.body, most)
        self._parsed[key] = rules
        if len(self._parsed) > _MOST_PARSED:
            self._parsed.popitem(last=False)
        return rules


class RobotsCheck:
    """Of one site. `crawl_delay` is what its files ask for, for a request that was judged."""

    def __init__(self, answers: Sequence[RobotsAnswer], parsed: ParsedFiles, findings: Findings) -> None:
        self._files: dict[str, list[RobotsFile]] = {}
        for one in answers:
            self._files.setdefault(one.file.origin, []).append(one.file)
        self._parsed = parsed
        self._findings = findings
        self._delays: dict[str, float] = {}
        self.crawl_delay: float | None = None

    def look(self, asked: Asked, manners: Manners) -> Iterator[Violation]:
        """Pages, and the status of pages. robots.txt may always be asked for, and so may a sign of life."""
        self.crawl_delay = None
        if asked.kind not in {AskedFor.PAGE, AskedFor.STATUS} or not manners.respect_robots:
            return
        url = Url.trusted(asked.url)
        self._findings.checked(Rule.ROBOTS_UNASKED)
        files = list(self._valid(url.origin, asked.at))
        if not files:
            yield _violation(asked, Rule.ROBOTS_UNASKED, self._missing(url.origin, asked.at))
            return
        self._findings.checked(Rule.ROBOTS)
        verdicts = [self._judged(file, url, manners) for file in files]
        self._remember_delay(url.origin, verdicts, manners)
        if asked.kind is AskedFor.STATUS:
            if asked.method != "HEAD" or manners.robots_blocked != "status":
                yield _violation(asked, Rule.ROBOTS, f"{_told(verdicts[0], files[0])}; its status was asked for")
        elif not any(isinstance(said, RobotsVerdict) and said.allowed for said in verdicts):
            yield _violation(asked, Rule.ROBOTS, _told(verdicts[0], files[0]))

    def look_at_skipped(self, site: str, url: Url, at: float, manners: Manners) -> Iterator[Violation]:
        """A page that robots.txt is said to forbid: does it?"""
        files = list(self._valid(url.origin, at))
        verdicts = [self._judged(file, url, manners) for file in files]
        if not verdicts:
            yield Violation(Rule.ROBOTS, f"skipped: {self._missing(url.origin, at)}", site, str(url), at)
        elif all(isinstance(said, RobotsVerdict) and said.allowed for said in verdicts):
            yield Violation(Rule.ROBOTS, f"skipped: {_told(verdicts[0], files[0])}", site, str(url), at)

    def _valid(self, origin: str, at: float) -> Iterator[RobotsFile]:
        """The newest first."""
        for file in reversed(self._files.get(origin, [])):
            if file.fetched_at <= at + SLACK and at <= file.expires_at + OVERDUE:
                yield file

    def _missing(self, origin: str, at: float) -> str:
        known = [file for file in self._files.get(origin, []) if file.fetched_at <= at + SLACK]
        if known:
            return f"the robots.txt of {origin} had expired at {moment(known[-1].expires_at)}"
        return f"nothing was known of the robots.txt of {origin} yet"

    def _judged(self, file: RobotsFile, url: Url, manners: Manners) -> RobotsVerdict | Defer:
        rules = self._parsed.rules_of(file, manners.robots_max_bytes)
        return judge(file, rules, url.target, manners.agent, Unreachable(manners.robots_unreachable))

    def _remember_delay(self, origin: str, verdicts: Sequence[RobotsVerdict | Defer], manners: Manners) -> None:
        delays = [said.crawl_delay or 0.0 for said in verdicts if isinstance(said, RobotsVerdict)]
        self._delays[origin] = min(delays, default=0.0)
        # Visits at once to several origins of a site take turns at setting its pace: only the least of them is sure.
        self.crawl_delay = self._delays[origin] if manners.site_concurrency == 1 else min(self._delays.values())


def _told(said: RobotsVerdict | Defer, file: RobotsFile) -> str:
    digest = f", sha256 {said.digest[:12]}" if isinstance(said, RobotsVerdict) and said.digest else ""
    return f"{said.reason} (of {moment(file.fetched_at)}{digest})"


def _violation(asked: Asked, rule: Rule, evidence: str) -> Violation:
    return Violation(rule, f"{asked.method}: {evidence}", asked.site, asked.url, asked.at)
