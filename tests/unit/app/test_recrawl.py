"""What is owed of a page that is on record?"""

import pytest

from outrider.app.recrawl import owe_fetched, task_again
from outrider.errors import ConfigError
from outrider.model.outcome import Headers, Validators
from outrider.model.record import Confidence, Page, PageMetadata, PageStatus
from outrider.model.task import Changes, Origin
from outrider.model.url import Url
from outrider.policy.recrawl import RecrawlRules
from outrider.policy.settle import SettleRules
from outrider.ports import FrontierRules, OwesAgain
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.stores.memory.records import MemoryRecords
from outrider.stores.postgres.frontier import PostgresFrontier
from outrider.stores.redis.frontier import RedisFrontier
from outrider.stores.sqlite.frontier import SqliteFrontier

URL = Url("http://example.com/a")
RULES = FrontierRules(settle=SettleRules(recrawl=RecrawlRules(first=100.0, least=10.0, most=1_000.0)))
TAGGED = (("ETag", '"1"'), ("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT"))


def visit(
    at: int, content: str | None = "aa", headers: Headers = TAGGED, status: PageStatus = PageStatus.FETCHED
) -> tuple[Page, Headers]:
    data = PageMetadata(
        status,
        str(URL),
        "text/html",
        1,
        0,
        robots_blocked=False,
        confidence=Confidence.HIGH,
        skip_content_extraction=False,
        fetched_at=f"1970-01-01T00:{at // 60:02}:{at % 60:02}.500Z",
        content_hash=content,
        depth=3,
        origin="link",
        parent="http://example.com/",
    )
    return Page(f"id{at}", "scan", str(URL), 200, 1, data), headers


def test_a_page_is_due_as_if_it_had_been_owed_from_the_beginning() -> None:
    task = task_again(URL, [visit(60)], RULES)

    assert (task.url, task.depth, task.priority, task.origin) == (URL, 3, -3, Origin.LINK)
    assert (task.parent, task.visits) == (Url("http://example.com/"), 0)
    assert (task.visited_at, task.due_at, task.content_sha256) == (60.5, 160.5, "aa")
    assert task.validators == Validators('"1"', "Thu, 01 Jan 1970 00:00:00 GMT")
    assert task.changes == Changes()


def test_a_304_keeps_what_it_does_not_repeat() -> None:
    """C16."""
    unchanged = visit(160, None, (("etag", '"2"'),), PageStatus.NOT_MODIFIED)

    task = task_again(URL, [visit(60), unchanged], RULES)

    assert task.validators == Validators('"2"', "Thu, 01 Jan 1970 00:00:00 GMT")
    assert (task.visited_at, task.content_sha256) == (160.5, "aa")
    assert task.changes == Changes(looks=1.0, changed=0.0, watched=100.0)
    assert task.due_at == 360.5


def test_another_content_counts_as_a_change_and_brings_its_own_validators() -> None:
    task = task_again(URL, [visit(60), visit(160, "bb", ())], RULES)

    assert task.validators == Validators()
    assert task.changes == Changes(looks=1.0, changed=1.0, watched=100.0)


@pytest.mark.parametrize("etag", ["", "a\x00b"])
def test_what_cannot_be_sent_is_not_kept(etag: str) -> None:
    task = task_again(URL, [visit(60, headers=(("ETag", etag),))], RULES)

    assert task.validators == Validators()


def test_a_site_with_an_interval_of_its_own_has_it_here_too() -> None:
    own = SettleRules(recrawl=RecrawlRules(), recrawl_sites={"example.com": RecrawlRules(7.0, 7.0, 7.0)})

    task = task_again(URL, [visit(60)], FrontierRules(settle=own))

    assert task.due_at == 67.5


@pytest.mark.parametrize(
    ("frontier", "can"),
    [(MemoryFrontier, True), (SqliteFrontier, True), (RedisFrontier, True), (PostgresFrontier, True), (object, False)],
)
def test_frontiers_that_cannot_owe_again_are_told_apart(frontier: type, can: bool) -> None:  # noqa: FBT001 - a table
    assert issubclass(frontier, OwesAgain) is can


async def test_a_frontier_that_cannot_owe_again_is_refused() -> None:
    with pytest.raises(ConfigError, match="recrawl: this crawl was begun without it"):
        await owe_fetched(object(), MemoryRecords(), RULES)
