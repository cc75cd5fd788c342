"""A web that follows its script, a visitor, and a site to hold."""

from collections.abc import Mapping
from typing import Final

from outrider.app import (
    admission,
    pace_limits,
    retry_limits,
    robots_settings,
    visit_rules,
)
from outrider.fetch.ask import Asker
from outrider.fetch.hold import Hold
from outrider.fetch.robots_txt import RobotsTexts
from outrider.fetch.visit import Haul, Visitor
from outrider.model.outcome import (
    Outcome,
)
from outrider.model.site import Breaker, Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.admit import Reach
from outrider.policy.pace import fresh_pace
from outrider.ports import Response
from outrider.settings import Settings, settings_of
from outrider.testing.clock import FakeClock
from outrider.testing.site import Script, ScriptedSite, page

ROOT: Final = "http://example.com"
A: Final = Url(f"{ROOT}/a")
B: Final = Url(f"{ROOT}/b")
ROBOTS: Final = f"{ROOT}/robots.txt"
START: Final = 1_000_000.0
QUICK: Final = settings_of(delay=0)
PAGE: Final = "<!doctype html><title>a page</title>"


def to(where: str, status: int = 302) -> Response:
    return page(b"", status, location=where)


def rules(text: str) -> Response:
    return page(text, content_type="text/plain")


class Scene:
    """The web by its script, a visitor, and a site to hold. Luck is 0, so that moments are exact."""

    def __init__(
        self,
        table: Mapping[str, Script],
        settings: Settings = QUICK,
        *,
        breaker: Breaker | None = None,
        reach: Reach = Reach.ANY,
        lease: float = 300.0,
    ) -> None:
        self.clock = FakeClock(START)
        self.web = ScriptedSite(table, self.clock)
        self.settings = settings
        pace = pace_limits(settings)
        asker = Asker(self.web, self.clock, retry_limits(settings), lambda: 0.0, pace)
        robots = RobotsTexts(asker, self.clock, robots_settings(settings))
        admit = admission(settings, reach, [A])
        self.visitor = Visitor(asker, robots, self.clock, visit_rules(settings, admit), lambda: "id")
        site = Site("example.com", pace=fresh_pace(pace), breaker=breaker or Breaker())
        self.hold = Hold(site, self.clock, START + lease)

    async def visit(self, task: Task | Url = A) -> Haul:
        return await self.visitor.visit(task if isinstance(task, Task) else Task(task), self.hold)

    async def outcome(self, task: Task | Url = A) -> Outcome:
        return (await self.visit(task)).visit.outcome

    @property
    def asked(self) -> list[str]:
        return [f"{request.method} {request.url.removeprefix(ROOT)}" for _, request in self.web.asked]

    @property
    def asked_at(self) -> list[float]:
        return [at - START for at, _ in self.web.asked]
