"""A frontier is moved whole, repeatably, and the ledgers are compared."""

import pytest
from msgspec.structs import replace

from outrider.errors import ConfigError, SchemaMismatch
from outrider.model.identity import Identity
from outrider.model.ledger import Added, Census, Settled, State
from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Later, Skip
from outrider.model.url import Url
from outrider.ops.lines import LinesSource, exported
from outrider.ops.move import Progress, move
from outrider.ports import FrontierRules
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.base import done, page, task

RULES = FrontierRules(Identity(seed=42))
HEADER = b'{"frontier":1,"made":{"identity":{"seed":42},"site_by":"domain","bare":true},"census":{}}'


async def a_used_frontier(clock: FakeClock) -> MemoryFrontier:
    frontier = MemoryFrontier(RULES, clock)
    await frontier.add([page(n, site) for site in ("a.org", "b.org") for n in range(5)])
    await frontier.add([], refused=[(Url("http://c.org/x|y"), Reason.OUT_OF_SCOPE)])
    lent = await frontier.lease(sites=1, tasks=4, seconds=60)
    lease = lent.leases[0]
    one, two, three, four = lease.tasks
    ends = (
        (one, done(one, Url("http://a.org/final"))),
        (two, Dead(Reason.HTTP_404, 1, "gone", 404)),
        (three, Later(2_000.0, Reason.HTTP_500, 2)),
        (four, Skip(Reason.ROBOTS_DISALLOWED, "line 1")),
    )
    resting = replace(lease.site, not_before=1_500.0, fetched=1)
    await frontier.settle([Settled(lease, resting, ends)])
    return frontier


async def test_every_line_and_every_site_arrives_and_the_ledgers_agree() -> None:
    """S2-10, S2-11."""
    clock = FakeClock(1_000.0)
    source, target = await a_used_frontier(clock), MemoryFrontier(RULES, clock)
    told: list[Progress] = []

    report = await move(source, target, batch_size=3, tell=told.append)

    assert report.differences == ()
    assert report.before == report.after
    assert report.progress == Progress(sites=2, lines=12, new=12, total=12)
    assert [progress.lines for progress in told][-4:] == [3, 6, 9, 12]
    final = await target.find(Url("http://a.org/final"))
    assert final is not None
    assert final.state is State.FETCHED


async def test_a_move_that_is_repeated_adds_nothing() -> None:
    """H2-21."""
    clock = FakeClock(1_000.0)
    source, target = await a_used_frontier(clock), MemoryFrontier(RULES, clock)
    await move(source, target)

    again = await move(source, target)

    assert (again.progress.new, again.differences) == (0, ())


async def test_a_dry_run_reads_everything_and_writes_nothing() -> None:
    """S2-14."""
    clock = FakeClock(1_000.0)
    source, target = await a_used_frontier(clock), MemoryFrontier(RULES, clock)

    report = await move(source, target, dry_run=True)

    assert report.progress.lines == 12
    assert await target.census() == Census()


async def test_a_frontier_that_is_at_work_is_not_moved() -> None:
    clock = FakeClock(1_000.0)
    source = await a_used_frontier(clock)
    await source.lease(sites=1, tasks=1, seconds=60)

    with pytest.raises(ConfigError, match="1 sites lent to workers"):
        await move(source, MemoryFrontier(RULES, clock))


async def test_a_target_that_knew_more_differs_and_it_is_said() -> None:
    clock = FakeClock(1_000.0)
    source, target = await a_used_frontier(clock), MemoryFrontier(RULES, clock)
    await target.add([task("http://d.org/")])

    report = await move(source, target)

    assert report.differences == (
        "discovered: 12 before, 13 after",
        "pending: 6 before, 7 after",
        "sites: 2 before, 3 after",
    )


async def test_an_export_read_back_is_the_same_frontier() -> None:
    clock = FakeClock(1_000.0)
    source, target = await a_used_frontier(clock), MemoryFrontier(RULES, clock)
    lines = [line async for line in exported(source)]

    report = await move(LinesSource("export", lines), target)

    assert report.differences == ()
    again = [line async for line in exported(target)]
    assert len(again) == len(lines)
    assert again[0] == lines[0]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "its first line is no header"),
        ([b'{"site":{"key":"a"}}'], "its first line is no header"),
        ([b'{"frontier":1,"census":{}}'], "its first line is no header"),
        ([HEADER.replace(b"42", b"0")], "its first line is no header"),
        ([b"\xff\xfe"], "line 1 is not a line of an export"),
        ([b'{"frontier":99,"census":{}}'], "has version 99; this outrider reads up to 1"),
        ([HEADER, b"{"], "line 2 is not a line of an export"),
        ([HEADER, b'{"what":1}'], "line 2 is not a line of an export"),
        ([HEADER, b'{"hashes":[1]}', b'{"site":{"key":"a"}}'], "is out of order"),
    ],
)
async def test_a_file_that_is_no_export_is_refused_in_one_sentence(lines: list[bytes], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        await move(LinesSource("file.jsonl", lines), MemoryFrontier(RULES, FakeClock()))


async def test_into_a_store_with_another_seed_lines_are_hashed_anew() -> None:
    clock = FakeClock(1_000.0)
    source, target = await a_used_frontier(clock), MemoryFrontier(FrontierRules(), clock)

    report = await move(source, target)

    assert report.differences == ()
    assert await target.add([page(1, "b.org")]) == [Added.KNOWN]


@pytest.mark.parametrize("by_export", [False, True])
async def test_bare_hashes_do_not_go_into_a_store_with_another_seed(by_export: bool) -> None:  # noqa: FBT001 - a column
    clock = FakeClock(1_000.0)
    store, target = await a_used_frontier(clock), MemoryFrontier(FrontierRules(), clock)
    await store.restore(hashes=[7])
    source = LinesSource("export", [line async for line in exported(store)]) if by_export else store

    with pytest.raises(SchemaMismatch, match="made with another seed, and some URLs of the source are known by"):
        await move(source, target)

    assert await target.census() == Census()


async def test_sites_that_are_told_apart_otherwise_are_not_moved() -> None:
    clock = FakeClock(1_000.0)
    target = MemoryFrontier(replace(RULES, site_by="host"), clock)

    with pytest.raises(SchemaMismatch, match="the source has site_by=domain and the target site_by=host"):
        await move(await a_used_frontier(clock), target)


async def test_what_operators_said_moves_along_and_does_not_unsay_what_was_said_to_the_target() -> None:
    clock = FakeClock(1_000.0)
    source, target = await a_used_frontier(clock), MemoryFrontier(RULES, clock)
    await source.order(SiteOrder("a.org", paused=True, at=900.0))
    await source.order(SiteOrder("b.org", paused=True, at=900.0))
    await target.order(SiteOrder("b.org", delay=9.0, at=950.0))

    await move(source, target, dry_run=True)
    untouched = await target.orders()
    await move(source, target)

    assert untouched == [SiteOrder("b.org", delay=9.0, at=950.0)]
    assert await target.orders() == [SiteOrder("a.org", paused=True, at=900.0), SiteOrder("b.org", delay=9.0, at=950.0)]
