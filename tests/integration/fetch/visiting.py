"""A farm on loopback, and a visitor who goes there over real sockets, at no pace and with little patience."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from outrider.app import Visits, open_visits
from outrider.fetch.hold import Hold
from outrider.fetch.visit import Haul
from outrider.model.outcome import Failed, Fetched, Skipped
from outrider.model.reason import Reason
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.pace import fresh_pace
from outrider.settings import Settings, settings_of
from outrider.testing.webfarm import Behaviour, Certificates, WebFarm

HOSTS = {"*.test": ("127.0.0.1",)}
HOST = "shop.test"


def impatient(**keys: object) -> Settings:
    """No delay, no waits between tries; what a case is about is given by name."""
    return settings_of(**{"delay": 0, "allow_private": "127.0.0.0/8", "retry_backoff": 0, **keys})


class Scene:
    def __init__(self, farm: WebFarm, visits: Visits, settings: Settings) -> None:
        self.farm = farm
        self._visits = visits
        self._settings = settings

    async def visit(self, path: str = "/", host: str = HOST, *, tls: bool = False) -> Haul:
        return await self.visit_task(Task(Url(self.farm.url(host, path, tls=tls))))

    async def visit_task(self, task: Task) -> Haul:
        """Each visit finds the site rested and in good standing."""
        clock = self._visits.clock
        site = Site(task.url.site(self._settings.site_by), pace=fresh_pace(self._visits.settle.pace))
        return await self._visits.visitor.visit(task, Hold(site, clock, clock.now() + 60.0))

    @property
    def asked(self) -> list[str]:
        return [f"{asked.method} {asked.target}" for asked in self.farm.log]


@asynccontextmanager
async def scene(
    sites: Mapping[str, Mapping[str, Behaviour]],
    *,
    certificates: Certificates | None = None,
    ca_file: Path | None = None,
    settings: Settings | None = None,
    **keys: object,
) -> AsyncIterator[Scene]:
    settings = settings or impatient(**keys)
    async with (
        WebFarm(sites, certificates=certificates) as farm,
        open_visits(settings, hosts=HOSTS, ca_file=str(ca_file) if ca_file else None) as visits,
    ):
        yield Scene(farm, visits, settings)


@asynccontextmanager
async def shop(paths: Mapping[str, Behaviour], **keys: object) -> AsyncIterator[Scene]:
    """A farm of one site."""
    async with scene({HOST: paths}, settings=impatient(**keys)) as opened:
        yield opened


def reason_of(haul: Haul) -> Reason | None:
    """Why there is no page; None when there is one."""
    match haul.visit.outcome:
        case Failed(failure):
            return failure.reason
        case Skipped(reason):
            return reason
        case _:
            return None


def fetched(haul: Haul) -> Fetched:
    outcome = haul.visit.outcome
    assert isinstance(outcome, Fetched), outcome
    return outcome
