"""What does every rule of admission say to one URL? Not only the first that says no, as `admit` tells.

Each rule is asked alone, by `admit` itself: so nothing is told here that would not be decided there. This is for people
who ask about one URL; a crawl asks `admit`.
"""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct, structs

from outrider.model.reason import Reason
from outrider.model.robots import RobotsVerdict
from outrider.model.site import Site
from outrider.model.task import Candidate
from outrider.model.url import Url
from outrider.policy.admit import AdmitRules, Reach, Refusal, admit, extension_of

_SHOWN: Final = 3
_NO_RULES: Final = AdmitRules(max_length=1 << 62)


class Ruling(Struct, frozen=True, rename="camel"):
    """`passes` is None where the rule is not set, or nothing is known that it could judge by."""

    rule: str
    passes: bool | None
    evidence: str
    reason: Reason | None = None


def rulings(
    url: Url, depth: int, rules: AdmitRules, *, site: Site | None = None, robots: RobotsVerdict | None = None
) -> tuple[Ruling, ...]:
    """In the order in which `admit` asks. The first that does not pass is its refusal; when all pass, it admits."""
    candidate = Candidate(url, depth)
    found = []
    for name, fields, fine in _RULES:
        alone = structs.replace(_NO_RULES, **{field: getattr(rules, field) for field in fields})
        found.append(_asked(name, candidate, alone, fine(url, depth, rules)))
    found += _asked_of_site(candidate, rules, site)
    if robots is None:
        found.append(Ruling("robots.txt", None, "its rules are not known yet; the visit asks for them"))
    else:
        found.append(_asked("robots.txt", candidate, _NO_RULES, robots.reason, robots=robots))
    return tuple(found)


def _asked_of_site(candidate: Candidate, rules: AdmitRules, site: Site | None) -> Iterator[Ruling]:
    if site is None:
        yield Ruling("excluded by an operator", None, "nothing is known of the site yet")
    else:
        yield _asked("excluded by an operator", candidate, _NO_RULES, f"{site.key} is not excluded", site=site)
    if rules.site_quota is None:
        yield Ruling("site_quota", None, "no limit is set")
    else:
        so_far = f"{site.admitted if site else 0:,} URLs of at most {rules.site_quota:,}"
        alone = structs.replace(_NO_RULES, site_quota=rules.site_quota)
        yield _asked("site_quota", candidate, alone, so_far, site=site and structs.replace(site, excluded=False))


def first_refusal(found: tuple[Ruling, ...]) -> Ruling | None:
    return next((ruling for ruling in found if ruling.passes is False), None)


def _asked(
    name: str,
    candidate: Candidate,
    alone: AdmitRules,
    fine: str | None,
    *,
    site: Site | None = None,
    robots: RobotsVerdict | None = None,
) -> Ruling:
    """`fine` is what the rule saw if it has nothing against the URL; None when it is not set."""
    if fine is None:
        return Ruling(name, None, "not set")
    refused = admit(candidate, alone, site=site, robots=robots)
    if isinstance(refused, Refusal):
        return Ruling(refused.rule, passes=False, evidence=refused.evidence, reason=refused.reason)
    return Ruling(name, passes=True, evidence=fine)


# ── what a rule saw when it let the URL pass; None: it is not set ─────────────────────────────────────────────────────


def _length(url: Url, _: int, rules: AdmitRules) -> str:
    return f"{len(url):,} characters of at most {rules.max_length:,}"


def _depth(_: Url, depth: int, rules: AdmitRules) -> str | None:
    return None if rules.max_depth is None else f"depth {depth} of at most {rules.max_depth}"


def _scope(_: Url, __: int, rules: AdmitRules) -> str:
    match rules.reach:
        case Reach.ANY:
            return "any: everything is in scope"
        case Reach.PREFIX:
            return f"prefix: below {_some(rules.prefixes)}"
        case reach:
            return f"{reach}: one of {_some(sorted(rules.roots))}"


def _sites(url: Url, _: int, rules: AdmitRules) -> str | None:
    return f"{url.site(rules.site_by)} is not among them" if rules.excluded_sites else None


def _extensions(url: Url, _: int, rules: AdmitRules) -> str | None:
    if not rules.extensions:
        return None
    extension = extension_of(url.path)
    return f"{extension} is not among them" if extension else "the path has no extension"


def _patterns(_: Url, __: int, rules: AdmitRules) -> str | None:
    return f"none of {len(rules.skip_patterns)} matches" if rules.skip_patterns else None


def _traps(_: Url, __: int, rules: AdmitRules) -> str | None:
    return None if rules.traps is None else "it does not look like one of endlessly many"


def _include(url: Url, _: int, rules: AdmitRules) -> str | None:
    matching = next((pattern.pattern for pattern in rules.include if pattern.search(url)), "")
    return f"{matching} matches" if rules.include else None


def _exclude(_: Url, __: int, rules: AdmitRules) -> str | None:
    return "no pattern of exclude matches" if rules.exclude else None


def _some(names: tuple[str, ...] | list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


_RULES: Final[tuple[tuple[str, tuple[str, ...], Callable[[Url, int, AdmitRules], str | None]], ...]] = (
    ("max_url_length", ("max_length",), _length),
    ("max_depth", ("max_depth",), _depth),
    ("scope", ("reach", "roots", "prefixes"), _scope),
    ("excluded_sites", ("excluded_sites", "site_by"), _sites),
    ("skip_extensions", ("extensions",), _extensions),
    ("skip_patterns", ("skip", "skip_patterns"), _patterns),
    ("traps", ("traps",), _traps),
    ("include", ("include",), _include),
    ("exclude", ("exclude",), _exclude),
)
"""In the order of `refusal`: a name, the fields of the rules that it looks at, and what it saw when it passes."""
