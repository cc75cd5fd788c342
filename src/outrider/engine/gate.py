"""What does a page propose, and what of it may enter? Extraction asks `extract`, admission asks `policy.admit`.

The hottest code of a crawl: fifty links a page, of which forty-five are known. What the frontier has, and what this
process has proposed lately, is remembered by its hash, and so are the links that led there, as they were written: a
known link costs one look and no object, and nobody asks where it leads. The frontier alone decides what is new.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import repeat
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from outrider.engine.common import LATELY, Common
from outrider.engine.ways import NO_WAY, ways
from outrider.errors import InvalidUrl
from outrider.extract.directives import NOFOLLOW, header_directives
from outrider.extract.links import PageFacts, read_page
from outrider.extract.listing import ListingKind, read_listing
from outrider.extract.resolve import Base
from outrider.fetch.visit import Haul
from outrider.model.event import UrlRefused
from outrider.model.identity import Identity
from outrider.model.outcome import Fetched, Moved
from outrider.model.reason import Reason
from outrider.model.record import Decision
from outrider.model.task import Candidate, Origin, Task
from outrider.model.url import Url
from outrider.policy.admit import AdmitRules, Reach, Refusal, admit, refusal, within
from outrider.policy.orders import BY_ORDER
from outrider.policy.robots import RobotsRules

MOST_ROBOTS: Final = 10_000

_NO_FACTS: Final = PageFacts()
_MASK: Final = (1 << 64) - 1


class GateRules(Struct, frozen=True):
    """`agent` is the name by which pages address us. `nofollow`: links that ask not to be followed are not.

    `listing` judges sitemaps and feeds: they are called .xml, and lie elsewhere than the pages that are wanted. Without
    `follow` pages are not read at all: somebody else does. `from_page`: where there are no seeds, the scope is measured
    from the page on which a link stands. What is out of scope there may be in scope elsewhere, so it is only counted.
    """

    admit: AdmitRules
    listing: AdmitRules
    agent: str
    sitemaps: bool = True
    feeds: bool = True
    nofollow: bool = True
    follow: bool = True
    from_page: bool = False


class Answer(Struct, frozen=True):
    """All that is read of a page: where it was found, its decoded bytes, and what its header says of following."""

    url: Url
    content: bytes
    charset: str | None = None
    directives: frozenset[str] = frozenset()


class Found(Struct):
    """What one visit proposes. `refused` goes into the ledger, `decisions` and `events` say why.

    `links` is how many the page has; which they are is in `facts` only as long as somebody wants to see them. `beyond`
    is how many URLs were out of this page's scope, where that says nothing about the URL.
    """

    tasks: list[Task]
    refused: list[tuple[Url, Reason]]
    decisions: list[Decision]
    events: list[UrlRefused]
    hashes: list[int]
    facts: PageFacts = _NO_FACTS
    directives: frozenset[str] = frozenset()
    links: int = 0
    beyond: int = 0

    def forget_links(self) -> None:
        """They have been proposed. Fifty objects a page that wait for the disk are slow to make room for."""
        if self.facts is not _NO_FACTS:
            self.facts = replace(self.facts, links=(), ways=(), nofollow=())


class Gate:
    def __init__(
        self, rules: GateRules, identity: Identity, *, common: Common | None = None, shows_links: bool = False
    ) -> None:
        """`common` is shared with other processes. `shows_links`: somebody wants to see the links of every page, also
        those that are known.
        """
        self._rules = rules
        self._unknown = None if shows_links else self._not_known
        # Ours alone, so the text as it is will do; keyed, so that nobody can craft a page that hides another.
        self._key = identity.seed & _MASK
        self._common = common or Common()
        self._proposed = Common(LATELY)  # ours alone: it may be lost with us
        self._robots_read: OrderedDict[str, None] = OrderedDict()
        self.excluded: frozenset[str] = frozenset()
        """Sites that operators have excluded, beside those of the rules."""

    def read(self, task: Task, haul: Haul, at: float) -> Found:
        """Everything that the visit's answer proposes. A seed's own sitemaps come with its robots.txt."""
        found = Found([], [], [], [], [])
        outcome = haul.visit.outcome
        if isinstance(outcome, Moved):
            via = (*task.via, *haul.visit.hops)
            # A sitemap that has moved is still one, and is read and judged as one.
            is_listing = task.origin is Origin.LISTING
            origin, rules = (
                (Origin.LISTING, self._rules.listing) if is_listing else (Origin.REDIRECT, self._rules.admit)
            )
            if self._rules.from_page:
                # Who asked for the URL asked for what it leads to.
                rules = replace(rules, reach=Reach.ANY)
            target = Candidate(outcome.to, task.depth, task.priority + task.depth, origin, task.url, via)
            self._propose(target, rules, at, found)
            return found
        if self._rules.sitemaps and haul.robots is not None and haul.robots.rules is not None:
            self._read_robots(haul.robots.rules, task, at, found)
        if not isinstance(outcome, Fetched):
            return found
        directives = self._header_directives(haul)
        if self._rules.follow:
            self._read_answer(task, Answer(outcome.url, haul.content, outcome.body.charset, directives), at, found)
        else:
            found.directives = directives
        return found

    def read_answer(self, task: Task, answer: Answer, at: float) -> Found:
        """The same for an answer that somebody else got and kept."""
        found = Found([], [], [], [], [])
        self._read_answer(task, answer, at, found)
        return found

    def judge(self, candidates: Iterable[Candidate], at: float) -> Found:
        """For those who come from outside, such as seeds."""
        found = Found([], [], [], [], [])
        for candidate in candidates:
            self._propose(candidate, self._rules.admit, at, found)
        return found

    def remember(self, hashes: Iterable[int]) -> None:
        """The frontier gets these before anything that is proposed from now on."""
        self._proposed.add(hashes)

    def confirm(self, hashes: Iterable[int]) -> None:
        """The frontier has these, whatever becomes of this process."""
        self._common.add(hashes)

    def _read_robots(self, robots: RobotsRules, task: Task, at: float, found: Found) -> None:
        """Once for each file; a crawl sees the same one with every page."""
        file = task.url.origin + robots.digest
        if file in self._robots_read or not robots.sitemaps:
            return
        self._robots_read[file] = None
        if len(self._robots_read) > MOST_ROBOTS:
            self._robots_read.popitem(last=False)
        named: list[Url] = []
        for text in robots.sitemaps:
            with suppress(InvalidUrl):
                named.append(task.url.resolve(text))
        self._propose_all(named, task, task.url, Origin.LISTING, at, found)

    def _read_answer(self, task: Task, answer: Answer, at: float, found: Found) -> None:
        if task.origin is Origin.LISTING:
            self._read_listing(task, answer, at, found)
        else:
            self._read_page(task, answer, at, found)

    def _read_page(self, task: Task, page: Answer, at: float, found: Found) -> None:
        found.facts = facts = read_page(
            page.content, page.charset, page.url, agent=self._rules.agent, unknown=self._unknown
        )
        found.links = facts.written
        found.directives = facts.directives | page.directives
        if self._rules.nofollow and NOFOLLOW in found.directives:
            return
        self._propose_all(facts.links, task, page.url, Origin.LINK, at, found, facts.ways)
        if not self._rules.nofollow:
            self._propose_all(facts.nofollow, task, page.url, Origin.LINK, at, found)
        if facts.canonical is not None:
            self._propose_all((facts.canonical,), task, page.url, Origin.LINK, at, found)
        if self._rules.feeds:
            self._propose_all(facts.feeds, task, page.url, Origin.LISTING, at, found)

    def _read_listing(self, task: Task, page: Answer, at: float, found: Found) -> None:
        listing = read_listing(page.content, page.url, expected=True)
        if listing is None:
            return
        self._propose_all(listing.listings, task, page.url, Origin.LISTING, at, found)
        origin = Origin.FEED if listing.kind is ListingKind.FEED else Origin.SITEMAP
        self._propose_all(listing.pages, task, page.url, origin, at, found)

    def _header_directives(self, haul: Haul) -> frozenset[str]:
        headers = haul.response.headers if haul.response is not None else ()
        said = [value for name, value in headers if len(name) == 12 and name.lower() == "x-robots-tag"]
        return header_directives(said, self._rules.agent) if said else frozenset()

    def _not_known(self, base: Base, hrefs: Collection[str]) -> list[tuple[str, int]]:
        common, wide = self._common.table, self._common.mask
        proposed, mask = self._proposed.table, self._proposed.mask
        hashes = ways(base, hrefs, self._key)
        return [
            (href, way)
            for href, way in zip(hrefs, hashes, strict=True)
            if common[way & wide] != way
            and common[way & wide ^ 1] != way
            and proposed[way & mask] != way
            and proposed[way & mask ^ 1] != way
        ]

    def _propose_all(
        self,
        urls: Iterable[Url],
        task: Task,
        page: Url,
        origin: Origin,
        at: float,
        found: Found,
        led_by: Iterable[int] = (),
    ) -> None:
        # A listing is as deep as the page that led to it, and what it lists is one step further.
        depth = task.depth if origin is Origin.LISTING else task.depth + 1
        rules = self._rules.listing if origin is Origin.LISTING else self._rules.admit
        if self._rules.from_page:
            rules = within(rules, page)
        own = self._key
        for url, way in zip(urls, led_by or repeat(NO_WAY), strict=False):
            key = xxh3_64_intdigest(url.encode(), own)
            if self._is_known(key, way):
                continue
            refused = refusal(url, depth, rules)
            if self.excluded and refused is None:
                refused = self._by_order(url)
            if refused is not None and self._rules.from_page and refused.rule == f"scope={rules.reach}":
                # Neither remembered nor written down: its own site may lead to it.
                found.beyond += 1
                continue
            found.hashes.append(key)
            if way not in {NO_WAY, key}:
                found.hashes.append(way)
            if refused is None:
                found.tasks.append(Task(url, depth, -depth, origin, task.url))
            else:
                self._refuse(url, refused, task.url, at, found)

    def _is_known(self, key: int, way: int) -> bool:
        """Then the way that led there is learnt, to be as sure as the place where it is."""
        for known in (self._common, self._proposed):
            if key in known:
                if way not in {NO_WAY, key}:
                    known.add((way,))
                return True
        return False

    def _propose(self, candidate: Candidate, rules: AdmitRules, at: float, found: Found) -> None:
        """One at a time: asked for even when it was proposed lately, because it carries more than a URL."""
        found.hashes.append(xxh3_64_intdigest(candidate.url.encode(), self._key))
        admitted = admit(candidate, rules)
        if self.excluded and isinstance(admitted, Task):
            admitted = self._by_order(candidate.url) or admitted
        match admitted:
            case Task() as task:
                found.tasks.append(task)
            case Refusal() as refused:
                self._refuse(candidate.url, refused, candidate.parent, at, found)

    def _by_order(self, url: Url) -> Refusal | None:
        site = url.site(self._rules.admit.site_by)
        return Refusal(Reason.EXCLUDED_SITE, "order", f"{site}: {BY_ORDER}") if site in self.excluded else None

    @staticmethod
    def _refuse(url: Url, refused: Refusal, parent: Url | None, at: float, found: Found) -> None:
        found.refused.append((url, refused.reason))
        found.decisions.append(
            Decision(str(url), "admit", refused.reason, refused.rule, refused.evidence, at, parent and str(parent))
        )
        found.events.append(
            UrlRefused(at=at, url=url, reason=refused.reason, rule=refused.rule, evidence=refused.evidence)
        )
