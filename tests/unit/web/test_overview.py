"""What is reckoned from what a crawl tells: shares that add up, reasons by how often, and totals of either source."""

import pytest

from outrider.model.activity import Activity
from outrider.model.ledger import Census
from outrider.model.progress import Counts, Progress
from outrider.model.reason import Reason
from outrider.model.record import PageStatus, Tally
from outrider.web.history import History
from outrider.web.overview import Known, counted_reasons, overview_of, sample_of, shares_of, totals_of


def test_the_time_of_workers_adds_up_to_all_of_it() -> None:
    shares = shares_of({Activity.TURN: 6.0, Activity.FIRST_BYTE: 3.0, Activity.OTHER: 0.5})

    assert [share.name for share in shares] == ["turn", "first_byte", "other"]
    assert sum(share.share for share in shares) == pytest.approx(1.0)
    assert shares_of({}) == ()


def test_the_most_frequent_reason_comes_first_and_every_one_is_explained() -> None:
    counted = counted_reasons({Reason.HTTP_404: 2, Reason.TRAP: 5, Reason.TOO_DEEP: 0})

    assert [(one.name, one.count) for one in counted] == [("trap", 5), ("http_404", 2)]
    assert all(one.meaning for one in counted)


def test_totals_are_the_runs_own_or_what_is_on_record() -> None:
    tally = Tally({PageStatus.FETCHED: 5, PageStatus.FAILED: 2, PageStatus.MOVED: 1}, bytes=100)
    progress = Progress(2.0, 1.0, counts=Counts(visits=9, pages=4, requests=12))

    recorded = totals_of(Known(2.0, Census(), tally))
    told = totals_of(Known(2.0, Census(), tally, progress))

    assert (recorded.visits, recorded.pages, recorded.failed, recorded.moved, recorded.bytes) == (8, 5, 2, 1, 100)
    assert (told.visits, told.pages, told.requests, told.bytes) == (9, 4, 12, 0)


def test_without_a_crawl_that_tells_the_rate_is_what_the_records_grew_by() -> None:
    history = History()
    known = [Known(float(at), Census(pending=3), Tally({PageStatus.FETCHED: 10 * at})) for at in (2, 4)]
    for one in known:
        history.add(sample_of(one))

    told = overview_of(known[-1], history, name="a", can_act=False)

    assert told.rate == pytest.approx(10.0)
    assert [(point.pages, point.owed) for point in told.history] == [(20, 3)]
