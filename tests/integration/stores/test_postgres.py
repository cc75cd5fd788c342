"""What is in the rows, and what is said when the server, the user or the schema is not as it should be."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace
from tests.services.postgres import PASSWORD, PostgresServer, running

from outrider.errors import ConfigError, SchemaMismatch, StoreError, StoreUnavailable
from outrider.model.identity import Identity
from outrider.model.lease import Lease
from outrider.model.ledger import Added, Entry, Search, Settled, State
from outrider.model.order import SiteOrder
from outrider.model.outcome import Validators
from outrider.model.reason import Reason
from outrider.model.robots import RobotsFile, RobotsStatus
from outrider.model.settlement import Dead, Done, Later, Settlement
from outrider.model.task import Changes, Task
from outrider.model.url import SiteBy, Url
from outrider.ports import Browsable, FrontierRules, TakesOrders
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.clock import FakeClock

START = 1_000.0
ASKED, FINAL = Url("http://www.example.com/1"), Url("http://example.com/final")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running() as server:
        yield server


@pytest.fixture
async def schema(server: PostgresServer) -> AsyncIterator[str]:
    name = f"t{uuid4().hex[:12]}"
    yield name
    await server.drop(name)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture
async def store(server: PostgresServer, schema: str, clock: FakeClock) -> AsyncIterator[FrontierStore]:
    async with open_frontier(server.url(schema), FrontierRules(), clock) as frontier:
        yield frontier


class Rows:
    """The tables as a dashboard sees them."""

    def __init__(self, server: PostgresServer, schema: str) -> None:
        self._server = server
        self._schema = schema

    async def ask(self, statement: str) -> list[tuple[Any, ...]]:
        async with self._server.connected() as connection:
            await connection.execute(f"SET search_path = {self._schema}")
            cursor = await connection.execute(statement)
            return await cursor.fetchall() if cursor.description else []


@pytest.fixture
def rows(server: PostgresServer, schema: str) -> Rows:
    return Rows(server, schema)


async def lease_one(store: FrontierStore, tasks: int = 9) -> Lease:
    (lease,) = (await store.lease(sites=1, tasks=tasks, seconds=60)).leases
    return lease


async def settle_all(store: FrontierStore, lease: Lease, *settlements: Settlement) -> None:
    pairs = tuple(zip(lease.tasks, settlements, strict=True))
    assert await store.settle([Settled(lease, lease.site, pairs)]) == [True]


def done(url: Url, asked: Url) -> Done:
    return Done(url, asked, 200, Validators('"1"', "yesterday"), Changes(), "ff" * 32, visited_at=START)


async def test_a_success_rewrites_url_hash_and_host_and_leaves_an_alias(store: FrontierStore, rows: Rows) -> None:
    """S0-8, S0-11, S0-14, S0-25, S0-32, H0-12: one operation of the store, and the asked name stays known."""
    await store.add([Task(ASKED)])
    lease = await lease_one(store)

    await settle_all(store, lease, done(FINAL, ASKED))

    identity = store.rules.identity
    assert await rows.ask(
        "SELECT url_hash, url, host, status, alias_of, etag, content_hash, fetch_count "
        "FROM url_frontier ORDER BY status"
    ) == [
        (identity.hash(ASKED), ASKED, "www.example.com", "alias", FINAL, None, None, 0),
        (identity.hash(FINAL), FINAL, "example.com", "fetched", None, '"1"', "ff" * 32, 1),
    ]
    assert await store.add([Task(ASKED), Task(FINAL)]) == [Added.KNOWN, Added.KNOWN]


async def test_the_same_page_under_another_spelling_is_not_renamed(store: FrontierStore, rows: Rows) -> None:
    """S0-10, S0-28: the same hash is the same row."""
    asked, found = Url("http://example.com/%7e"), Url("http://example.com/~")
    await store.add([Task(asked)])
    lease = await lease_one(store)

    await settle_all(store, lease, done(found, asked))

    assert await rows.ask("SELECT url, status FROM url_frontier") == [(asked, "fetched")]


async def test_a_final_url_that_is_taken_changes_nothing_but_the_state(store: FrontierStore, rows: Rows) -> None:
    """S0-12, S0-13, S0-26: no unique violation leaves the store; the row keeps its URL and notes the other."""
    await store.add([Task(ASKED, priority=1), Task(FINAL)])
    lease = await lease_one(store, tasks=1)

    await settle_all(store, lease, done(FINAL, ASKED))

    assert await rows.ask("SELECT url, status, duplicate_of FROM url_frontier ORDER BY status") == [
        (ASKED, "fetched", FINAL),
        (FINAL, "pending", None),
    ]


async def test_two_sites_that_lead_to_one_url_at_once_both_succeed(store: FrontierStore) -> None:
    """S0-30: the first wins, the second falls back; the ledger closes."""
    asked = [Url(f"http://site{n}.org/") for n in range(16)]
    await store.add([Task(url) for url in asked])
    lent = await store.lease(sites=16, tasks=1, seconds=60)

    answers = await asyncio.gather(
        *(
            store.settle([Settled(lease, lease.site, ((lease.tasks[0], done(FINAL, lease.tasks[0].url)),))])
            for lease in lent.leases
        )
    )

    census = await store.census()
    assert answers == [[True]] * 16
    assert (census.discovered, census.fetched, census.alias, census.adds_up) == (17, 16, 1, True)


async def test_what_the_store_refuses_is_not_written_at_all(store: FrontierStore) -> None:
    """S0-27: an account that the server cannot hold raises, and neither its task nor its neighbour's is changed."""
    await store.add([Task(ASKED), Task(FINAL)])
    lease = await lease_one(store)
    before = await store.census()
    impossible = Dead(Reason.HTTP_404, visits=2**40)

    with pytest.raises(StoreError, match="does not fit"):
        await settle_all(store, lease, done(FINAL, ASKED), impossible)

    assert await store.census() == before
    assert [entry and entry.state for entry in [await store.find(ASKED), await store.find(FINAL)]] == [
        State.PENDING
    ] * 2


async def test_a_dashboard_filters_by_last_error_and_a_success_clears_it(
    store: FrontierStore, rows: Rows, clock: FakeClock
) -> None:
    """S0-15, S0-16, S0-18, H0-10."""
    stuck = "SELECT url, status, retry_count FROM url_frontier WHERE last_error = 'too_many_redirects'"
    await store.add([Task(ASKED)])
    first = await lease_one(store)

    await settle_all(store, first, Later(START + 60, Reason.TOO_MANY_REDIRECTS, visits=1))

    assert await rows.ask(stuck) == [(ASKED, "waiting", 1)]

    clock.advance(60)
    await settle_all(store, await lease_one(store), done(ASKED, ASKED))

    assert await rows.ask(stuck) == []


async def test_many_who_add_at_once_keep_the_quota_exactly(server: PostgresServer, schema: str) -> None:
    """H2-4, with real contention: overlapping batches from several handles, sites in any order."""
    rules = FrontierRules(site_quota=25)
    async with open_frontier(server.url(schema), rules) as one, open_frontier(server.url(schema), rules) as two:
        batches = [
            [Task(Url(f"http://s{(n + k) % 3}.org/{n % 37}")) for n in range(60)][:: 1 if k % 2 else -1]
            for k in range(8)
        ]
        answers = await asyncio.gather(
            *(frontier.add(batch) for batch in batches for frontier in (one, two)),
        )
        census = await one.census()
        sites = [site async for batch in one.sites() for site in batch]

    counted = [answer for batch in answers for answer in batch]
    assert [site.admitted for site in sites] == [25, 25, 25]
    assert counted.count(Added.NEW) == census.pending == 75
    assert counted.count(Added.OVER_QUOTA) == census.skipped[Reason.SITE_QUOTA]
    assert census.adds_up


async def test_a_url_that_comes_in_between_is_known(
    server: PostgresServer, store: FrontierStore, schema: str, rows: Rows
) -> None:
    """S0-12, H2-20: looked for and not found, written by another before we write: the transaction starts again."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT%'"
    async with server.connected() as other, other.transaction():
        await other.execute(
            f"INSERT INTO {schema}.url_frontier (url_hash, url, site, status, last_error, discovered_at, updated_at)"
            "VALUES (%s, %s, 'example.com', 'skipped', 'too_deep', 0, 0)",
            [store.rules.identity.hash(FINAL), FINAL],
        )
        adding = asyncio.create_task(store.add([Task(ASKED), Task(FINAL)]))
        for _ in range(5_000):
            if await rows.ask(waiting) == [(1,)]:
                break
            assert not adding.done()

    assert await adding == [Added.NEW, Added.KNOWN]
    assert (await store.census()).pending == 1


async def test_the_counts_are_those_of_the_rows(store: FrontierStore, rows: Rows) -> None:
    """The census is kept beside the rows; here they are counted one by one."""
    await store.add([Task(Url(f"http://s{n % 5}.org/{n}")) for n in range(40)], [(FINAL, Reason.OUT_OF_SCOPE)])
    lent = await store.lease(sites=4, tasks=3, seconds=60)
    for lease in lent.leases:
        url = lease.tasks[0].url
        await settle_all(store, lease, done(url, url), Dead(Reason.HTTP_404, 1), Later(2e3, Reason.HTTP_500, 1))
    await store.restore(hashes=[7, 8])

    census = await store.census()

    counted = dict(await rows.ask("SELECT status, count(*) FROM url_frontier GROUP BY status"))
    assert counted == {"pending": 28, "waiting": 4, "fetched": 6, "dead": 4, "skipped": 1}
    assert (census.pending, census.waiting, census.fetched, census.dead, census.skipped) == (
        28,
        4,
        6,
        {Reason.HTTP_404: 4},
        {Reason.OUT_OF_SCOPE: 1},
    )
    assert (census.discovered, census.adds_up) == (43, True)


async def test_hashes_without_a_line_are_known_and_given_out_again(store: FrontierStore) -> None:
    key = store.rules.identity.hash(FINAL)

    new = await store.restore(hashes=[key, 7])
    again = await store.restore(hashes=[7])

    assert (new, again) == (2, 0)
    assert await store.knows([FINAL, ASKED]) == [True, False]
    assert await store.find(FINAL) is None
    assert sorted([known async for batch in store.hashes() for known in batch]) == sorted([key, 7])


async def test_the_robots_files_of_a_site_are_kept_and_replaced(store: FrontierStore, clock: FakeClock) -> None:
    await store.add([Task(Url(f"http://example.com/{n}")) for n in range(4)])
    kept = []

    for body in (b"User-agent: *\nDisallow: /\n" * 9_000, b"short", None):
        lease = await lease_one(store, tasks=1)
        kept.append([file.body for file in lease.site.robots])
        file = RobotsFile("http://example.com", RobotsStatus.FOUND, clock.now(), clock.now() + 9, body)
        site = replace(lease.site, robots=(file,)) if body else lease.site
        await store.settle([Settled(lease, site)])
        clock.advance(5)
    kept.append([file.body for file in (await lease_one(store)).site.robots])

    assert kept == [[], [b"User-agent: *\nDisallow: /\n" * 9_000], [b"short"], [b"short"]]


async def test_text_that_the_server_cannot_hold_is_kept_as_near_as_can_be(store: FrontierStore) -> None:
    """H2-18: a NUL in a server's words does not stop the crawl."""
    validators = Validators('"a\0b"', None)
    await store.add([Task(ASKED, validators=validators), Task(FINAL, validators=Validators())])
    lease = await lease_one(store)

    await settle_all(store, lease, Dead(Reason.HTTP_404, 1, "no\0thing"), Dead(Reason.HTTP_404, 1))

    found = await store.find(ASKED)
    assert isinstance(found, Entry)
    assert found.detail == "no\N{REPLACEMENT CHARACTER}thing"
    assert [task.validators for task in lease.tasks] == [validators, Validators()]


@pytest.mark.parametrize(
    ("seed", "site_by", "said"),
    [(7, "domain", "another seed"), (0, "host", "site_by=domain where this crawl has host")],
)
async def test_a_store_of_another_identity_is_refused(
    server: PostgresServer, schema: str, seed: int, site_by: SiteBy, said: str
) -> None:
    async with open_frontier(server.url(schema), FrontierRules()):
        pass

    with pytest.raises(SchemaMismatch, match=said):
        async with open_frontier(server.url(schema), FrontierRules(Identity(seed), site_by)):
            pass


async def test_a_store_of_a_newer_version_is_refused(server: PostgresServer, schema: str, rows: Rows) -> None:
    async with open_frontier(server.url(schema), FrontierRules()):
        await rows.ask("UPDATE meta SET value = '99' WHERE name = 'version'")

    with pytest.raises(SchemaMismatch, match="version 99, this program reads"):
        async with open_frontier(server.url(schema), FrontierRules()):
            pass


async def test_a_store_of_version_1_is_brought_forward_with_what_it_holds(
    server: PostgresServer, schema: str, rows: Rows
) -> None:
    async with open_frontier(server.url(schema), FrontierRules()) as frontier:
        await frontier.add([Task(Url("http://a.org/"))])
        await rows.ask("DROP TABLE orders")
        await rows.ask("DROP INDEX sites_aside")
        await rows.ask("UPDATE meta SET value = '1' WHERE name = 'version'")

    async with open_frontier(server.url(schema), FrontierRules(), must_exist=True) as frontier:
        assert isinstance(frontier, TakesOrders)
        await frontier.order(SiteOrder("a.org", delay=2.5, at=7.0))
        orders, census = await frontier.orders(), await frontier.census()
        assert isinstance(frontier, Browsable)
        lines = await frontier.browse(Search())

    assert [line.url for line in lines.entries] == ["http://a.org/"]
    assert orders == [SiteOrder("a.org", delay=2.5, at=7.0)]
    assert census.pending == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"password": "guess"}, "the user or the password is wrong"),
        ({"database": "nowhere"}, "there is no such database"),
    ],
)
async def test_a_wrong_door_is_named_without_the_password(
    server: PostgresServer, wrong: dict[str, str], said: str
) -> None:
    with pytest.raises(StoreError, match=said) as caught:
        async with open_frontier(server.url("outrider", **wrong), FrontierRules()):
            pass

    assert not isinstance(caught.value, StoreUnavailable)
    assert PASSWORD not in str(caught.value)
    assert "guess" not in str(caught.value)


async def test_a_user_without_permission_is_told_so(server: PostgresServer, schema: str) -> None:
    async with server.connected() as connection:
        await connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")

    with pytest.raises(StoreError, match="lacks a permission"):
        async with open_frontier(server.url(schema, user="guest", password="guest"), FrontierRules()):
            pass


async def test_a_server_with_no_room_left_is_worth_another_try(server: PostgresServer, schema: str) -> None:
    async with server.connected() as connection:
        await connection.execute("CREATE ROLE lonely LOGIN PASSWORD 'lonely' CONNECTION LIMIT 0")

    with pytest.raises(StoreUnavailable, match="too many connections"):
        async with open_frontier(server.url(schema, user="lonely", password="lonely"), FrontierRules()):
            pass


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://127.0.0.1", "names no database"),
        ("postgresql://127.0.0.1/x?schema=a;b", "expected small letters"),
        ("postgresql://127.0.0.1/x?pool=0", "expected a whole number from 1 up"),
        ("postgresql://127.0.0.1/x?sslmode=maybe", "expected disable or"),
        ("postgresql://u:hidden@127.0.0.1/x?shema=a", "it knows pool, schema, sslmode, timeout"),
    ],
)
async def test_a_url_that_says_too_little_or_too_much_is_refused(url: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        async with open_frontier(url, FrontierRules()):
            pass

    assert "hidden" not in str(caught.value)
