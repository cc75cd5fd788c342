"""The two-hour outage of S4-26, on a clock that takes no time: the decisions alone, every probe time asserted."""

from collections import deque

from msgspec.structs import replace

from outrider.errors import ConnectError, TransportError
from outrider.model.outcome import Body, Failed, Fetched, Outcome, Visit
from outrider.model.settlement import Dead, Done, Later
from outrider.model.site import BreakerState, Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.breaker import BreakerLimits, Probe, Proceed, StayAway, begin_probe, next_step
from outrider.policy.classify import classify_error
from outrider.policy.pace import ready_at, reserve
from outrider.policy.settle import SettleRules, settle, settle_site
from outrider.ports import Request, Response
from outrider.testing.clock import FakeClock
from outrider.testing.site import ScriptedSite, page

SERVICE = SettleRules(breaker=BreakerLimits(give_up_after=None, give_up_probes=None))
ROOT = Url("http://example.com/")
OUTAGE = 7_200.0


class SiteWithOutage(ScriptedSite):
    def __init__(self, clock: FakeClock) -> None:
        super().__init__({}, clock)
        self._fake_clock = clock

    async def request(self, request: Request) -> Response:
        self.asked.append((self._fake_clock.now(), request))
        if self._fake_clock.now() < OUTAGE:
            raise ConnectError("nobody is there")
        return page()


async def ask(transport: SiteWithOutage, url: Url, method: str) -> Outcome:
    try:
        answer = await transport.request(Request(url, method))
    except TransportError as error:
        return Failed(classify_error(error))
    return Fetched(url, answer.status, Body(len(answer.body), "0"))


async def test_a_two_hour_outage_costs_nothing_and_needs_nobody() -> None:
    """S4-22 to S4-26, S4-50, C4, C32: requeued, probed at growing gaps, dead letters empty, recovered by itself."""
    clock = FakeClock()
    transport = SiteWithOutage(clock)
    queue = deque(Task(ROOT.resolve(f"/{n}"), sequence=n) for n in range(20))
    site = Site("example.com")
    done, dead, probes = list[Task](), list[Task](), list[float]()

    while queue:
        await clock.sleep(ready_at(site) - clock.now())
        now = clock.now()
        match next_step(site.breaker, now):
            case StayAway(until):
                await clock.sleep(until - now)
            case Probe():
                probes.append(now)
                site = reserve(replace(site, breaker=begin_probe(site.breaker)), now)
                outcome = await ask(transport, ROOT, "HEAD")
                probe = Visit("probe", ROOT, now, clock.now(), outcome, requests=1)
                site = settle_site(site, probe, SERVICE, url=0, jitter=0.0)
            case Proceed():
                task = queue.popleft()
                site = reserve(site, now)
                outcome = await ask(transport, task.url, "GET")
                visit = Visit("visit", task.url, now, clock.now(), outcome, requests=1)
                settlement, site = settle(task, visit, site, SERVICE, url=task.sequence, jitter=0.0)
                match settlement:
                    case Later(visits=0, deferrals=deferrals):
                        queue.append(replace(task, deferrals=deferrals))
                    case Done():
                        done.append(task)
                    case Dead():
                        dead.append(task)

    # five failures, one a second, then 30, 60, 120, 240 s and every 300 s until the site is back
    expected = [4.0 + 30.0]
    for gap in (60.0, 120.0, 240.0):
        expected.append(expected[-1] + gap)
    while expected[-1] < OUTAGE:
        expected.append(expected[-1] + 300.0)
    assert probes == expected
    assert [at for at, request in transport.asked if request.method == "HEAD"] == probes
    during = [request for at, request in transport.asked if at < OUTAGE and request.method == "GET"]
    assert len(during) == 5
    assert (len(done), dead) == (20, [])
    assert sorted(task.sequence for task in done) == list(range(20))
    assert [task.sequence for task in done][-5:] == [0, 1, 2, 3, 4]  # to the back of the queue (S4-24)
    assert site.breaker.state is BreakerState.CLOSED
    assert clock.now() == probes[-1] + 20.0
