"""Whose turn is it?"""

from hypothesis import given
from hypothesis import strategies as st

from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.select import select

NOW = 100.0


def site(key: str, not_before: float = 0.0, *, set_aside: bool = False, excluded: bool = False) -> Site:
    return Site(key, not_before, set_aside=set_aside, excluded=excluded)


def task(name: str, priority: int = 0, due_at: float = 0.0, sequence: int = 0) -> Task:
    return Task(Url(f"http://example.com/{name}"), priority=priority, due_at=due_at, sequence=sequence)


def lent(*queues: tuple[Site, list[Task]], sites: int = 10, tasks: int = 10) -> list[tuple[str, list[str]]]:
    turns = select(queues, NOW, sites=sites, tasks=tasks)
    return [(turn.site.key, [task.url.path for task in turn.tasks]) for turn in turns]


def test_the_site_that_has_waited_longest_comes_first_then_the_name_decides() -> None:
    """H2-1: one ordered structure by ready time."""
    queues = [(site(key, ready), [task("x")]) for key, ready in (("c", 5.0), ("b", 1.0), ("a", 5.0))]

    assert [key for key, _ in lent(*queues)] == ["b", "a", "c"]
    assert [key for key, _ in lent(*queues, sites=1)] == ["b"]


def test_a_site_is_left_alone_until_its_time_whatever_its_tasks_are() -> None:
    """H2-2, S2-33: adding URLs never makes a site ready earlier."""
    assert lent((site("a", 100.1), [task("x", priority=99)])) == []
    assert lent((site("a", 100.0), [task("x")])) == [("a", ["/x"])]


def test_a_site_is_ready_when_its_first_task_is() -> None:
    queues = [(site("a", 90.0), [task("x", due_at=10.0)]), (site("b", 5.0), [task("x", due_at=95.0)])]

    assert [key for key, _ in lent(*queues)] == ["a", "b"]
    assert lent((site("a"), [task("x", due_at=100.1)]), (site("b"), [])) == []


def test_a_site_that_is_set_aside_or_excluded_has_no_turn() -> None:
    assert lent((site("a", set_aside=True), [task("x")]), (site("b", excluded=True), [task("x")])) == []


def test_priority_comes_first_then_due_time_then_first_come() -> None:
    """C20, S2-9."""
    queue = [
        task("late", due_at=9.0, sequence=1),
        task("second", sequence=3),
        task("first", sequence=2),
        task("urgent", priority=1, due_at=50.0, sequence=4),
        task("tomorrow", priority=9, due_at=1e6),
    ]

    assert lent((site("a"), queue)) == [("a", ["/urgent", "/first", "/second", "/late"])]
    assert lent((site("a"), queue), tasks=2) == [("a", ["/urgent", "/first"])]


@given(st.lists(st.tuples(st.floats(0, 200), st.lists(st.floats(0, 200), max_size=4)), max_size=8), st.randoms())
def test_the_order_of_the_queues_does_not_matter(given: list[tuple[float, list[float]]], random: object) -> None:
    queues = [
        (site(f"s{n}", ready), [task(f"{m}", due_at=due, sequence=m) for m, due in enumerate(dues)])
        for n, (ready, dues) in enumerate(given)
    ]
    shuffled = queues[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined] # hypothesis' seeded Random

    assert lent(*queues) == lent(*shuffled)
