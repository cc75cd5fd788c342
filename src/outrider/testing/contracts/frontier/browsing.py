"""Can the ledger be looked at page by page, while others work on it? Skipped for a store that does not offer it."""

# ruff: noqa: S101 - a contract asserts

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Protocol, cast

import pytest
from msgspec.structs import replace

from outrider.errors import ConfigError
from outrider.model.ledger import Entry, Search, Settled, State
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Later, MovedTo, Settlement, Skip
from outrider.model.site import Site
from outrider.model.url import Url
from outrider.policy.search import is_wanted
from outrider.ports import Browsable
from outrider.stores.registry import FrontierStore
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.base import RULES, START, Base, done, page, task

_ENOUGH: Final = 10_000
"""So many slices would be a reader that never comes to an end."""

ODD: Final = ("%25", "100%", "a_b", "a\\b", "it's", '"q"', "ä", "x|y", "[z]", "A.B", "a.b", "%_%")
"""Paths with what means something to one dialect or another."""

SEARCHES: Final = (
    Search(),
    *(Search(state=state) for state in State),
    Search(reason=Reason.HTTP_404),
    Search(reason=Reason.SITE_UNREACHABLE),
    Search(reason=Reason.TOO_DEEP),
    Search(state=State.DEAD, reason=Reason.HTTP_404),
    Search(state=State.SKIPPED, reason=Reason.HTTP_404),
    Search(state=State.PENDING, reason=Reason.HTTP_404),
    Search(site="a.org"),
    Search(site="a.org", state=State.PENDING),
    Search(site="a.org", state=State.WAITING),
    Search(site="down.org"),
    Search(site="nobody.org"),
    Search(status=404),
    Search(status=200),
    Search(status=1 << 70),
    Search(status=404, site="b.org"),
    Search(text="/1"),
    Search(text="a.org/1"),
    Search(text=""),
    Search(text="nowhere"),
    Search(text="/2", state=State.DEAD),
    Search(text="down.org/1", reason=Reason.SITE_UNREACHABLE),
)


class BrowsableStore(FrontierStore, Browsable, Protocol):
    """A store that can be looked at."""


async def browsed(frontier: Browsable, search: Search, *, most: int = 100, look: int = 100_000) -> list[Entry]:
    """All pages, each as large as it was asked for at the most."""
    found: list[Entry] = []
    after: str | None = None
    for _ in range(_ENOUGH):
        page = await frontier.browse(search, after, most=most, look=look)
        assert len(page.entries) <= most
        found += page.entries
        after = page.after
        if after is None:
            return found
    raise AssertionError(f"still not at the end: {search}")


async def by_url(frontier: FrontierStore) -> dict[Url, Entry]:
    """The walk over all that the pages are compared with."""
    return {entry.url: entry async for batch in frontier.entries() for entry in batch}


def urls(entries: list[Entry]) -> list[str]:
    return sorted(entry.url for entry in entries)


class BrowsingContract(Base):
    @asynccontextmanager
    async def browsable(self, name: str, clock: FakeClock) -> AsyncIterator[BrowsableStore]:
        async with self.open(name, RULES, clock) as frontier:
            if not isinstance(frontier, Browsable):
                pytest.skip("this frontier is not looked at page by page")
            yield cast("BrowsableStore", frontier)

    async def fill(self, frontier: FrontierStore, clock: FakeClock) -> None:
        """Lines in every state, of several ranks and sites, one of them set aside."""
        refused = [(Url(f"http://far.org/{n}"), Reason.TOO_DEEP) for n in range(3)]
        tasks = [task(f"http://{site}/{n}", priority=n % 3 - 1) for site in ("a.org", "b.org") for n in range(14)]
        await frontier.add([*tasks, *(page(n, "down.org") for n in range(3))], refused)
        for lease in (await frontier.lease(sites=3, tasks=8, seconds=60)).leases:
            ends: list[Settlement] = [
                Dead(Reason.HTTP_404, 1, "gone", 404),
                Later(START + 50, Reason.HTTP_500, 1),
                done(lease.tasks[0]),
                Skip(Reason.ROBOTS_DISALLOWED),
                Dead(Reason.HTTP_500, 3, "", 500),
                MovedTo(Url("http://c.org/")),
                Later(START + 70, Reason.HTTP_500, 1),
            ]
            if lease.site.key == "down.org":
                await frontier.settle([Settled(lease, replace(lease.site, set_aside=True))])
            else:
                settled = tuple(zip(lease.tasks, ends, strict=False))
                await frontier.settle([Settled(lease, lease.site, settled)])
        clock.advance(5)
        # One lease goes on: what it shows is owed all the same.
        await self.lease_one(frontier, tasks=2)

    async def test_every_line_is_found_once_whatever_the_size_of_a_page(self, name: str, clock: FakeClock) -> None:
        async with self.browsable(name, clock) as frontier:
            await self.fill(frontier, clock)
            lines = await by_url(frontier)

            for most, look in ((1, 100), (3, 100), (100, 1), (100, 7), (5, 5), (1_000, 100_000)):
                found = await browsed(frontier, Search(), most=most, look=look)
                assert urls(found) == sorted(lines)
                assert {line.url: line for line in found} == lines

    async def test_what_is_owed_comes_before_what_has_ended(self, name: str, clock: FakeClock) -> None:
        async with self.browsable(name, clock) as frontier:
            await self.fill(frontier, clock)

            states = [entry.state for entry in await browsed(frontier, Search(), most=4)]

        owed = [state in {State.PENDING, State.WAITING} for state in states]
        last = max(index for index, is_owed in enumerate(owed) if is_owed)
        assert not {State.DEAD, State.ALIAS} & set(states[:last])

    async def test_a_search_finds_what_it_names_and_nothing_else(self, name: str, clock: FakeClock) -> None:
        async with self.browsable(name, clock) as frontier:
            await self.fill(frontier, clock)
            lines = await by_url(frontier)

            for search in SEARCHES:
                wanted = sorted(url for url, line in lines.items() if is_wanted(search, line))
                for most, look in ((4, 100_000), (100, 11)):
                    assert urls(await browsed(frontier, search, most=most, look=look)) == wanted, search

    async def test_a_rare_match_is_found_over_several_slices(self, name: str, clock: FakeClock) -> None:
        async with self.browsable(name, clock) as frontier:
            await frontier.add([page(n, f"s{n % 5}.org") for n in range(400)] + [task("http://s3.org/rare")])
            sizes: list[int] = []
            looked = 0
            found: list[Entry] = []
            after: str | None = None
            for _ in range(1_000):
                one = await frontier.browse(Search(text="rare"), after, most=10, look=30)
                sizes.append(len(one.entries))
                looked += one.looked_at
                found += one.entries
                if (after := one.after) is None:
                    break

        assert urls(found) == ["http://s3.org/rare"]
        assert sizes.count(0) > 3, "empty slices do not mean the end"
        assert looked >= 401

    async def test_text_is_a_part_of_the_url_letter_by_letter(self, name: str, clock: FakeClock) -> None:
        made = [Url(f"http://a.org/{odd}") for odd in ODD]
        ended = [Url(f"http://b.org/{odd}") for odd in ODD]
        searched = (*ODD, "%", "_", "\\", "'", '"', "%c3%a4", "%C3%A4", "?", "*", "HTTP", "(", ".*", "\x00", "\ud800")
        async with self.browsable(name, clock) as frontier:
            await frontier.restore([Entry(url, State.DEAD, "b.org", None, Reason.HTTP_404) for url in ended])
            await frontier.add([task(url) for url in made])
            lines = await by_url(frontier)

            for text in searched:
                found = await browsed(frontier, Search(text=text), look=9)
                assert urls(found) == sorted(url for url in lines if text in url), text
            assert await browsed(frontier, Search(site="a'.org")) == []
            assert await browsed(frontier, Search(site="\ud800\x00")) == []

    async def test_while_others_come_and_go_what_stays_is_shown_once(self, name: str, clock: FakeClock) -> None:
        async with self.browsable(name, clock) as frontier:
            await frontier.add([page(n, site) for site in ("a.org", "b.org", "c.org") for n in range(20)])
            first = await self.lease_one(frontier, tasks=10)
            dead = tuple((one, Dead(Reason.HTTP_404, 1)) for one in first.tasks)
            await frontier.settle([Settled(first, first.site, dead)])
            before = set(await by_url(frontier))
            seen: list[str] = []
            after: str | None = None
            for turn in range(1_000):
                one = await frontier.browse(Search(), after, most=7)
                seen += [entry.url for entry in one.entries]
                if (after := one.after) is None:
                    break
                clock.advance(2)
                await frontier.add([page(100 + turn, site) for site in ("a.org", "b.org", f"n{turn}.org")])
                for lease in (await frontier.lease(sites=1, tasks=1, seconds=60)).leases:
                    await frontier.settle([Settled(lease, lease.site, ((lease.tasks[0], done(lease.tasks[0])),))])

            stayed = before & set(await by_url(frontier))
            assert len(stayed) >= 50
            assert stayed <= set(seen)
            assert all(seen.count(url) == 1 for url in stayed)

    async def test_only_what_this_store_said_is_a_place_to_go_on(self, name: str, clock: FakeClock) -> None:
        async with self.browsable(name, clock) as frontier, self.browsable(f"{name}b", clock) as other:
            for store in (frontier, other):
                await store.add([page(n) for n in range(9)])
            mine = (await frontier.browse(Search(), most=3)).after
            theirs = (await other.browse(Search(), most=3)).after
            assert mine is not None
            assert theirs is not None

            for wrong in (
                theirs,
                "",
                "x",
                mine[:-1],
                mine + "A",
                f"{mine}=",
                mine[::-1],
                "é",
                "0",
                "\ud800",
                "a" * 9_999,
            ):
                with pytest.raises(ConfigError, match="is not where"):
                    await frontier.browse(Search(), wrong)
            assert len((await frontier.browse(Search(), mine)).entries) == 6

    async def test_a_place_holds_for_another_search_and_after_a_restart(self, name: str, clock: FakeClock) -> None:
        async with self.browsable(name, clock) as frontier:
            await frontier.add([page(n) for n in range(9)])
            one = await frontier.browse(Search(), most=3)
        async with self.browsable(name, clock) as frontier:
            rest = await frontier.browse(Search(state=State.PENDING), one.after)

        assert urls([*one.entries, *rest.entries]) == sorted(page(n).url for n in range(9))

    async def test_nothing_is_one_empty_slice(self, name: str, clock: FakeClock) -> None:
        async with self.browsable(name, clock) as frontier:
            one = await frontier.browse(Search())

            assert (one.entries, one.after) == ((), None)
            assert [batch async for batch in frontier.survey()] == []

    async def test_every_site_is_surveyed_with_what_it_owes(self, name: str, clock: FakeClock) -> None:
        async with self.browsable(name, clock) as frontier:
            await self.fill(frontier, clock)
            sites = {site.key: site async for batch in frontier.sites() for site in batch}
            lines = await by_url(frontier)

            surveyed = {line.site.key: line async for batch in frontier.survey() for line in batch}
            census = await frontier.census()

        def owed(site: Site, state: State) -> int:
            return sum(line.site == site.key and line.state is state for line in lines.values())

        assert {key: line.site for key, line in surveyed.items()} == sites
        for line in surveyed.values():
            assert (line.pending, line.waiting) == (owed(line.site, State.PENDING), owed(line.site, State.WAITING))
        assert sum(line.pending for line in surveyed.values()) == census.pending > 0
        assert sum(line.waiting for line in surveyed.values()) == census.waiting > 0
        assert [line.held_until for line in surveyed.values()].count(START + 65) == 1
        assert [line.held_until for line in surveyed.values()].count(None) == 2
