"""What goes into a row comes out of it."""

from hypothesis import given
from hypothesis import strategies as st

from outrider.model.ledger import Entry, State
from outrider.model.outcome import Hop, Validators
from outrider.model.reason import Reason
from outrider.model.site import Breaker, BreakerState, Pace, Site, Trouble
from outrider.model.task import Changes, Origin, Task
from outrider.model.url import Url
from outrider.stores.sqlite.rows import pack_ended, pack_site, pack_task, unpack_ended, unpack_site, unpack_task

urls = st.builds(
    lambda origin, path: Url(f"{origin}/{path}"),
    st.sampled_from(["http://a.org", "https://a.org", "http://a.org:8080", "http://a.org.b.com", "http://[::1]:81"]),
    st.text("ab/?=&%|'\"é", max_size=9),
)
numbers = st.integers(0, 9)
moments = st.sampled_from([0.0, 0.1, 1_700_000_000.123])
tasks = st.builds(
    Task,
    url=urls,
    depth=numbers,
    priority=st.integers(-9, 9),
    origin=st.sampled_from(Origin),
    parent=st.none() | urls,
    via=st.just(()) | st.tuples(st.builds(Hop, urls, numbers)),
    sequence=numbers,
    due_at=moments,
    visits=numbers,
    deferrals=numbers,
    deferred_at=st.none() | moments,
    recoveries=numbers,
    validators=st.none() | st.builds(Validators, st.none() | st.text(max_size=3)),
    changes=st.builds(Changes, moments, moments, moments, numbers),
    visited_at=st.none() | moments,
    content_sha256=st.none() | st.just("ab"),
)
sites = st.builds(
    Site,
    key=st.just("a.org"),
    not_before=moments,
    pace=st.builds(Pace, moments, moments, numbers, moments),
    breaker=st.builds(Breaker, st.sampled_from(BreakerState), numbers, st.tuples(numbers), down_since=moments),
    alive_at=st.none() | moments,
    admitted=numbers,
    fetched=numbers,
    set_aside=st.booleans(),
    excluded=st.booleans(),
    trouble=st.none() | st.builds(Trouble, st.sampled_from(Reason), moments),
)


@given(tasks)
def test_a_task_comes_back_as_it_went_in(task: Task) -> None:
    """H2-18."""
    rest = pack_task(task, task.url.origin)

    back = unpack_task((-task.priority, task.due_at, task.sequence, 7, task.url.origin, task.url.target, rest))

    assert back == task
    assert isinstance(back.url, Url)
    assert back.parent is None or isinstance(back.parent, Url)


@given(sites)
def test_a_site_comes_back_as_it_went_in(site: Site) -> None:
    assert unpack_site(site.key, pack_site(site, site.admitted)) == site


@given(
    tasks,
    st.sampled_from([State.DEAD, State.SKIPPED]),
    st.none() | st.sampled_from(Reason),
    st.text(),
    st.none() | urls,
)
def test_a_line_comes_back_as_it_went_in(
    task: Task, state: State, reason: Reason | None, detail: str, other: Url | None
) -> None:
    entry = Entry(task.url, state, "a.org", task, reason, detail, other, 404, 3)

    key, state_text, reason_text, site, revivable, url, rest = pack_ended(7, entry)

    assert unpack_ended((1, key, state_text, reason_text, site, url, rest)) == entry
    assert revivable


def test_a_plain_task_takes_little_room() -> None:
    """DESIGN 2.5: queues hold path and query under their origin."""
    task = Task(Url("https://a.org/x"), depth=2, origin=Origin.LINK, parent=Url("https://a.org/"))

    assert len(pack_task(task, "https://a.org")) <= 10
