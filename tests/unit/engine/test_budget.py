"""May one more page be fetched? Never more out than left, whoever dies meanwhile."""

import asyncio

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from outrider.engine.budget import Account, Keeper, Limits, Permits, Unlimited


@pytest.mark.parametrize(
    ("limits", "pages", "size", "left"),
    [
        (Limits(pages=10), 0, 0, 10),
        (Limits(pages=10), 10, 0, 0),
        (Limits(pages=10), 12, 0, 0),
        (Limits(bytes=100, body=30), 0, 0, 3),
        (Limits(bytes=100, body=30), 5, 71, 0),
        (Limits(bytes=100, body=30), 5, 70, 1),
        (Limits(pages=2, bytes=100, body=30), 1, 0, 1),
        (Limits(pages=9, bytes=100, body=30), 1, 30, 2),
    ],
)
def test_how_many_visits_may_still_be_made(limits: Limits, pages: int, size: int, left: int) -> None:
    assert limits.permits(pages, size) == left


def test_without_limits_there_is_nothing_to_keep() -> None:
    assert not Limits().exist
    assert Limits(pages=1).exist
    assert Limits(bytes=1).exist


def test_lots_shrink_towards_the_end_so_that_nobody_starves() -> None:
    keeper = Keeper(Limits(pages=100), workers=2)

    granted = [keeper.grant(number % 2) for number in range(100)]

    assert granted[0] == 25
    assert sum(granted) == 100
    assert granted == sorted(granted, reverse=True)


def test_what_comes_back_unused_is_granted_again() -> None:
    keeper = Keeper(Limits(pages=1), workers=2)

    assert (keeper.grant(0), keeper.grant(1)) == (1, 0)
    keeper.hear(0, Account(returned=1))

    assert keeper.grant(1) == 1


def test_pages_that_are_accounted_for_while_the_record_is_counted_are_not_forgotten() -> None:
    """The count was taken before they were written: they would be fetched a second time beyond the limit."""
    keeper = Keeper(Limits(pages=3), workers=1)
    assert [keeper.grant(0) for _ in range(3)] == [1, 1, 1]

    keeper.begin_recount()
    keeper.hear(0, Account(returned=2, pages=2))
    keeper.recount(0, 0)

    assert keeper.available == 0


class Crawl(RuleBasedStateMachine):
    """Workers that fetch, report late, die, and a keeper that hears of it: `on_record` is the truth."""

    WORKERS = 3
    LIMITS = Limits(pages=12, bytes=40, body=5)

    def __init__(self) -> None:
        super().__init__()
        self.keeper = Keeper(self.LIMITS, self.WORKERS)
        self.in_hand = dict.fromkeys(range(self.WORKERS), 0)
        self.unreported: dict[int, list[tuple[int, int]]] = {number: [] for number in range(self.WORKERS)}
        self.on_record: list[int] = []
        self.counted: tuple[int, int] | None = None
        self.must_recount = True

    workers = st.integers(0, WORKERS - 1)

    @rule()
    def begin_to_count(self) -> None:
        self.keeper.begin_recount()
        self.must_recount = False
        self.counted = len(self.on_record), sum(self.on_record)

    @rule()
    def count(self) -> None:
        if self.counted is not None:
            self.keeper.recount(*self.counted)
            self.counted = None

    @rule(worker=workers)
    def grant(self, worker: int) -> None:
        if not self.must_recount and self.counted is None:
            self.in_hand[worker] += self.keeper.grant(worker)

    @rule(worker=workers, size=st.integers(0, 5), is_page=st.booleans())
    def fetch(self, worker: int, size: int, is_page: bool) -> None:  # noqa: FBT001 - drawn, not passed
        if self.in_hand[worker]:
            self.in_hand[worker] -= 1
            if is_page:
                self.on_record.append(size)
            self.unreported[worker].append((int(is_page), size if is_page else 0))

    @rule(worker=workers)
    def report(self, worker: int) -> None:
        told = self.unreported[worker]
        self.unreported[worker] = []
        account = Account(len(told), sum(pages for pages, _ in told), sum(size for _, size in told))
        self.keeper.hear(worker, account)

    @rule(worker=workers)
    def be_idle(self, worker: int) -> None:
        self.keeper.hear(worker, Account(returned=self.in_hand[worker]))
        self.in_hand[worker] = 0

    @rule(worker=workers)
    def die(self, worker: int) -> None:
        self.in_hand[worker] = 0
        self.unreported[worker] = []
        self.keeper.forget(worker)
        self.must_recount = True

    @invariant()
    def no_limit_is_exceeded(self) -> None:
        assert len(self.on_record) <= 12
        assert sum(self.on_record) <= 40

    def teardown(self) -> None:
        """Whatever happened: with enough pages to fetch, the limit is reached exactly."""
        for _ in range(100):
            for worker in range(self.WORKERS):
                self.report(worker)
                self.be_idle(worker)
            self.begin_to_count()
            self.count()
            self.grant(0)
            if not self.in_hand[0]:
                break
            self.fetch(0, 1, is_page=True)
            self.no_limit_is_exceeded()
        assert len(self.on_record) == 12 or 40 - sum(self.on_record) < 5


def test_no_interleaving_exceeds_the_limits_and_the_last_page_is_had() -> None:
    run_state_machine_as_test(
        Crawl, settings=settings(max_examples=60, stateful_step_count=60, deadline=None, print_blob=True)
    )


# a worker's purse


async def test_a_purse_without_limits_gives_until_it_is_closed() -> None:
    purse = Unlimited()

    assert await purse.take()
    purse.account_for(is_page=True, size=1)
    purse.close()

    assert not await purse.take()


async def test_whoever_finds_the_purse_empty_says_so_and_waits() -> None:
    told: list[Account] = []
    purse = Permits(lambda: told.append(purse.account()))

    first, second = asyncio.ensure_future(purse.take()), asyncio.ensure_future(purse.take())
    await asyncio.sleep(0)
    assert told[-1] == Account(wants=True)
    purse.receive(1)

    done, waiting = await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED)
    assert [task.result() for task in done] == [True]
    purse.close()
    assert [await task for task in waiting] == [False]


async def test_what_was_done_with_a_permit_is_told_once() -> None:
    purse = Permits(lambda: None)
    purse.receive(3)
    assert await purse.take()
    assert await purse.take()

    purse.account_for(is_page=True, size=10)
    purse.account_for(is_page=False, size=7)

    assert purse.account() == Account(returned=2, pages=1, bytes=10)
    assert purse.account() == Account()


async def test_permits_of_a_worker_with_nothing_to_do_go_back() -> None:
    purse = Permits(lambda: None)
    purse.receive(3)

    purse.put_back()

    assert purse.account() == Account(returned=3)
    purse.put_back()
    assert purse.account() == Account()


async def test_who_is_cancelled_while_waiting_takes_nothing() -> None:
    purse = Permits(lambda: None)
    waiting = asyncio.ensure_future(purse.take())
    await asyncio.sleep(0)

    waiting.cancel()
    await asyncio.wait([waiting])
    purse.receive(1)

    assert purse.account() == Account()
    assert await purse.take()
