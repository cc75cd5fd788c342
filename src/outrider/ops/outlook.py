"""When will this URL be visited next, and what stands against it? Or why never again, and what would bring it back?

Pure: the moment and all that is known come in. The law is that of `policy.select`: a task is lent when it is due and
its site may be asked, and nothing else counts.
"""

from collections.abc import Iterator
from typing import Final, assert_never

from outrider.model.ledger import State
from outrider.model.reason import Reason
from outrider.model.site import BreakerState
from outrider.observe.words import counted, duration, moment
from outrider.ops.meaning import JUDGED_AGAIN, SETTINGS, meaning
from outrider.ops.story import Knowledge, Outlook, Prospect, SiteNow, Standing
from outrider.policy.admit_explained import Ruling, first_refusal

_PLAN: Final = "plan the change (outrider plan --set KEY=VALUE): --apply owes what the other rules admit"
_PLAN_TODAY: Final = "let today's rules hold for what was refused before, too (outrider plan): --apply owes it a visit"
_REPLAY: Final = "replay it (outrider dlq replay --url URL): it is owed a visit again, with fresh counts"
_REVIVE: Final = "revive it (Frontier.revive): it is owed a visit again, with fresh counts"
_PUSH: Final = "push it into a service's queue again: what is asked for again is visited again"
_ANEW: Final = "begin the crawl anew (outrider crawl --fresh): what is known is not proposed a second time"
_RECRAWL: Final = "look again: outrider crawl --recrawl visits pages about as often as they change"


def outlook(
    standing: Standing, site: SiteNow, rulings: tuple[Ruling, ...], now: float, *, last: Reason | None = None
) -> Outlook:
    """`last` is why the latest visit on record failed, if it did."""
    match standing.state:
        case None:
            return _unproposed(standing, rulings)
        case State.PENDING | State.WAITING:
            return _owed(standing, site, now, last)
        case State.FETCHED:
            because = "it was fetched, and whoever crawls here looks once"
            return Outlook(Prospect.NEVER, because=(because,), remedies=(_RECRAWL, _PUSH))
        case State.ALIAS:
            because = f"it is another name of {standing.of}, and that page is what is visited"
            return Outlook(Prospect.NEVER, because=(because,), remedies=(_PUSH,))
        case State.SKIPPED | State.DEAD:
            return _ended(standing, site, rulings)
        case _:
            assert_never(standing.state)


def _unproposed(standing: Standing, rulings: tuple[Ruling, ...]) -> Outlook:
    if standing.known_by is Knowledge.RECORDS:
        because = "this frontier does not know it, though a visit of it is on record"
    else:
        because = "nobody has proposed it so far: no seed, no link, no sitemap, no queue"
    refused = first_refusal(rulings)
    if refused is None:
        remedy = "propose it: as a seed, by a link of a page that is visited, or by a service's queue"
        return Outlook(
            Prospect.UNPROPOSED, because=(because, "if somebody did, it would be admitted"), remedies=(remedy,)
        )
    refusal = f"if somebody did, it would be refused: {refused.rule} ({refused.evidence})"
    return Outlook(Prospect.UNPROPOSED, because=(because, refusal), remedies=tuple(_to_be_changed(refused.reason)))


def _to_be_changed(reason: Reason | None) -> Iterator[str]:
    """What would have to be otherwise first, whatever is done afterwards."""
    if reason in SETTINGS:
        yield f"change {SETTINGS[reason]}: the rule is ours"
    elif reason is Reason.ROBOTS_DISALLOWED:
        yield "the site's owner would have to allow it in robots.txt"


def _owed(standing: Standing, site: SiteNow, now: float, last: Reason | None) -> Outlook:
    because = list(_why_owed(standing, last))
    order = site.order
    if site.excluded or (order is not None and order.excluded):
        since = "" if order is None else f" since {moment(order.at)}"
        because.append(f"an operator has excluded {site.key}{since}: nothing of it is visited")
        return Outlook(Prospect.BLOCKED, because=tuple(because), remedies=(_include(site),))
    if order is not None and order.paused:
        because.append(f"an operator has paused {site.key} since {moment(order.at)}: what it owes stays owed")
        remedy = f"resume {site.key}: outrider site resume {site.key}"
        return Outlook(Prospect.BLOCKED, because=tuple(because), remedies=(remedy,))
    due_at, ready_at = standing.due_at or 0.0, site.ready_at
    if due_at > now:
        because.append(f"it is put off until {_until(due_at, now)}")
    because += _why_the_site_waits(site, now)
    if site.held_until is not None and site.held_until > now:
        because.append(f"a worker has {site.key} now, at the latest until {_until(site.held_until, now)}")
        return Outlook(Prospect.UNDER_WAY, max(due_at, ready_at, now), tuple(because))
    at = max(due_at, ready_at)
    if at > now:
        return Outlook(Prospect.LATER, at, tuple(because))
    because.append(f"nothing stands against it: it comes when its turn among the URLs of {site.key} does")
    return Outlook(Prospect.DUE, now, tuple(because))


def _why_owed(standing: Standing, last: Reason | None) -> Iterator[str]:
    if not standing.visits and not standing.deferrals and standing.visited_at is not None:
        yield "it was fetched before, and is looked at again about as often as it changes"
    elif standing.state is State.PENDING:
        yield "it is owed its first visit" if not standing.visits else "it is owed another visit"
    elif last is not None:
        yield f"its last visit failed ({last}): {meaning(last)}"
    if standing.visits:
        yield f"{counted(standing.visits, 'visit')} of it failed by its own fault; the pause doubles each time"
    if standing.deferrals:
        yield f"{counted(standing.deferrals, 'visit')} of it failed by its site's doing, which costs it nothing"
    if standing.recoveries:
        yield f"{counted(standing.recoveries, 'worker')} died while it was being visited; too many, and it ends"


def _why_the_site_waits(site: SiteNow, now: float) -> Iterator[str]:
    breaker = site.breaker
    if breaker.state is not BreakerState.CLOSED:
        since = "" if breaker.down_since is None else f" since {moment(breaker.down_since)}"
        probe = f"in {duration(breaker.probe_at - now)}" if breaker.probe_at > now else "now"
        yield (
            f"{site.key} is down{since}: its circuit is open (opened {counted(breaker.openings, 'time')}), "
            f"and one probe finds out {probe}, at {moment(breaker.probe_at)}"
        )
    elif breaker.failures:
        yield f"{site.key} failed {counted(breaker.failures, 'time')} in a row lately; its circuit is still closed"
    if site.ready_at > now and breaker.state is BreakerState.CLOSED:
        slowed = f" instead of {duration(site.base)}, because it asked us to slow down" if _is_slowed(site) else ""
        yield (
            f"nothing is asked of {site.key} before {_until(site.ready_at, now)}: "
            f"it gets one request every {duration(site.interval)}{slowed}"
        )
    if site.order is not None and site.order.delay is not None:
        yield (
            f"an operator wants {duration(site.order.delay)} between two requests of {site.key}, "
            f"since {moment(site.order.at)}"
        )


def _include(site: SiteNow) -> str:
    return f"include {site.key} again: outrider site include {site.key}"


def _is_slowed(site: SiteNow) -> bool:
    return site.interval > site.base


def _ended(standing: Standing, site: SiteNow, rulings: tuple[Ruling, ...]) -> Outlook:
    reason = standing.reason
    because = [f"{reason}: {meaning(reason)}"] if reason else ["it ended, and nobody wrote down why"]
    remedies: list[str] = []
    if reason is Reason.SITE_UNREACHABLE and site.set_aside:
        because.append(f"{site.key} is set aside, with all that it owes")
    if site.order is not None and site.order.excluded:
        because.append(f"an operator has excluded {site.key} since {moment(site.order.at)}")
        remedies.append(_include(site))
    refused = first_refusal(rulings)
    if reason in JUDGED_AGAIN and refused is None:
        because.append("today's rules would admit it")
        remedies.append(_PLAN_TODAY)
    elif reason in JUDGED_AGAIN and refused is not None:
        remedies += _to_be_changed(refused.reason)
        if refused.reason in SETTINGS:
            remedies.append(_PLAN)
    else:
        remedies += _to_be_changed(reason)
    if standing.can_be_revived:
        remedies.append(_REPLAY if standing.state is State.DEAD else _REVIVE)
    remedies.append(_PUSH)
    if not standing.can_be_revived:
        remedies.append(_ANEW)
    return Outlook(Prospect.NEVER, because=tuple(because), remedies=tuple(remedies))


def _until(at: float, now: float) -> str:
    return f"{moment(at)} (in {duration(at - now)})"
