"""May this URL enter the crawl? The first rule that says no is named, with what it saw.

No network here (C24, H2-24): robots.txt counts only as far as its rules are known already; the visit asks again.
Rules look at the parsed URL, so that a host such as `example.zip` is not taken for an archive (H2-19).
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from outrider.model.reason import Reason
from outrider.model.robots import RobotsVerdict
from outrider.model.site import Site
from outrider.model.task import Candidate, Task
from outrider.model.url import SiteBy, Url
from outrider.policy.traps import TrapLimits, trap


class Reach(StrEnum):
    """How far from its seeds a crawl goes."""

    PAGE = "page"
    PREFIX = "prefix"
    HOST = "host"
    DOMAIN = "domain"
    ANY = "any"


class Refusal(Struct, frozen=True):
    """Which rule refused, and on what evidence."""

    reason: Reason
    rule: str
    evidence: str


Admission: TypeAlias = Task | Refusal

_NO_PATTERN: Final = re.compile(r"(?!)")


class AdmitRules(Struct, frozen=True):
    """Made by `admit_rules`, which compiles what people write into what is quick to ask."""

    reach: Reach = Reach.ANY
    roots: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    include: tuple[re.Pattern[str], ...] = ()
    exclude: tuple[re.Pattern[str], ...] = ()
    skip: re.Pattern[str] = _NO_PATTERN
    skip_patterns: tuple[str, ...] = ()
    extensions: frozenset[str] = frozenset()
    excluded_sites: frozenset[str] = frozenset()
    max_length: int = 2_000
    max_depth: int | None = None
    site_quota: int | None = None
    site_by: SiteBy = "domain"
    traps: TrapLimits | None = None


def admit(
    candidate: Candidate,
    rules: AdmitRules,
    *,
    site: Site | None = None,
    robots: RobotsVerdict | None = None,
) -> Admission:
    """A task, due at once, or why there is none. Depth lowers priority: broad comes before deep (C20)."""
    refused = (
        refusal(candidate.url, candidate.depth, rules)
        or (site and _refused_by_site(site, rules))
        or (robots and _refused_by_robots(robots))
    )
    if refused:
        return refused
    return Task(
        url=candidate.url,
        depth=candidate.depth,
        priority=candidate.priority - candidate.depth,
        origin=candidate.origin,
        parent=candidate.parent,
        via=candidate.via,
    )


def refusal(url: Url, depth: int, rules: AdmitRules) -> Refusal | None:
    """What the URL alone can tell, cheapest question first."""
    if len(url) > rules.max_length:
        return Refusal(Reason.URL_TOO_LONG, f"max_url_length={rules.max_length}", f"{len(url)} characters")
    if rules.max_depth is not None and depth > rules.max_depth:
        return Refusal(Reason.TOO_DEEP, f"max_depth={rules.max_depth}", f"depth {depth}")
    if rules.reach is not Reach.ANY and not _is_within(url, rules):
        return Refusal(Reason.OUT_OF_SCOPE, f"scope={rules.reach}", _scope_evidence(url, rules))
    if rules.excluded_sites and url.site(rules.site_by) in rules.excluded_sites:
        return Refusal(Reason.EXCLUDED_SITE, "excluded_sites", url.site(rules.site_by))
    path = url.path
    extension = extension_of(path)
    if extension in rules.extensions:
        return Refusal(Reason.NON_TEXT_EXTENSION, "skip_extensions", extension)
    if rules.skip_patterns and (skipped := rules.skip.fullmatch(path)):
        return Refusal(Reason.SKIP_PATTERN, rules.skip_patterns[(skipped.lastindex or 1) - 1], path)
    caught = trap(url, rules.traps) if rules.traps is not None else None
    if caught is not None:
        return Refusal(Reason.TRAP, caught.rule, caught.evidence)
    return _refused_by_expression(url, rules) if rules.include or rules.exclude else None


def admit_rules(  # noqa: PLR0913 - one argument for each thing that people may set
    *,
    reach: Reach = Reach.ANY,
    seeds: Sequence[Url] = (),
    include: Sequence[re.Pattern[str]] = (),
    exclude: Sequence[re.Pattern[str]] = (),
    skip_patterns: Sequence[str] = (),
    extensions: frozenset[str] = frozenset(),
    excluded_sites: frozenset[str] = frozenset(),
    max_length: int = 2_000,
    max_depth: int | None = None,
    site_quota: int | None = None,
    site_by: SiteBy = "domain",
    traps: TrapLimits | None = None,
) -> AdmitRules:
    return AdmitRules(
        reach=reach,
        roots=_roots(reach, seeds),
        prefixes=tuple(sorted({_folder(seed) for seed in seeds})) if reach is Reach.PREFIX else (),
        include=tuple(include),
        exclude=tuple(exclude),
        skip=_compile_skip(skip_patterns),
        skip_patterns=tuple(skip_patterns),
        extensions=extensions,
        excluded_sites=excluded_sites,
        max_length=max_length,
        max_depth=max_depth,
        site_quota=site_quota,
        site_by=site_by,
        traps=traps,
    )


def within(rules: AdmitRules, page: Url) -> AdmitRules:
    """The same, with the scope measured from this page."""
    match rules.reach:
        case Reach.ANY:
            return rules
        case Reach.PREFIX:
            return replace(rules, prefixes=(_folder(page),))
        case reach:
            return replace(rules, roots=_roots(reach, (page,)))


def extension_of(path: str) -> str:
    """With its dot, in lower case; empty when the last part of the path has none (S2-17)."""
    name = path[path.rfind("/") + 1 :]
    dot = name.rfind(".")
    return name[dot:].lower() if dot > 0 else ""


def _roots(reach: Reach, seeds: Sequence[Url]) -> frozenset[str]:
    match reach:
        case Reach.PAGE:
            return frozenset(map(str, seeds))
        case Reach.HOST:
            return frozenset(seed.authority for seed in seeds)
        case Reach.DOMAIN:
            return frozenset(seed.site("domain") for seed in seeds)
        case Reach.PREFIX | Reach.ANY:
            return frozenset()


def _is_within(url: Url, rules: AdmitRules) -> bool:
    match rules.reach:
        case Reach.ANY:
            return True
        case Reach.PAGE:
            return url in rules.roots
        case Reach.PREFIX:
            return url.startswith(rules.prefixes)
        case Reach.HOST:
            return url.authority in rules.roots
        case Reach.DOMAIN:
            return url.site("domain") in rules.roots


def _scope_evidence(url: Url, rules: AdmitRules) -> str:
    return url.site("domain") if rules.reach is Reach.DOMAIN else url.authority


def _folder(seed: Url) -> str:
    bare = seed.partition("?")[0]
    return bare[: bare.rfind("/") + 1]


def _compile_skip(patterns: Sequence[str]) -> re.Pattern[str]:
    """`/cart` is that path and all below it; `*` stands for anything. One group a pattern, so that it can be named."""
    if not patterns:
        return _NO_PATTERN
    return re.compile("|".join(f"({_expression(pattern)})" for pattern in patterns), re.DOTALL)


def _expression(pattern: str) -> str:
    """The leftmost place of a part is the best one, so none is tried twice: else a URL of 800 letters takes seconds."""
    head, *rest = map(re.escape, pattern.split("*"))
    if not rest:
        return f"{head}(?:/.*)?"
    *parts, last = rest
    return head + "".join(f"(?>.*?{part})" for part in parts if part) + (f".*?{last}(?:/.*)?" if last else ".*")


def _refused_by_expression(url: Url, rules: AdmitRules) -> Refusal | None:
    if rules.include and not any(pattern.search(url) for pattern in rules.include):
        return Refusal(Reason.OUT_OF_SCOPE, "include", "no pattern of include matches")
    for pattern in rules.exclude:
        if pattern.search(url):
            return Refusal(Reason.OUT_OF_SCOPE, f"exclude={pattern.pattern}", str(url))
    return None


def _refused_by_site(site: Site, rules: AdmitRules) -> Refusal | None:
    if site.excluded:
        return Refusal(Reason.EXCLUDED_SITE, "excluded by an operator", site.key)
    if rules.site_quota is not None and site.admitted >= rules.site_quota:
        return Refusal(Reason.SITE_QUOTA, f"site_quota={rules.site_quota}", f"{site.admitted} URLs of {site.key}")
    return None


def _refused_by_robots(verdict: RobotsVerdict) -> Refusal | None:
    return None if verdict.allowed else Refusal(Reason.ROBOTS_DISALLOWED, "robots.txt", verdict.reason)
