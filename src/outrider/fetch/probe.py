"""Is a site that was down back again? One HEAD of its root, and robots.txt by GET where HEAD is refused (C6).

Nothing is tried again here: the next probe is the next try. Redirects are not followed: an answer is an answer.
"""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from outrider.fetch.ask import Asker
from outrider.fetch.hold import Hold
from outrider.model.asked import AskedFor
from outrider.model.outcome import Body, Failed, Failure, Fetched, Outcome, Scope, Visit
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.policy.breaker import begin_probe
from outrider.ports import Clock, Request

_HEAD_REFUSED: Final = frozenset({405, 501})
_CAP: Final = 65_536


async def probe(url: Url, hold: Hold, asker: Asker, clock: Clock, new_id: Callable[[], str]) -> Visit:
    """Ask about the origin of `url`. The result settles the site (`settle_site`) and no task.

    No answer is always the site's failure, so that every probe ends with the breaker closed or open again.
    """
    root = url.resolve("/")
    started_at, requests = clock.now(), hold.requests
    hold.site = replace(hold.site, breaker=begin_probe(hold.site.breaker))
    reply = await asker.ask(Request(root, "HEAD"), hold, again=False, kind=AskedFor.PROBE)
    if reply.response is not None and reply.response.status in _HEAD_REFUSED:
        robots = Request(root.resolve("/robots.txt"), body_cap=_CAP)
        reply = await asker.ask(robots, hold, again=False, kind=AskedFor.PROBE)
    outcome: Outcome
    if reply.response is None:
        outcome = Failed(replace(reply.failure or Failure(Reason.INTERNAL_ERROR), scope=Scope.SITE))
    elif reply.failure is not None:
        outcome = Failed(reply.failure)
    else:
        outcome = Fetched(root, reply.response.status, Body(0, ""))
    return Visit(new_id(), root, started_at, clock.now(), outcome, requests=hold.requests - requests)
