"""The log: which events, how loud, in which words, and how much of it."""

import json
import logging
from pathlib import Path
from typing import get_args

import pytest

from outrider.errors import StoreError
from outrider.model.event import (
    BugFound,
    CrawlFinished,
    CrawlStarted,
    Event,
    PageFailed,
    PageSkipped,
    SiteCameBack,
    SiteProbed,
    SiteWentDown,
    UrlAdmitted,
)
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.observe.log import LEVELS, LOGGER, EventLog, open_log
from outrider.observe.sentences import event_text, fields_of, sentence

URL = Url("http://example.com/a?b=c")
TOO_MANY = PageFailed(at=1_000.0, url=URL, site="example.com", reason=Reason.TOO_MANY_REDIRECTS, detail="6 hops")


def test_every_event_has_its_level_and_its_sentence() -> None:
    """H3-5: no event falls through."""
    tags = {str(kind.__struct_config__.tag) for kind in get_args(Event)}

    assert set(LEVELS) == tags


def test_too_many_redirects_stand_in_the_log_with_url_and_id(tmp_path: Path) -> None:
    """S0-17: as fields, in the text and in JSON."""
    for form in ("text", "json"):
        with open_log(tmp_path / form, "json" if form == "json" else "text") as log:
            log.listen([TOO_MANY])

    text, told = (tmp_path / "text").read_text(), json.loads((tmp_path / "json").read_text())
    assert text == (
        "1970-01-01T00:16:40.000Z WARNING failed for good type=page_failed url="
        f'"{URL}" site=example.com reason=too_many_redirects detail="6 hops" scope=url id={URL.sha256}\n'
    )
    assert (told["reason"], told["url"], told["id"]) == ("too_many_redirects", URL, URL.sha256)
    assert (told["level"], told["type"], told["time"]) == ("warning", "page_failed", "1970-01-01T00:16:40.000Z")


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            SiteWentDown(at=100.0, site="a.org", reason=Reason.HTTP_503, probe_at=130.0, openings=1),
            "circuit open for a.org, next probe in 30 s",
        ),
        (SiteCameBack(at=190.0, site="a.org", down_since=100.0), "circuit closed, a.org came back after 1 min 30 s"),
        (SiteProbed(at=1.0, site="a.org", alive=False), "a.org was probed: still down"),
        (CrawlStarted(at=1.0, workers=1, resumed=True), "the crawl goes on with 1 worker"),
        (CrawlFinished(at=1.0, finish="finished", pages=2, seconds=4.0), "ended with 2 pages in 4.0 s"),
        (
            PageFailed(at=100.0, url=URL, site="a.org", reason=Reason.HTTP_500, due_at=220.0),
            "failed, due again in 2 min 00 s",
        ),
    ],
)
def test_a_sentence_says_what_happened(event: Event, words: str) -> None:
    """The breaker says when it opens, when it asks again and when it closes."""
    assert sentence(fields_of(event)) == words


def test_an_event_of_a_later_version_is_told_by_its_name() -> None:
    assert event_text({"type": "comet_seen", "at": 1.0, "tail": [1]}) == "comet seen type=comet_seen tail=[1]"
    assert sentence({"type": "site_went_down", "at": 1.0}) == "site went down"


def test_what_is_quiet_is_left_out_unless_all_is_asked_for(tmp_path: Path) -> None:
    events: list[Event] = [UrlAdmitted(at=1.0, url=URL, site="example.com"), TOO_MANY]

    for name, level in (("info", logging.INFO), ("debug", logging.DEBUG)):
        with open_log(tmp_path / name, level=level) as log:
            log.listen(events)

    assert len((tmp_path / "info").read_text().splitlines()) == 1
    assert len((tmp_path / "debug").read_text().splitlines()) == 2


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_page_can_neither_forge_a_line_nor_steer_a_terminal(form: str, tmp_path: Path) -> None:
    """The skip is logged; what the site wrote is spelled out."""
    detail = '\n1970-01-01T00:00:00Z INFO forged\x1b[2J\u202e "'
    event = PageSkipped(at=1.0, url=URL, site="example.com", reason=Reason.ROBOTS_DISALLOWED, detail=detail)
    with open_log(tmp_path / "log", "json" if form == "json" else "text") as log:
        log.listen([event])

    text = (tmp_path / "log").read_text()
    assert text.count("\n") == 1
    assert text.rstrip("\n").isprintable()
    assert "robots_disallowed" in text


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_password_is_never_logged(form: str, tmp_path: Path) -> None:
    with open_log(tmp_path / "log", "json" if form == "json" else "text") as log:
        log.listen([BugFound(at=1.0, what="to reach redis://u:secret@host", error="redis://u:secret@host is away")])
        logging.getLogger(LOGGER).warning("cannot reach %s", "redis://u:secret@host\n")
        error = ValueError("redis://u:secret@host")
        logging.getLogger(LOGGER).error("it broke", exc_info=(ValueError, error, None))

    text = (tmp_path / "log").read_text()
    assert "secret" not in text
    assert text.count("u:***@host") >= 4
    assert text.count("\n") == 3


def test_the_log_is_bounded(tmp_path: Path) -> None:
    """H2-31: so many files of so many bytes, and the newest is the one without a number."""
    path = tmp_path / "logs" / "outrider.log"
    with open_log(path, size=2_000, keep=2) as log:
        for n in range(200):
            log.listen([SiteProbed(at=float(n), site="example.com", alive=True)])

    names = sorted(found.name for found in path.parent.iterdir())
    assert names == ["outrider.log", "outrider.log.1", "outrider.log.2"]
    assert all(found.stat().st_size <= 2_000 for found in path.parent.iterdir())
    assert "T00:03:19" in path.read_text().splitlines()[-1]


def test_whoever_embeds_us_hears_events_in_his_own_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    EventLog().listen([TOO_MANY])

    (record,) = caplog.records
    assert (record.name, record.levelname) == (LOGGER, "WARNING")
    assert record.event["reason"] == "too_many_redirects"  # type: ignore[attr-defined]  # what `extra` brought


def test_when_the_log_is_closed_the_logger_is_as_it_was(tmp_path: Path) -> None:
    logger = logging.getLogger(LOGGER)
    before = (logger.level, logger.propagate, list(logger.handlers))

    with open_log(tmp_path / "log"):
        assert logger.handlers != before[2]

    assert (logger.level, logger.propagate, list(logger.handlers)) == before


def test_a_log_that_cannot_be_opened_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="directory"), open_log(tmp_path):
        raise AssertionError("it was opened")


def test_a_log_that_breaks_is_said_once_and_ends_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    (tmp_path / "log").symlink_to(full)

    with open_log(tmp_path / "log", size=0) as log:
        log.listen([TOO_MANY, TOO_MANY])

    assert capsys.readouterr().err.count("the log cannot be written: [Errno 28] No space left on device") == 1
