"""The story of one URL as it is shown: see `shapes`."""

from typing import Literal

from msgspec import Struct

from outrider.model.record import Decision
from outrider.ops.story import Discovery, Outlook, Standing
from outrider.policy.admit_explained import Ruling
from outrider.web.shapes import RobotsShown, SiteRow


class Step(Struct, frozen=True, rename="camel"):
    """One hop of a chain, as answered; the last one has no `location` unless the chain leads away."""

    url: str
    status: int
    location: str | None = None
    at: float | None = None
    address: str | None = None


class Phase(Struct, frozen=True, rename="camel"):
    """A part of the last answer: seconds since its request began."""

    name: str
    start: float
    end: float


class VisitShown(Struct, frozen=True, rename="camel"):
    """One visit on record. `asked_for` may be another name; `chain` is empty where nothing was answered."""

    fetch_id: str
    asked_for: str
    status: str
    status_code: int
    final_url: str
    at: float | None
    seconds: float
    reason: str | None = None
    meaning: str = ""
    error: str | None = None
    content_type: str | None = None
    content_length: int = 0
    content_hash: str | None = None
    title: str | None = None
    canonical: str | None = None
    directives: tuple[str, ...] = ()
    links: int = 0
    attempts: int = 0
    retries: int = 0
    truncated: bool = False
    confidence: str = ""
    content_key: str | None = None
    robots: str = ""
    chain: tuple[Step, ...] = ()
    phases: tuple[Phase, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


class Moment(Struct, frozen=True, rename="camel"):
    """Something that happened to the URL, or will: `kind` is what, `text` a sentence, `at` None where nobody knows."""

    kind: Literal["discovered", "refused", "retried", "visited", "now", "next"]
    text: str
    at: float | None = None
    detail: str = ""
    is_trouble: bool = False


class StoryShown(Struct, frozen=True, rename="camel"):
    """The whole story of one URL. `timeline` tells it in order; `visits` are oldest first; `other` is its other name.

    `is_letter`: it was given up, and an operator may owe it a visit again, or drop it for good.
    """

    url: str
    at: float
    site: SiteRow
    standing: Standing
    outlook: Outlook
    can_act: bool
    is_letter: bool = False
    meaning: str = ""
    has_records: bool = True
    discovery: Discovery | None = None
    decisions: tuple[Decision, ...] = ()
    visits: tuple[VisitShown, ...] = ()
    timeline: tuple[Moment, ...] = ()
    rulings: tuple[Ruling, ...] = ()
    robots: RobotsShown | None = None
    other: str | None = None
