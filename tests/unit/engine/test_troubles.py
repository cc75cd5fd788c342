"""Which sites are in trouble, as far as one worker knows?"""

from outrider.engine.troubles import LATELY, Troubles
from outrider.model.progress import WorstBreaker
from outrider.model.site import Breaker, BreakerState, Site
from outrider.policy.breaker import BreakerLimits

NOW = 1_000_000.0
OPEN, HALF_OPEN = BreakerState.OPEN, BreakerState.HALF_OPEN


def site(key: str, openings: int = 1, state: BreakerState = OPEN, wait: float = 30.0) -> Site:
    return Site(key, breaker=Breaker(state, failures=5, openings=openings, probe_at=NOW + wait))


def troubles(*sites: Site) -> Troubles:
    known = Troubles(BreakerLimits())
    for each in sites:
        known.note(each, NOW)
    return known


def test_without_trouble_the_breaker_is_closed() -> None:
    """S4-48"""
    known = troubles(Site("a.example"))

    assert (known.down(NOW), known.worst(NOW)) == (0, WorstBreaker())


def test_the_worst_is_the_site_that_is_left_alone_longest() -> None:
    """S4-48, C4: one breaker a site, so that one number can only be that of the worst."""
    weak = Site("weak.example", breaker=Breaker(failures=4))
    known = troubles(site("a.example"), site("b.example", openings=3), weak)

    assert known.down(NOW) == 2
    assert known.worst(NOW) == WorstBreaker(backoff=120.0, failures=7, is_open=True)


def test_failures_are_seen_before_a_breaker_opens() -> None:
    known = troubles(Site("weak.example", breaker=Breaker(failures=4)))

    assert (known.down(NOW), known.worst(NOW)) == (0, WorstBreaker(failures=4))


def test_one_who_gets_worse_or_better_changes_places() -> None:
    known = troubles(site("a.example"), site("b.example", openings=2))
    before = known.worst(NOW)
    known.note(site("a.example", openings=4), NOW)
    worse = known.worst(NOW)
    known.note(Site("a.example"), NOW)

    assert [breaker.backoff for breaker in (before, worse, known.worst(NOW))] == [60.0, 240.0, 60.0]
    assert known.down(NOW) == 1


def test_the_worst_is_half_open_while_it_is_being_probed() -> None:
    """S4-48"""
    known = troubles(site("a.example"), site("b.example", openings=2))

    assert known.worst(NOW, [site("a.example", state=HALF_OPEN)]).state == 1
    assert known.worst(NOW, [site("b.example", state=HALF_OPEN)]).state == 2


def test_a_site_that_was_set_aside_is_no_trouble_any_more() -> None:
    known = troubles(site("a.example"))

    known.note(Site("a.example", breaker=site("a.example").breaker, set_aside=True), NOW)

    assert (known.down(NOW), known.worst(NOW)) == (0, WorstBreaker())


def test_a_site_of_which_nothing_was_heard_since_its_probe_was_due_is_forgotten() -> None:
    """Another worker may have found it back: this one would never hear of it."""
    known = troubles(site("a.example", wait=300.0), Site("weak.example", breaker=Breaker(failures=2)))

    soon, later = NOW + 300.0 + LATELY - 1, NOW + 300.0 + LATELY + 6

    assert (known.down(soon), known.worst(soon).is_open) == (1, True)
    assert (known.down(later), known.worst(later)) == (0, WorstBreaker())


def test_a_clock_that_was_set_back_forgets_nothing_and_hangs_nothing() -> None:
    known = troubles(site("a.example"))
    known.down(NOW)

    assert known.down(NOW - 10_000) == 1
