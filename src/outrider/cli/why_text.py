"""The story of a URL as a person reads it: in the order of the URL's life. What came from the web is made visible.

A visit is told by `why_visits`.
"""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from msgspec import Struct
from rich.text import Text

from outrider.cli.terminal import GAP, hanging
from outrider.cli.url_changes import Change, changes, without_password
from outrider.cli.why_visits import robots_rows, visit_rows
from outrider.model.ledger import State
from outrider.model.order import SiteOrder
from outrider.model.reason import Family
from outrider.model.record import Decision
from outrider.model.site import BreakerState
from outrider.observe.words import counted, duration, moment, visible
from outrider.ops.meaning import meaning
from outrider.ops.story import Ancestor, Discovery, Knowledge, Prospect, Standing, Story
from outrider.policy.admit_explained import Ruling

Row: TypeAlias = tuple[str, Text]

_LABEL: Final = 12
_BULLET: Final = "· "
_FIRST: Final = 3
_MOST_VISITS: Final = 20
_MOST_DECISIONS: Final = 20
_ORIGINS: Final = {
    "seed": "a seed: somebody began the crawl with it",
    "link": "a link",
    "sitemap": "an entry of a sitemap",
    "feed": "an entry of a feed",
    "redirect": "a redirect that led here",
    "queue": "an entry of a service's queue",
    "recrawl": "a page that is visited again",
    "listing": "a sitemap or feed",
}
_STATES: Final = {
    State.PENDING: "pending: owed its first visit",
    State.WAITING: "waiting: put off, and owed a later visit",
    State.FETCHED: "fetched",
    State.SKIPPED: "skipped: ended without a verdict on the page itself",
    State.DEAD: "dead: given up",
    State.ALIAS: "an alias: another name of a page",
}
_PROSPECTS: Final = {
    Prospect.DUE: "it is due now",
    Prospect.UNDER_WAY: "its site is being visited",
    Prospect.LATER: "it will be visited",
    Prospect.BLOCKED: "not before somebody acts",
    Prospect.NEVER: "never, as things are",
    Prospect.UNPROPOSED: "never, as things are",
}


class Answer(Struct, frozen=True, rename="camel"):
    """What is asked, and the answer. `running`: does the crawl run? None where nobody can say."""

    given: str
    changes: tuple[Change, ...]
    story: Story
    directory: str | None = None
    running: bool | None = None
    has_records: bool = True


def answer_to(given: str, story: Story) -> Answer:
    """Without the password that may be in what was given."""
    # What is not UTF-8 on a command line comes as halves of characters, which no document may hold.
    plain = given.encode("utf-8", "replace").decode()
    return Answer(without_password(plain, story.url), tuple(changes(plain, story.url)), story)


def told(answer: Answer, width: int) -> list[Text]:
    lines = list(_story(answer.story, _given(answer), width, has_records=answer.has_records))
    story = answer.story.other
    while story is not None:
        lines += [Text(), Text("━" * width, "dim"), Text()]
        lines += _story(story, [], width, has_records=answer.has_records)
        story = story.other
    if answer.running is False and answer.story.standing.state in {State.PENDING, State.WAITING}:
        goes_on = f"the crawl does not run; outrider crawl -d {visible(answer.directory or '')} goes on with it"
        lines += _rows([("", Text(goes_on))], width)
    return lines


def _story(story: Story, given: list[Row], width: int, *, has_records: bool) -> Iterator[Text]:
    yield from hanging(Text(), Text(visible(story.url), "bold green"), 0, width)
    yield from _rows([*given, *_identity(story)], width)
    sections: list[tuple[str, list[Row]]] = [
        ("Discovered", list(_discovered(story.discovery))),
        ("Decisions", [*_decided(story), *robots_rows(story)]),
        (f"Visits: {len(story.visits):,}", list(_visited(story, has_records=has_records))),
        ("Admission, rule by rule", list(_ruled(story))),
        ("Now", list(_standing(story))),
        ("Next", list(_next(story))),
    ]
    for title, rows in sections:
        if rows:
            yield Text()
            yield Text(title, "bold")
            yield from _rows(rows, width)


def _rows(rows: Iterable[Row], width: int) -> Iterator[Text]:
    for label, value in rows:
        head, indent = Text(f"{GAP}{label}", "dim"), len(GAP) + _LABEL
        if value.plain.startswith(_BULLET):
            # One of several: what does not fit goes on under its own text.
            head.pad_right(indent - head.cell_len)
            yield from hanging(head + _BULLET.rstrip(), value[len(_BULLET) :], indent + len(_BULLET), width)
        else:
            yield from hanging(head, value, indent, width)


def _given(answer: Answer) -> list[Row]:
    if answer.given == answer.story.url:
        return []
    changed = [("", Text(f"{change.what}: {change.why}", "dim")) for change in answer.changes]
    return [("given as", Text(visible(answer.given))), *changed]


def _identity(story: Story) -> Iterator[Row]:
    if story.standing.name is not None:
        yield "known as", Text(visible(story.standing.name))
        yield "", Text("the same page by the crawl's identity rules", "dim")
    yield "site", Text(visible(story.site.key))
    standing = story.standing
    if standing.of is not None:
        kind = "alias of" if standing.state is State.ALIAS else "duplicate of"
        yield kind, Text(visible(standing.of))
        if story.other is not None:
            yield "", Text("its story follows below", "dim")


def _discovered(found: Discovery | None) -> Iterator[Row]:
    if found is None:
        return
    depth = f", at depth {found.depth}" if found.depth else ""
    yield "by", Text(f"{_origin(found)}{depth}")
    if found.parent is not None:
        yield "on", Text(visible(found.parent))
    yield "at", Text(visible(found.at or "not on record"), "" if found.at else "dim")
    if found.path:
        steps = [*reversed(found.path)]
        for number, step in enumerate(steps):
            yield "path" if number == 0 else "", _step(step)
        yield "", Text("this URL")
        if not found.is_whole and steps[0].on_record:
            yield "", Text("the path is longer than is told, or leads in a circle", "dim")


def _step(step: Ancestor) -> Text:
    how = _SHORT.get(step.origin, step.origin) if step.on_record else "not on record"
    return Text(visible(f"{step.url}  ({how})"))


_SHORT: Final = {"seed": "seed", "queue": "from a queue"}


def _origin(found: Discovery) -> str:
    unnamed = "a page that names it" if found.parent else "somebody whose name is not on record"
    return visible(_ORIGINS.get(found.origin, found.origin or unnamed))


def _decided(story: Story) -> Iterator[Row]:
    for one in story.decisions[:_MOST_DECISIONS]:
        yield from _decision(one)
    if len(story.decisions) > _MOST_DECISIONS:
        yield "", Text(f"and {len(story.decisions) - _MOST_DECISIONS:,} more; --json has them all", "dim")


def _decision(one: Decision) -> Iterator[Row]:
    yield "refused", Text(visible(f"{one.reason}, by {one.by}"), "yellow")
    yield "rule", Text(visible(one.rule))
    if one.evidence:
        yield "evidence", Text(visible(one.evidence))
    if one.parent:
        yield "named on", Text(visible(one.parent))
    yield "at", Text(moment(one.at))


def _visited(story: Story, *, has_records: bool) -> Iterator[Row]:
    visits = list(enumerate(story.visits, 1))
    left_out = len(visits) - _MOST_VISITS
    if left_out > 0:
        visits = [*visits[:_FIRST], *visits[_FIRST + left_out :]]
    for place, (number, record) in enumerate(visits):
        if left_out > 0 and place == _FIRST:
            yield "", Text(f"{left_out:,} more are left out here; --json has them all", "dim")
        yield from visit_rows(number, record, story)
    if not visits and story.standing.known_by is not Knowledge.NOTHING:
        yield "", Text("none is on record" if has_records else "no records are at hand; --records URL names them")


def _ruled(story: Story) -> Iterator[Row]:
    """For what never was in the crawl: for the others, the rules have spoken already."""
    reason = story.standing.reason
    if story.standing.state is not None and (reason is None or reason.family is not Family.ADMISSION):
        return
    for ruling in story.rulings:
        yield _VERDICTS[ruling.passes], _ruling(ruling)


_VERDICTS: Final = {True: "passes", False: "refuses", None: "-"}


def _ruling(ruling: Ruling) -> Text:
    style = {True: "", False: "yellow", None: "dim"}[ruling.passes]
    return Text(visible(f"{ruling.rule}: {ruling.evidence}"), style)


def _standing(story: Story) -> Iterator[Row]:
    standing = story.standing
    if standing.state is None:
        known = "unknown to the ledger, though visits are on record" if story.visits else "never seen"
        yield "state", Text(known, "bold")
        return
    yield "state", Text(_STATES[standing.state], "bold")
    if standing.known_by is Knowledge.HASH:
        yield "", Text("known by its hash alone: it has ended, and the records say the rest", "dim")
    if standing.reason is not None:
        yield "reason", Text(f"{standing.reason}: {meaning(standing.reason)}", "yellow")
    if standing.detail:
        yield "detail", Text(visible(standing.detail))
    if standing.status is not None:
        yield "status", Text(f"HTTP {standing.status}")
    if counts := ", ".join(_counts(standing)):
        yield "counts", Text(counts)
    yield from _site(story)


def _counts(standing: Standing) -> Iterator[str]:
    if standing.visits or standing.state in {State.PENDING, State.WAITING, State.DEAD}:
        yield f"{counted(standing.visits, 'visit')} counted against it"
    if standing.deferrals:
        yield f"{counted(standing.deferrals, 'deferral')} by its site's doing"
    if standing.recoveries:
        yield counted(standing.recoveries, "recovery", "recoveries")
    if standing.state in {State.PENDING, State.WAITING}:
        yield f"priority {standing.priority}"


def _site(story: Story) -> Iterator[Row]:
    site = story.site
    if not site.is_known:
        return
    facts = [f"{counted(site.fetched, 'page')} fetched of {counted(site.admitted, 'URL')} admitted"]
    facts.append(f"one request every {duration(site.interval)}")
    order = site.order or SiteOrder(site.key)
    is_excluded = site.excluded or order.excluded
    facts.append("set aside" if site.set_aside else "excluded" if is_excluded else _breaker(story))
    if order.paused:
        facts.append("paused by an operator")
    yield "its site", Text(visible(", ".join(facts)))


def _breaker(story: Story) -> str:
    return "up" if story.site.breaker.state is BreakerState.CLOSED else "down: its circuit is open"


def _next(story: Story) -> Iterator[Row]:
    outlook = story.outlook
    when = _PROSPECTS[outlook.prospect]
    if outlook.prospect is Prospect.LATER and outlook.at is not None:
        when = f"{moment(outlook.at)}, in {duration(max(outlook.at - story.at, 0.0))}"
    yield "visit", Text(when, "bold")
    yield from _listed("because", outlook.because)
    yield from _listed("what helps", outlook.remedies)


def _listed(label: str, sentences: tuple[str, ...]) -> Iterator[Row]:
    bullet = _BULLET if len(sentences) > 1 else ""
    for number, sentence in enumerate(sentences):
        yield label if number == 0 else "", Text(f"{bullet}{visible(sentence)}")
