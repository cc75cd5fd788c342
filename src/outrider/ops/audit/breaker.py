"""Was a site that is down left alone, but for probes that were due?

When a probe is sent, it is on record since when it was allowed and how often the breaker had opened: so it is known by
when it had opened at the latest, and nothing may have been asked between the two. After a probe that failed, only
another probe may follow, unless the site was down for so long that it was set aside, and somebody revived it.
"""

from collections.abc import Iterator

from outrider.model.asked import Asked, AskedFor, Manners
from outrider.model.reason import Reason
from outrider.model.site import BreakerState
from outrider.ops.audit.moments import SLACK, moment
from outrider.ops.audit.report import Findings, Rule, Violation
from outrider.policy.breaker import BreakerLimits, pause


class BreakerCheck:
    """Of one site."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._last: tuple[Asked, Manners] | None = None
        self._probe: Asked | None = None
        self._down_since: float | None = None
        self._failed = 0

    def look(self, asked: Asked, manners: Manners) -> Iterator[Violation]:
        if asked.kind is AskedFor.PROBE:
            yield from self._look_at_probe(asked, manners)
        else:
            yield from self._look_at_other(asked, manners)
            self._last = asked, manners
        self._hear(asked)

    def _look_at_probe(self, asked: Asked, manners: Manners) -> Iterator[Violation]:
        self._findings.checked(Rule.BREAKER)
        before, self._probe = self._probe, asked
        if asked.probe_at is None:
            return
        if asked.at < asked.probe_at - SLACK:
            early = asked.probe_at - asked.at
            yield _violation(asked, f"probed {early:.3f} s before {moment(asked.probe_at)}, when it was due")
        if before is not None and before.visit == asked.visit and before.probe_at == asked.probe_at:
            return  # the second request of the same probe
        if self._last is not None:
            last, its = self._last
            open_from = asked.probe_at - min(pause(asked.openings, _limits(one)) for one in (manners, its))
            # Of several visits at once one may have been waiting for its turn, and had it when the probe was due.
            open_until = asked.at if manners.site_concurrency == 1 else asked.probe_at
            if open_from + SLACK < last.at < open_until - SLACK:
                opened = f"the breaker had opened by {moment(open_from)}"
                yield _violation(last, f"{opened}, and the site was not probed before {moment(asked.at)}")

    def _look_at_other(self, asked: Asked, manners: Manners) -> Iterator[Violation]:
        self._findings.checked(Rule.BREAKER)
        if asked.breaker is not BreakerState.CLOSED:
            # Of several visits at once, one that was under way when it opened has its turn when the probe is due.
            if manners.site_concurrency > 1 and asked.probe_at is not None and asked.at >= asked.probe_at - SLACK:
                return
            yield _violation(asked, f"the breaker was {asked.breaker}")
        elif self._failed and self._probe is not None and not self._may_be_revived(asked, manners):
            yield _violation(asked, f"the probe at {moment(self._probe.at)} had failed, and none had succeeded since")

    def _hear(self, asked: Asked) -> None:
        is_alive = asked.status is not None and asked.status < 500 and asked.status != 429
        if is_alive:
            self._failed, self._down_since = 0, None
        elif asked.kind is AskedFor.PROBE:
            self._failed += 1
            self._down_since = asked.at if self._down_since is None else self._down_since
        elif self._down_since is None:
            self._down_since = asked.at

    def _may_be_revived(self, asked: Asked, manners: Manners) -> bool:
        limits = _limits(manners)
        if self._probe is not None and self._probe.reason == Reason.DNS_NOT_FOUND:
            return self._failed >= limits.give_up_probes_without_name
        too_often = limits.give_up_probes is not None and self._failed >= limits.give_up_probes
        since = asked.at if self._down_since is None else self._down_since
        return too_often or (limits.give_up_after is not None and asked.at - since >= limits.give_up_after)


def _limits(manners: Manners) -> BreakerLimits:
    return BreakerLimits(
        backoff=manners.breaker_backoff,
        multiplier=manners.breaker_multiplier,
        max_backoff=manners.breaker_max_backoff,
        ladder=manners.breaker_ladder,
        give_up_after=manners.give_up_after,
        give_up_probes=manners.give_up_probes,
    )


def _violation(asked: Asked, evidence: str) -> Violation:
    return Violation(Rule.BREAKER, f"{asked.kind} {asked.method}: {evidence}", asked.site, asked.url, asked.at)
