"""Is the crawl over, and why?"""

import pytest
from msgspec.structs import replace

from outrider.engine.finish import UP_TO_DATE_AFTER, Finish, Standing, finish
from outrider.model.ledger import Census

NOW = 1_000.0
BUSY = Standing(
    census=Census(discovered=3, pending=2, fetched=1, leased=1),
    now=NOW,
    all_idle=False,
    next_at=None,
    tried=1,
    answers=1,
    is_new=True,
    recrawls=False,
)
IDLE = replace(BUSY, all_idle=True, census=Census(discovered=3, waiting=2, fetched=1))
OVER = Census(discovered=3, fetched=3)


@pytest.mark.parametrize(
    ("standing", "why"),
    [
        (BUSY, None),
        (replace(BUSY, census=OVER), Finish.FINISHED),
        (replace(BUSY, census=replace(OVER, leased=1)), None),
        (replace(IDLE, next_at=NOW + 5_000), None),
        (replace(BUSY, ends_at=NOW), Finish.TIME_LIMIT),
        (replace(BUSY, ends_at=NOW + 1), None),
        (replace(BUSY, ends_at=NOW, census=OVER), Finish.TIME_LIMIT),
        (replace(BUSY, exhausted=Finish.MAX_PAGES), Finish.MAX_PAGES),
        (replace(BUSY, exhausted=Finish.SIZE_LIMIT), Finish.SIZE_LIMIT),
        # A crawl that looks again ends when there is nothing to look at for a while.
        (replace(IDLE, recrawls=True, next_at=NOW + UP_TO_DATE_AFTER + 1), Finish.UP_TO_DATE),
        (replace(IDLE, recrawls=True, next_at=NOW + UP_TO_DATE_AFTER), None),
        (replace(IDLE, recrawls=True, next_at=None), None),
        (replace(IDLE, recrawls=True, all_idle=False, next_at=NOW + 9_999), None),
        (
            replace(IDLE, recrawls=True, next_at=NOW + 9_999, census=Census(discovered=2, waiting=1, pending=1)),
            None,
        ),
        # Nothing ever answered: somebody has mistyped a name, or is not online.
        (replace(IDLE, answers=0, next_at=NOW + 30), Finish.SEEDS_UNREACHABLE),
        (replace(IDLE, answers=0, next_at=NOW + 1), None),
        (replace(IDLE, answers=0, next_at=NOW + 30, is_new=False), None),
        (replace(IDLE, answers=0, next_at=NOW + 30, tried=0), None),
        (replace(IDLE, answers=0, next_at=NOW + 30, all_idle=False), None),
    ],
)
def test_when_it_is_over(standing: Standing, why: Finish | None) -> None:
    assert finish(standing) is why
