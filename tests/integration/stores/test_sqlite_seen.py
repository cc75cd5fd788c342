"""A URL is new once, whichever process asks and whatever is rolled back; where its hash is kept shows nowhere."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from outrider.model.ledger import Added
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.place import Place
from outrider.stores.registry import open_frontier
from outrider.stores.sqlite.schema import Options, bring_up, connect
from outrider.stores.sqlite.seen import Recent, Seen

RULES = FrontierRules()


def page(n: int) -> Task:
    return Task(Url(f"http://example.com/{n}"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "frontier.db"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(path, Options())) as connection:
        bring_up(connection, Place(f"sqlite://{path}"), RULES)
        yield connection


def rows(connection: sqlite3.Connection) -> tuple[int, int]:
    """In the tree, and before it."""
    found: tuple[int, int] = connection.execute(
        "SELECT (SELECT count(*) FROM seen), (SELECT total(length(hashes)) / 8 FROM recent)"
    ).fetchone()
    return found


def test_new_hashes_wait_before_the_tree_until_there_are_enough_of_them(connection: sqlite3.Connection) -> None:
    recent = Recent(most=5)
    stood: list[tuple[int, int]] = []

    for start in range(0, 8, 2):
        seen = Seen(connection, recent)
        assert seen.see({start, start + 1}) == {start, start + 1}
        seen.learn()
        stood.append(rows(connection))

    assert stood == [(0, 2), (0, 4), (6, 0), (6, 2)]
    assert recent.hashes == {6, 7}
    assert Seen(connection, recent).known(range(-1, 9)) == set(range(8))


hashes = st.sets(st.integers(-6, 6) | st.sampled_from([-(1 << 63), (1 << 63) - 1]), max_size=5)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 2), hashes, st.booleans()), max_size=20), st.integers(1, 8))
def test_a_hash_is_new_once_whoever_sees_it_and_whatever_is_rolled_back(
    story: list[tuple[int, set[int], bool]], most: int
) -> None:
    """Three processes take turns; each act is committed or not, and a merge goes the way of its act."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        bring_up(connection, Place("sqlite:///frontier.db"), RULES)
        processes = [Recent(most) for _ in range(3)]
        truth: set[int] = set()

        for process, proposed, stands in story:
            connection.execute("BEGIN")
            seen = Seen(connection, processes[process])
            new = seen.see(proposed)
            assert new == proposed - truth
            assert seen.see(proposed) == set()
            connection.execute("COMMIT" if stands else "ROLLBACK")
            if stands:
                seen.learn()
                truth |= proposed

        assert all(Seen(connection, recent).known(truth | {99}) == truth for recent in processes)


async def test_two_handles_learn_of_each_others_merges(path: Path) -> None:
    url = f"sqlite://{path}?recent=7&known=1"
    async with open_frontier(url, RULES) as one, open_frontier(url, RULES) as other:
        answers = [
            await frontier.add([page(n) for n in range(start, start + 4)])
            for start in range(0, 40, 2)
            for frontier in (one, other)
        ]
        known = [await frontier.knows([page(n).url for n in range(50)]) for frontier in (one, other)]
        census = await other.census()

    new = sum(answer is Added.NEW for given in answers for answer in given)
    assert (new, census.discovered, census.pending) == (42, 42, 42)
    assert known == [[True] * 42 + [False] * 8] * 2


async def test_an_act_that_fails_leaves_its_hashes_unseen_even_when_it_merged_them(path: Path) -> None:
    unstorable = replace(page(5), priority=1 << 70)
    async with open_frontier(f"sqlite://{path}?recent=3", RULES) as frontier:
        given_up = await asyncio.gather(
            frontier.add([page(1), page(2)]),
            frontier.add([page(3), page(4), unstorable]),
            frontier.add([page(6), page(4)]),
            return_exceptions=True,
        )
        again = await frontier.add([page(n) for n in range(1, 7)])

    assert isinstance(given_up[1], OverflowError)
    assert again == [Added.KNOWN, Added.KNOWN, Added.NEW, Added.KNOWN, Added.NEW, Added.KNOWN]


async def test_hashes_without_a_line_are_listed_from_both_places(path: Path) -> None:
    async with open_frontier(f"sqlite://{path}?recent=4", RULES) as frontier:
        await frontier.restore(hashes=[3, 1, 2, 4])
        await frontier.restore(hashes=[-5, 4])
        await frontier.add([page(1)])
        listed = [key async for batch in frontier.hashes() for key in batch]

    assert listed == [-5, 1, 2, 3, 4]
