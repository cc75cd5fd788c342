"""Is what is owed again one URL still, however it is spelled, wherever it is kept, and whoever asks?"""

# ruff: noqa: S101 - a contract asserts

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from outrider.model.ledger import Added, Settled, State
from outrider.model.outcome import Validators
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Done, MovedTo
from outrider.model.task import Changes, Origin, Task
from outrider.model.url import Url
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.base import RULES, START, done, page, paths, task
from outrider.testing.contracts.frontier.owing import OwingBase, OwingStore, again, pushed, states


class OwedOnceContract(OwingBase):
    async def test_it_may_be_repeated_and_named_twice(self, name: str, clock: FakeClock) -> None:
        async with self.owing(name, clock) as frontier:
            await frontier.add([page(1), page(2, "other.org")])
            await self.settle_all(frontier)
            first = await frontier.owe_again([again(page(1)), again(page(1), START + 2_000)])
            second = await frontier.owe_again([again(page(1)), again(page(2, "other.org"))])
            census = await frontier.census()

        assert (first, second) == (1, 1)
        assert states(census) == (2, 2, 0, 0)

    @pytest.mark.parametrize("ended", [False, True])
    async def test_a_hash_that_came_without_its_url_is_owed_by_its_url(
        self, name: str, clock: FakeClock, *, ended: bool
    ) -> None:
        """And is one URL all the time: with a line while it is owed, by its hash or its line afterwards."""
        async with self.owing(name, clock) as frontier:
            hashes = [frontier.rules.identity.hash(page(n).url) for n in range(8)]
            await frontier.restore(hashes=hashes)
            counts = [
                await frontier.owe_again([pushed(page(n)) for n in range(4)], ended=ended),
                await frontier.owe_again([pushed(page(n)) for n in range(5)], ended=ended),
            ]
            owed = await frontier.census()
            known = await frontier.knows([page(n).url for n in range(9)])
            added = await frontier.add([page(0), page(7)])
            listed = await self.bare(frontier)
            await self.settle_all(frontier, {"/1": Dead(Reason.HTTP_404, 1), "/2": done(page(2), page(7).url)})
            census = await frontier.census()
            later = await self.bare(frontier)
            lines = await self.lines(frontier)
            once_more = await frontier.owe_again([pushed(page(n)) for n in range(4)], ended=True)

        assert counts == [4, 1]
        assert (states(owed), owed.sites) == ((8, 5, 3, 0), 1)
        assert (known, added) == ([True] * 8 + [False], [Added.KNOWN] * 2)
        assert listed is None or sorted(listed) == sorted(hashes[5:])
        assert (states(census), census.dead) == ((8, 0, 7, 0), {Reason.HTTP_404: 1})
        assert later is None or len(later) + len(lines) == len({*later, *map(frontier.rules.identity.hash, lines)}) == 8
        assert once_more == 4

    @pytest.mark.parametrize("ended", [False, True])
    async def test_a_page_in_the_queue_of_another_site_is_owed_once(
        self, name: str, clock: FakeClock, *, ended: bool
    ) -> None:
        """A redirect gave it a name of another site while it was owed on."""
        other = page(2, "other.org")
        async with self.owing(name, clock) as frontier:
            await frontier.add([page(1)])
            elsewhere = Done(other.url, page(1).url, 200, Validators(), Changes(), due_at=START + 5_000)
            await self.settle_all(frontier, {"/1": elsewhere})
            clock.advance(60)
            before = await frontier.census()
            count = await frontier.owe_again([again(other)], ended=ended)
            after = await frontier.census()
            entry = await frontier.find(other.url)
            clock.advance(6_000)
            await self.settle_all(frontier, {"/2": Dead(Reason.HTTP_404, 1)})
            dead = await frontier.find(other.url)
            once_dead = await frontier.owe_again([pushed(other)], ended=ended)
            clock.advance(60)
            await self.settle_all(frontier)
            census = await frontier.census()
            once_fetched = await frontier.owe_again([pushed(other)], ended=ended)

        assert count == 0
        assert after == before
        assert (entry and entry.state, dead and dead.state) == (State.WAITING, State.DEAD)
        assert (once_dead, once_fetched) == ((1, 1) if ended else (0, 0))
        assert (census.discovered, census.alias, census.fetched, census.dead) == (
            (2, 1, 1, {}) if ended else (2, 1, 0, {Reason.HTTP_404: 1})
        )

    async def test_another_spelling_of_a_url_is_the_same_url(self, name: str, clock: FakeClock) -> None:
        """With every rule of identity in force."""
        identity = replace(RULES.identity, seed=7, strip_tracking=True, sort_query=True)
        pairs = [
            ("/%7euser", "/~user"),
            ("/caf%c3%a9", "/caf%C3%A9"),
            ("/%7e%zz", "/%7e%zz"),
            ("/q?b=2&a=1&b=1", "/q?a=1&b=2&b=1"),
            ("/q?b=1&a=1&b=2", "/q?utm_source=x&b=1&b=2&a=1&gclid=9"),
            ("/only?fbclid=1", "/only"),
        ]
        odd, even = ([task(f"http://www.example.com:8080{pair[n]}") for pair in pairs] for n in (0, 1))
        async with self.owing(name, clock, replace(RULES, identity=identity)) as frontier:
            added = await frontier.add([*odd, task("http://www.example.com:8080/q?b=2&b=1&a=2")])
            while_owed = await frontier.owe_again([pushed(one) for one in even], ended=True)
            await self.settle_all(frontier)
            once_fetched = await frontier.owe_again([pushed(one) for one in even], ended=True)
            as_it_was = await frontier.owe_again([pushed(one) for one in odd], ended=True)
            census = await frontier.census()

        assert added == [Added.NEW] * 7
        assert (while_owed, once_fetched, as_it_was) == (0, 6, 0)
        assert states(census) == (7, 6, 1, 0)

    async def test_whatever_a_task_carries_it_is_found_in_its_queue(self, name: str, clock: FakeClock) -> None:
        """Short or long, due now or later, shown or not; of every origin, under every host of the site."""
        parent = Url("http://elsewhere.net/page")
        urls = [
            Url(f"{scheme}://{host}/{n}")
            for n, (scheme, host) in enumerate(
                (scheme, host) for scheme in ("http", "https") for host in ("a.org", "www.a.org", "x.a.org", "a.org:81")
            )
        ]
        tasks = [
            Task(url, n, n % 3, origin, page_of, due_at=due_at, visited_at=visited_at)
            for n, (url, origin) in enumerate(zip(urls, Origin, strict=True))
            for page_of, due_at, visited_at in [
                [(None, 0.0, None), (parent, 0.0, 5.0), (Url(f"{url}/up"), START + 50, None), (None, START + 50, 5.0)][
                    n % 4
                ]
            ]
        ]
        async with self.owing(name, clock) as frontier:
            await frontier.add(tasks)
            waiting = await frontier.owe_again([pushed(one) for one in tasks], ended=True)
            await self.lease_one(frontier, tasks=2)
            shown = await frontier.owe_again([pushed(one) for one in tasks], ended=True)
            census = await frontier.census()

        assert (waiting, shown) == (0, 0)
        assert states(census) == (8, 8, 0, 0)

    async def test_what_is_owed_again_is_moved_once(self, name: str, clock: FakeClock) -> None:
        """A URL that has a line is not given out by its hash, too."""
        async with self.owing(name, clock) as source, self.open(f"{name}b", source.rules, clock) as target:
            await source.add([page(n, site) for site in ("a.org", "b.org") for n in range(3)])
            await self.settle_all(source, {"/1": Dead(Reason.HTTP_404, 1), "/2": MovedTo(Url("http://c.org/"))})
            await source.owe_again([pushed(page(n, site)) for site in ("a.org", "b.org") for n in range(3)], ended=True)
            bare = await self.bare(source)
            moved = await self.move(source, target)
            clock.advance(60)
            lent = [await frontier.lease(sites=9, tasks=9, seconds=60) for frontier in (source, target)]

        assert (bare, moved) == ([], 6)
        assert [[(lease.site.key, paths(lease)) for lease in leased.leases] for leased in lent] == [
            [("a.org", ["/0", "/1", "/2"]), ("b.org", ["/0", "/1", "/2"])]
        ] * 2

    async def test_two_at_once_owe_each_url_once(self, name: str, clock: FakeClock) -> None:
        """While others lease and settle: the ledger stays closed, and no URL is owed twice."""
        if not self.shared:
            pytest.skip("this store belongs to one process")
        sites = [f"s{n}.org" for n in range(8)]
        pages = [page(n, site) for site in sites for n in range(6)]
        async with self.owing(name, clock) as one, self.owing(name, clock) as two:
            await one.add(pages)
            await self.settle_all(one, {"/1": Dead(Reason.HTTP_404, 1), "/2": MovedTo(Url("http://c.org/"))})
            counts = await asyncio.gather(
                *(store.owe_again([pushed(one) for one in part], ended=True) for store, part in _split(one, two, pages))
            )
            owed = await one.census()
            clock.advance(60)
            lent = await asyncio.gather(*(store.lease(sites=8, tasks=99, seconds=60) for store in (one, two)))
            leases = [(store, lease) for store, leased in zip((one, two), lent, strict=True) for lease in leased.leases]
            while_lent = await asyncio.gather(
                *(
                    store.owe_again([pushed(one) for one in part], ended=True)
                    for store, part in _split(one, two, pages)
                ),
                *(
                    store.settle([Settled(lease, lease.site, tuple((task, done(task)) for task in lease.tasks))])
                    for store, lease in leases
                ),
            )
            census = await two.census()
            urls = await self.lines(one)

        assert sum(counts) == len(pages)
        assert states(owed) == (48, 48, 0, 0)
        shown = [task.url for _, lease in leases for task in lease.tasks]
        # Who finds a site taken that was next may be shown less of another.
        assert len(leases) == len(sites)
        assert len(shown) == len(set(shown))
        fetched = len(shown) - sum(count for count in while_lent if isinstance(count, int))
        assert states(census) == (48, 48 - fetched, fetched, 0)
        assert len(urls) == len(set(urls))


def _split(one: OwingStore, two: OwingStore, pages: Sequence[Task]) -> list[tuple[OwingStore, Sequence[Task]]]:
    """Both are given everything, in several calls that overlap."""
    parts = [pages, pages[::-1], pages[::2], pages[1::2]]
    return [(store, part) for store in (one, two) for part in parts]
