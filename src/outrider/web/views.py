"""What does a page need beside the desk's answer? Charts, columns, sentences and chains, as values. Pure."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urljoin

from msgspec import Struct
from msgspec.structs import replace

from outrider.model.ledger import State
from outrider.model.reason import Family, Reason
from outrider.observe.summary import finish_in_words
from outrider.observe.words import duration
from outrider.web.charts import Area, Stretch, coarser, hundredths, sparkline, stacked_area, stacked_bar
from outrider.web.phrases import counted, grouped, link
from outrider.web.shapes import Overview, Point
from outrider.web.story_shapes import Moment, StoryShown, VisitShown

_STRETCHES: Final = 120
_SPARKS: Final = 60
_MOST_ACTIVITIES: Final = 12

OUTCOMES: Final = (
    ("pages", "fetched", "fetched"),
    ("unchanged", "not modified", "unchanged"),
    ("moved", "moved", "moved"),
    ("skipped", "skipped", "skipped"),
    ("failed", "failed", "failed"),
)
"""A field of what was counted, its name for people, and its class."""

_STATES: Final = (State.FETCHED, State.ALIAS, State.SKIPPED, State.DEAD, State.WAITING, State.PENDING)

ACTIVITIES: Final = {
    "turn": "waiting for a site's turn",
    "room": "waiting for room",
    "probing": "probing sites that are down",
    "resolving": "resolving names",
    "connecting": "connecting",
    "tls": "making it secure",
    "first_byte": "waiting for answers",
    "receiving": "receiving",
    "reading": "reading",
    "other": "other",
}
"""What a worker does, in words; each has a class of its own, so that its colour stays when its share does not."""

COLUMNS: Final = (
    ("Site", "name", "", ""),
    ("State", "state", "", ""),
    ("Owed", "owed", "-", "number"),
    ("Fetched", "fetched", "-", "number"),
    ("Delay", "delay", "-", "number"),
    ("Breaker", "failures", "-", ""),
    ("robots.txt", "", "", ""),
    ("Last error", "trouble", "-", ""),
)
"""Of the table of sites: its head, by what it sorts, what stands first then (a minus: the greatest), and its class."""


class Column(Struct, frozen=True):
    """`sorted_as` is what a screen reader says: ascending, descending or nothing."""

    name: str
    href: str = ""
    sorted_as: str = ""
    kind: str = ""


class Hop(Struct, frozen=True):
    """One station of a chain of redirects. `back_to` is the number of the one that a circle leads back to."""

    url: str
    status: int | None = None
    address: str = ""
    note: str = ""
    back_to: int | None = None
    is_end: bool = False
    is_trouble: bool = False


class Told(Struct, frozen=True):
    """A moment of a story; `visit` is what is on record of it."""

    moment: Moment
    kind: str
    visit: VisitShown | None = None
    hops: tuple[Hop, ...] = ()


class Question(Struct, frozen=True):
    """Asked before something that cannot be undone. `fields` go with the form that says yes."""

    title: str
    text: str
    about: tuple[str, ...]
    yes: str
    action: str
    fields: tuple[tuple[str, str], ...]
    back: str


def overview_parts(view: Overview) -> dict[str, Any]:
    """All that the overview draws."""
    stretches = [_stretch(point) for point in view.history]
    while view.running is False and stretches and not any(stretches[-1].amounts):
        stretches.pop()  # what is over ends where it ended, however long one looks at it afterwards
    merged = coarser(stretches, _STRETCHES)
    area: Area = stacked_area(merged, [(name, kind) for _, name, kind in OUTCOMES], _area_title(view))
    states = view.states
    amounts = [getattr(states, state.value) for state in _STATES]
    activity = view.activity[:_MOST_ACTIVITIES]
    shades = [f"busy-{share.name if share.name in ACTIVITIES else 'other'}" for share in activity]
    percents = hundredths([share.seconds for share in activity])
    pages = [stretch.rates[0] for stretch in coarser(stretches, _SPARKS)]
    return {
        "lead": lead(view),
        "area": area,
        "outcomes": [(name, kind, getattr(view.totals, field)) for field, name, kind in OUTCOMES],
        "spark": sparkline(pages, f"Pages a second, up to {max(pages, default=0.0):.1f}"),
        "ledger": list(zip(_STATES, amounts, hundredths(amounts), strict=True)),
        "ledger_bar": stacked_bar(zip(map(str, _STATES), amounts, strict=True), "URLs by state, as in the table below"),
        "adds_up": states.discovered == sum(amounts),
        "activity": [
            (ACTIVITIES.get(share.name, share.name.replace("_", " ")), shade, percent, share.seconds)
            for share, shade, percent in zip(activity, shades, percents, strict=True)
        ],
        "activity_bar": stacked_bar(
            ((shade, share.seconds) for share, shade in zip(activity, shades, strict=True)),
            "Shares of worker time, as in the table below",
        ),
        "reasons": [
            ("Errors", view.errors, {}, "failed"),
            ("Dead letters", view.dead, {"state": "dead"}, "failed"),
            ("Skipped URLs", view.skipped, {"state": "skipped"}, "skipped"),
        ],
    }


def crawl_in_words(view: Overview) -> str:
    """Does it run? One line for every page."""
    if view.running is False:
        return finish_in_words(view.finish).rstrip(".")
    if view.started_at is None:
        return "its stores are watched"
    return f"running for {duration(max(view.at - view.started_at, 0.0))}"


def lead(view: Overview) -> str:
    states = view.states
    return (
        f"{counted(states.discovered, 'URL is', 'URLs are')} known on {counted(states.sites, 'site')}: "
        f"{grouped(states.fetched)} fetched, {grouped(states.pending + states.waiting)} owed a visit."
    )


def site_columns(sort: str, can_act: bool, **query: object) -> list[Column]:  # noqa: FBT001 - one more column
    columns = [_column(*column, sort, query) for column in COLUMNS]
    return [*columns, Column("Orders")] if can_act else columns


def reasons_by_family() -> list[tuple[str, list[str]]]:
    return [(family.value, [one.value for one in Reason if one.family is family]) for family in Family]


def told_story(story: StoryShown) -> list[Told]:
    """The moments in order, each visit with what is on record of it."""
    visits = iter(story.visits)
    told = []
    for moment in story.timeline:
        visit = next(visits, None) if moment.kind == "visited" else None
        told.append(Told(moment, _kind(moment, visit), visit, () if visit is None else hops_of(visit)))
    return told


def hops_of(visit: VisitShown) -> tuple[Hop, ...]:
    """Where its redirects led, station by station, to the end or to where they were left. Empty without any."""
    if not visit.chain or (len(visit.chain) == 1 and _target(visit) is None):
        return ()
    stations = [Hop(step.url, step.status, step.address or "") for step in visit.chain]
    target = _target(visit)
    if target is None:
        return (*stations[:-1], replace(stations[-1], is_end=True, is_trouble=visit.status == "failed"))
    if visit.reason is None:
        return (*stations, Hop(target, note="on another site: a visit of its own", is_end=True))
    urls = [step.url for step in visit.chain]
    back_to = urls.index(target) + 1 if target in urls else None
    end = Hop(target, note=f"not followed: {visit.reason}", back_to=back_to, is_end=True, is_trouble=True)
    return (*stations, end)


def _target(visit: VisitShown) -> str | None:
    """Where the last answer of a chain sends one that was not followed there; None: it is the end."""
    last = visit.chain[-1]
    if last.location is not None:
        return visit.final_url if visit.reason is None else urljoin(last.url, last.location)
    if not 300 <= last.status < 400:
        return None
    # A redirect that was not followed is no hop: what it said is among the headers.
    said = next((value for name, value in visit.headers if name.lower() == "location"), None)
    try:
        return None if said is None else urljoin(last.url, said)
    except ValueError:
        return said


def back_path(path: object, otherwise: str) -> str:
    """Where a form came from, when that is a place of ours: nobody is led away by it."""
    text = str(path or "")
    is_ours = text.startswith("/") and not text.startswith("//") and "\\" not in text and text.isprintable()
    return text if is_ours else otherwise


def _stretch(point: Point) -> Stretch:
    amounts = tuple(float(getattr(point, field)) for field, _, _ in OUTCOMES)
    return Stretch(point.at - point.seconds, point.at, amounts)


def _area_title(view: Overview) -> str:
    totals = ", ".join(f"{getattr(view.totals, field)} {name}" for field, name, _ in OUTCOMES)
    return f"Outcomes of visits over time, per second; in all {totals}"


def _column(name: str, key: str, first: str, kind: str, sort: str, query: dict[str, object]) -> Column:
    if not key:
        return Column(name, kind=kind)
    is_down = sort.startswith("-")
    if sort.removeprefix("-") == key:
        turned = key if is_down else f"-{key}"
        return Column(name, link("/sites", sort=turned, **query), "descending" if is_down else "ascending", kind)
    return Column(name, link("/sites", sort=f"{first}{key}", **query), kind=kind)


def _kind(moment: Moment, visit: VisitShown | None) -> str:
    if moment.is_trouble:
        return "bad"
    if moment.kind == "visited":
        return "ok" if visit is None or visit.status in {"fetched", "not_modified"} else "info"
    return {"next": "next", "retried": "wait", "refused": "bad"}.get(moment.kind, "")


def shares(counts: Sequence[int]) -> list[float]:
    """Of the greatest, for bars."""
    top = max(counts, default=0)
    return [count / top if top else 0.0 for count in counts]
