"""What becomes of the task, and of its site?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from outrider.model.outcome import (
    Body,
    Failed,
    Failure,
    Fetched,
    Hop,
    Moved,
    NotModified,
    Outcome,
    Scope,
    Skipped,
    Validators,
    Visit,
)
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Done, Later, MovedTo, Settlement, Skip
from outrider.model.site import Breaker, BreakerState, Site, Trouble
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.policy.classify import classify
from outrider.policy.pace import ready_at
from outrider.policy.recrawl import RecrawlRules
from outrider.policy.settle import SettleRules, expired, settle

RULES = SettleRules()
NOW = 1_000.0
A, B = Url("http://example.com/a"), Url("http://example.com/b")
TASK = Task(A)
SITE = Site("example.com")
FETCHED = Fetched(A, 200, Body(3, "new"), Validators('"1"'))
REFUSED = Failed(Failure(Reason.CONNECT_REFUSED, Scope.SITE, transient=True))


def answered(status: int, retry_after: float | None = None) -> Failed:
    failure = classify(status, retry_after=retry_after)
    assert failure is not None
    return Failed(failure)


def after(
    outcome: Outcome, task: Task = TASK, site: Site = SITE, rules: SettleRules = RULES, hops: tuple[Hop, ...] = ()
) -> tuple[Settlement, Site]:
    visit = Visit("1", task.url, NOW - 1, NOW, outcome, hops, requests=1)
    return settle(task, visit, site, rules, url=1, jitter=0.0)


def test_a_fetched_page_is_done_and_proves_life() -> None:
    """S0-7, S0-23, S4-28, C3, H0-10: validators are kept, nothing of an old error is."""
    done, site = after(FETCHED, site=replace(SITE, breaker=Breaker(failures=3)))

    assert done == Done(A, A, 200, Validators('"1"'), Changes(), "new", visited_at=NOW)
    assert (site.breaker, site.alive_at, site.fetched) == (Breaker(), NOW, 1)


def test_a_304_is_done_and_keeps_what_was_known() -> None:
    """C16, S0-7, S0-29, H0-10."""
    known = replace(TASK, content_sha256="old", validators=Validators('"1"'), visited_at=NOW - 100)

    done, _ = after(NotModified(A, Validators('"1"')), known)

    assert isinstance(done, Done)
    assert (done.status, done.sha256, done.validators.etag) == (304, "old", '"1"')
    assert done.changes.changed == 0.0


@pytest.mark.parametrize(
    ("status", "rewrite_on_any", "name"), [(301, True, B), (302, True, B), (301, False, B), (302, False, A)]
)
def test_a_redirected_page_takes_its_final_name_and_keeps_the_asked_one_as_alias(
    status: int, name: Url, *, rewrite_on_any: bool
) -> None:
    """C10, C11, S0-8, S0-10, S0-11, S0-21, S0-28."""
    hops = (Hop(A, status, location="/b"), Hop(B, 200))

    done, _ = after(Fetched(B, 200, Body(1, "x")), rules=SettleRules(rewrite_on_any=rewrite_on_any), hops=hops)

    assert isinstance(done, Done)
    assert (done.url, done.asked) == (name, A)


def test_a_move_to_another_site_becomes_an_alias() -> None:
    """C12."""
    elsewhere = Url("https://example.org/")

    settlement, site = after(Moved(elsewhere, permanent=True))

    assert settlement == MovedTo(elsewhere)
    assert site.alive_at == NOW


def test_a_skip_ends_the_task_and_says_nothing_about_the_site() -> None:
    """C14, C15, S4-6, S4-31."""
    counting = replace(SITE, breaker=Breaker(failures=3))

    settlement, site = after(Skipped(Reason.ROBOTS_DISALLOWED, "line 3"), site=counting)

    assert settlement == Skip(Reason.ROBOTS_DISALLOWED, "line 3")
    assert site.breaker.failures == 3
    assert site.alive_at is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418])
def test_a_4xx_is_dead_at_once(status: int) -> None:
    """C18, H0-11, S3-14, S4-18, S4-28."""
    settlement, site = after(answered(status))

    assert settlement == Dead(Reason.of_status(status), 1, status=status)
    assert site.alive_at == NOW


@pytest.mark.parametrize(
    "reason", [Reason.UNSUPPORTED_CONTENT_TYPE, Reason.EMPTY_BODY, Reason.UNDECODABLE, Reason.BODY_TOO_LARGE]
)
def test_content_we_cannot_use_is_dead_with_its_own_reason(reason: Reason) -> None:
    """C28, S3-17 to S3-19."""
    assert after(Failed(Failure(reason)))[0] == Dead(reason, 1)


def test_a_500_is_visited_again_after_2_and_4_minutes_and_then_dead() -> None:
    """DESIGN 2.1, C2, S0-19, S3-20, S3-21, S4-5."""
    task, dues = TASK, []
    while isinstance(settlement := after(answered(500), task)[0], Later):
        dues.append(settlement.due_at - NOW)
        task = replace(task, visits=settlement.visits)

    assert dues == [120.0, 240.0]
    assert settlement == Dead(Reason.HTTP_500, 3, status=500)


@pytest.mark.parametrize(("revisits", "visits"), [(0, 1), (1, 2), (3, 4)])
def test_redirect_trouble_is_looked_at_again_as_often_as_set(revisits: int, visits: int) -> None:
    """C8, S0-16, S0-19, S3-13: never inline, once later by default."""
    task, rules = TASK, SettleRules(redirect_revisits=revisits)
    while isinstance(settlement := after(Failed(Failure(Reason.TOO_MANY_REDIRECTS)), task, rules=rules)[0], Later):
        task = replace(task, visits=settlement.visits)

    assert settlement == Dead(Reason.TOO_MANY_REDIRECTS, visits)


def test_a_site_wide_failure_spends_nothing_and_waits_for_the_probe() -> None:
    """C18, C32, S4-5, S4-24, S4-28."""
    task, site, dues = TASK, SITE, []
    for n in range(5):
        settlement, site = after(REFUSED, task, site)
        assert isinstance(settlement, Later)
        assert (settlement.visits, settlement.deferrals) == (0, n + 1)
        task = replace(task, deferrals=settlement.deferrals, deferred_at=settlement.deferred_at)
        dues.append(settlement.due_at)

    assert site.breaker.state is BreakerState.OPEN
    assert dues[-1] == site.not_before == site.breaker.probe_at == NOW + 30


def test_a_url_that_fails_site_wide_while_the_site_answers_others_is_set_aside_and_never_dead() -> None:
    """H4-2: one bad URL must not circulate for ever; S4-5: it is no dead letter either."""
    task, settlements = replace(TASK, deferred_at=NOW - 500, deferrals=1), []
    alive = replace(SITE, alive_at=NOW - 10)
    for _ in range(10):
        settlement, _ = after(answered(502), task, alive)
        settlements.append(settlement)
        if not isinstance(settlement, Later):
            break
        task = replace(task, visits=settlement.visits, deferred_at=NOW - 500)

    assert [type(settlement) for settlement in settlements] == [Later, Later, Skip]
    assert settlements[-1] == Skip(Reason.HTTP_502, "failed 3 times while the site answered others")


def test_a_429_puts_the_site_in_cool_down_and_not_the_url_in_the_dead_letters() -> None:
    """C17, S3-10, S3-11, S4-19."""
    settlement, site = after(answered(429, 60.0))

    assert isinstance(settlement, Later)
    assert settlement.due_at == site.not_before == NOW + 60
    assert (settlement.visits, site.breaker) == (0, Breaker())
    assert site.pace.interval == 2.0

    settlement, _ = after(answered(429), replace(TASK, deferrals=30))
    assert settlement == Skip(Reason.RATE_LIMITED, "put off 30 times")


def test_a_503_with_retry_after_is_a_cool_down_too() -> None:
    settlement, site = after(answered(503, 60.0))

    assert isinstance(settlement, Later)
    assert site.breaker == Breaker()
    assert ready_at(site) == NOW + 60


def test_a_failure_without_contact_is_no_new_sign() -> None:
    """C15: a robots.txt that is remembered as unreachable is counted when it is asked for, not once per URL."""
    unreachable = Failed(Failure(Reason.ROBOTS_UNREACHABLE, Scope.SITE))
    visit = Visit("1", A, NOW, NOW, unreachable, requests=0)

    settlement, site = settle(TASK, visit, SITE, RULES, url=1, jitter=0.0)

    assert isinstance(settlement, Later)
    assert site.breaker == Breaker()


def test_a_site_given_up_sets_its_task_aside() -> None:
    """DESIGN 2.2: `site_unreachable`, apart from the dead letters."""
    down = Breaker(BreakerState.HALF_OPEN, failures=5, openings=5, probes=5, down_since=NOW - 3600)

    settlement, site = after(REFUSED, site=replace(SITE, breaker=down))

    assert settlement == Skip(Reason.SITE_UNREACHABLE, "connect_refused")
    assert site.set_aside


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (answered(500), Reason.HTTP_500),
        (answered(503), Reason.HTTP_503),
        (answered(429), Reason.RATE_LIMITED),
        (Failed(Failure(Reason.CONNECT_REFUSED, Scope.SITE, transient=True)), Reason.CONNECT_REFUSED),
        (answered(404), None),
        (FETCHED, None),
        (Skipped(Reason.ROBOTS_DISALLOWED), None),
    ],
)
def test_a_site_remembers_its_last_trouble_and_not_that_of_a_page(outcome: Outcome, reason: Reason | None) -> None:
    before = Trouble(Reason.DNS_FAILURE, NOW - 100)

    _, site = after(outcome, site=replace(SITE, trouble=before))

    assert site.trouble == (before if reason is None else Trouble(reason, NOW))


def test_a_lease_may_expire_only_so_often() -> None:
    """H0-4, H0-5: recoveries are counted and capped."""
    assert expired(replace(TASK, visits=1), NOW, RULES) == Later(NOW, Reason.LEASE_EXPIRED_TOO_OFTEN, 1)
    assert isinstance(expired(replace(TASK, recoveries=4), NOW, RULES), Later)
    assert isinstance(expired(replace(TASK, recoveries=5), NOW, RULES), Dead)


def test_a_page_that_is_crawled_again_is_due_when_it_may_have_changed() -> None:
    rules = SettleRules(recrawl=RecrawlRules(first=500.0, least=100.0))

    first, _ = after(FETCHED, rules=rules)
    assert isinstance(first, Done)
    assert first.due_at == NOW + 500

    known = replace(TASK, visited_at=NOW - 500, content_sha256="new")
    unchanged, _ = after(FETCHED, known, rules=rules)
    assert isinstance(unchanged, Done)
    assert unchanged.due_at == NOW + 1000


def test_a_known_page_is_a_tombstone_only_after_repeated_404s() -> None:
    rules = SettleRules(recrawl=RecrawlRules())
    known = replace(TASK, visited_at=NOW - 500)

    first, _ = after(answered(404), known, rules=rules)
    assert isinstance(first, Later)
    assert first.gone == 1

    third, _ = after(answered(404), replace(known, changes=Changes(gone=2)), rules=rules)
    assert isinstance(third, Dead)


outcomes = st.one_of(
    st.just(FETCHED),
    st.just(NotModified(A)),
    st.just(Moved(B, permanent=False)),
    st.builds(Skipped, st.sampled_from(Reason)),
    st.builds(
        lambda *args: Failed(Failure(*args)),
        st.sampled_from(Reason),
        st.sampled_from(Scope),
        st.booleans(),
        st.none() | st.sampled_from([304, 404, 410, 429, 500, 502, 503]),
        st.none() | st.floats(0, 1e7),
    ),
)
sites = st.builds(
    Site,
    st.just("example.com"),
    not_before=st.floats(0, 2_000),
    breaker=st.builds(
        Breaker,
        st.sampled_from(BreakerState),
        failures=st.integers(0, 9),
        openings=st.integers(1, 20),
        probes=st.integers(0, 20),
        probe_at=st.floats(0, 2_000),
        down_since=st.none() | st.floats(0, 1_000),
    ),
    alive_at=st.none() | st.floats(0, 1_000),
)
tasks = st.builds(
    Task,
    st.just(A),
    visits=st.integers(0, 5),
    deferrals=st.integers(0, 40),
    deferred_at=st.none() | st.floats(0, 1_000),
    visited_at=st.none() | st.floats(0, 1_000),
)


@given(outcomes, tasks, sites, st.sampled_from([RULES, SettleRules(recrawl=RecrawlRules())]), st.floats(0, 1))
def test_every_outcome_settles_and_no_site_is_ready_earlier_for_it(
    outcome: Outcome, task: Task, site: Site, rules: SettleRules, jitter: float
) -> None:
    visit = Visit("1", A, NOW - 1, NOW, outcome, requests=1)

    settlement, settled = settle(task, visit, site, rules, url=1, jitter=jitter)

    assert isinstance(settlement, Done | MovedTo | Skip | Later | Dead)
    assert ready_at(settled) >= ready_at(site)
    if isinstance(settlement, Later):
        assert settlement.due_at >= NOW
        # Something was spent, or the site is what we wait for: a task cannot circle for ever.
        assert settlement.visits > task.visits or settlement.deferrals > task.deferrals or settlement.gone
    if isinstance(settlement, Dead):
        assert isinstance(outcome, Failed)
        assert outcome.failure.scope is Scope.URL
    if settled.breaker.state is BreakerState.OPEN:
        assert settled.not_before >= settled.breaker.probe_at


# single sites that are looked at more or less often than the others


@pytest.mark.parametrize(
    ("site", "recrawl", "wait"),
    [
        ("example.com", RecrawlRules(), 60.0),
        ("other.test", RecrawlRules(), RecrawlRules().first),
        ("example.com", None, None),
    ],
)
def test_a_site_may_have_an_interval_of_its_own(site: str, recrawl: RecrawlRules | None, wait: float | None) -> None:
    """Without recrawl there is none: a single site is an exception from a rule, and there is no rule."""
    every_minute = RecrawlRules(first=60.0, least=60.0, most=60.0)
    rules = SettleRules(recrawl=recrawl, recrawl_sites={"example.com": every_minute})

    done, _ = after(FETCHED, site=Site(site), rules=rules)

    assert isinstance(done, Done)
    assert done.due_at == (None if wait is None else NOW + wait)


@pytest.mark.parametrize("changed", [True, False])
def test_an_interval_of_its_own_is_kept_however_often_the_page_changes(changed: bool) -> None:  # noqa: FBT001 - a column
    every_minute = RecrawlRules(first=60.0, least=60.0, most=60.0)
    rules = SettleRules(recrawl=RecrawlRules(), recrawl_sites={"example.com": every_minute})
    task = replace(TASK, visited_at=NOW - 60, content_sha256="old" if changed else "new", changes=Changes(9, 5, 600))

    done, _ = after(FETCHED, task, rules=rules)

    assert isinstance(done, Done)
    assert done.due_at == NOW + 60.0
