"""The API over a crawl that has ended: what is shown agrees with what is known, and what is done is done once."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.integration.web.conftest import TITLE, Crawled
from tests.integration.web.dashboards import Asked, Command, Dashboard

from outrider.model.reason import Reason
from outrider.settings import Settings
from outrider.stores.sqlite.glance import census_of_file


def events(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = [line for file in sorted((folder / "events").glob("*.jsonl")) for line in file.read_text().splitlines()]
    return [event for line in lines if (event := json.loads(line))["type"] == kind]


def test_the_overview_is_what_the_ledger_counts(dashboard: Dashboard, crawled: Crawled) -> None:
    census = census_of_file(crawled.folder / "crawl.db")

    told = dashboard.look("overview")

    states = told["states"]
    assert states["discovered"] == census.discovered
    assert sum(states[name] for name in ("pending", "waiting", "fetched", "skipped", "dead", "alias")) == (
        census.discovered
    )
    assert {one["name"]: one["count"] for one in told["dead"]} == census.dead
    assert (told["canAct"], told["name"]) == (True, str(crawled.folder))


def test_what_happened_before_anybody_watched_is_read_from_the_records(dashboard: Dashboard, crawled: Crawled) -> None:
    census = census_of_file(crawled.folder / "crawl.db")

    told = _until_past(dashboard)

    assert sum(point["pages"] for point in told["history"]) == census.fetched


def test_sites_are_sorted_and_found_by_a_part_of_their_name(dashboard: Dashboard) -> None:
    by_name = dashboard.look("sites", sort="name")
    backwards = dashboard.look("sites", sort="-name", limit=1)
    found = dashboard.look("sites", text="other")

    assert [row["key"] for row in by_name["rows"]] == ["other.test", "site.test"]
    assert [row["key"] for row in backwards["rows"]] == ["site.test"]
    assert backwards["after"] == "1"
    assert [row["key"] for row in found["rows"]] == ["other.test"]
    assert (found["found"], found["known"], found["isCut"]) == (1, 2, False)


def test_a_site_tells_its_robots_txt_and_its_last_failure(dashboard: Dashboard) -> None:
    told = dashboard.look("site", key="site.test")

    assert told["isKnown"]
    assert told["row"]["robots"]["status"] == "found"
    assert told["row"]["trouble"]["reason"] in set(Reason)
    assert {one["reason"] for one in told["troubles"]} >= {"http_404", "http_410", "too_many_redirects"}


def test_a_site_that_nobody_knows_is_an_answer(dashboard: Dashboard) -> None:
    assert dashboard.look("site", key="nobody.test")["isKnown"] is False


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ({"reason": "too_many_redirects"}, {"/far"}),
        ({"state": "dead", "status": 404}, {"/lost"}),
        ({"state": "dead", "text": "gon"}, {"/gone"}),
        ({"state": "fetched", "site": "site.test"}, {"/", "/a", "/titled"}),
        ({"state": "pending"}, set()),
    ],
)
def test_urls_are_found_by_state_reason_status_and_text(
    dashboard: Dashboard, query: dict[str, object], paths: set[str]
) -> None:
    rows = dashboard.look("urls", **query)["rows"]

    assert {"/" + row["url"].split("/", 3)[3] for row in rows} == paths


def test_turning_the_pages_shows_every_url_once(dashboard: Dashboard) -> None:
    found: list[str] = []
    query: dict[str, object] = {"limit": 2}
    for _ in range(50):
        told = dashboard.look("urls", **query)
        found += [row["url"] for row in told["rows"]]
        if told["after"] is None:
            break
        query["after"] = told["after"]

    whole = dashboard.look("urls", limit=500)
    assert whole["after"] is None
    assert sorted(found) == sorted(row["url"] for row in whole["rows"])
    assert len(found) == len(set(found))


def test_the_story_of_a_url_has_its_timeline_and_its_chain(dashboard: Dashboard, crawled: Crawled) -> None:
    told = dashboard.look("url", url=f"{crawled.origin}/far")

    chain = told["visits"][-1]["chain"]
    assert (told["standing"]["state"], told["standing"]["reason"]) == ("dead", "too_many_redirects")
    assert [step["status"] for step in chain] == [302] * len(chain)
    assert len(chain) > 2
    assert [moment["kind"] for moment in told["timeline"]] == ["discovered", "visited", "now", "next"]
    assert told["isLetter"]


def test_a_url_that_was_never_proposed_is_judged_rule_by_rule(dashboard: Dashboard) -> None:
    told = dashboard.look("url", url="http://elsewhere.test/")

    assert told["standing"]["knownBy"] == "nothing"
    assert [ruling["reason"] for ruling in told["rulings"] if ruling["passes"] is False] == ["out_of_scope"]


def test_a_script_in_a_title_is_data(dashboard: Dashboard) -> None:
    answer = dashboard.ask("/api/v1/urls?state=fetched&text=/titled")

    assert [row["title"] for row in answer.json["rows"]] == [TITLE]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_every_setting_is_there_with_its_source(dashboard: Dashboard) -> None:
    told = dashboard.look("settings")

    rows = {row["key"]: row for section in told["sections"] for row in section["rows"]}
    assert rows.keys() == Settings.model_fields.keys()
    assert rows["contact"]["source"].startswith("file ")
    assert rows["timeout"]["source"] == "default"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/api/v1/urls?after=nonsense", 400, "bad_request"),
        ("/api/v1/urls?after=lnonsense", 400, "bad_request"),
        ("/api/v1/urls?after=pnonsense", 400, "bad_request"),
        ("/api/v1/urls?state=lost", 422, "does_not_fit"),
        ("/api/v1/urls?limit=0", 422, "does_not_fit"),
        ("/api/v1/sites?sort=luck", 400, "bad_request"),
        ("/api/v1/url?url=nothing", 400, "invalid_url"),
        ("/api/v1/nothing", 404, "not_found"),
    ],
)
def test_what_cannot_be_answered_is_one_shape(dashboard: Dashboard, path: str, status: int, code: str) -> None:
    answer = dashboard.ask(path)

    assert (answer.status, answer.json["code"]) == (status, code)
    assert answer.json["error"]


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b'{"urls": []}', b'{"urls": ["ftp://x/"]}', b'{"urls": ["http://a/"], "more": 1}', b"\xff\xfe"],
)
def test_a_body_that_cannot_be_read_changes_nothing(dashboard: Dashboard, raw: bytes) -> None:
    answer = dashboard.ask("/api/v1/letters/replay", method="POST", headers={"X-Outrider": "1"}, raw=raw)

    assert answer.status == 400
    assert answer.json["error"]


def test_an_order_is_in_force_and_told_as_an_event(own: Crawled) -> None:
    with Dashboard(own.folder) as dashboard:
        paused = dashboard.act("site/order", site="site.test", paused=True)
        slowed = dashboard.act("site/order", site="site.test", delay=2.5)
        shown = dashboard.look("sites", state="paused")
        resumed = dashboard.act("site/order", site="site.test", paused=False, delay=None)
        after = dashboard.look("site", key="site.test")

    assert (paused.json["paused"], slowed.json["paused"], slowed.json["delay"]) == (True, True, 2.5)
    assert [row["key"] for row in shown["rows"]] == ["site.test"]
    assert (resumed.json["paused"], resumed.json["delay"], after["row"]["order"]) == (False, None, None)
    told = events(own.folder, "site_ordered")
    assert [(one["paused"], one["delay"], one["by"]) for one in told] == [
        (True, None, "api"),
        (True, 2.5, "api"),
        (False, None, "api"),
    ]


def test_a_dropped_letter_is_gone_for_good(own: Crawled) -> None:
    url = f"{own.origin}/gone"

    with Dashboard(own.folder) as dashboard:
        first = dashboard.act("letters/drop", urls=[url])
        again = dashboard.act("letters/replay", urls=[url])
        told = dashboard.look("url", url=url)

    assert (first.json, again.json) == ({"asked": 1, "done": 1}, {"asked": 1, "done": 0})
    assert (told["standing"]["state"], told["standing"]["reason"]) == ("skipped", "dismissed")


def test_of_users_who_replay_one_letter_at_once_one_does(own: Crawled) -> None:
    """Two servers on one file, as two processes, each asked by several at the same moment."""
    url = f"{own.origin}/lost"
    users = 8
    together = threading.Barrier(users)

    def replay(dashboard: Asked) -> int:
        together.wait(30)
        answer = dashboard.act("letters/replay", urls=[url])
        assert answer.status == 200, answer
        return int(answer.json["done"])

    with (
        Dashboard(own.folder) as one,
        Command(str(own.folder), "--listen", "127.0.0.1:0") as other,
        ThreadPoolExecutor(users) as pool,
    ):
        done = list(pool.map(replay, [one, other] * (users // 2)))
        told = one.look("url", url=url)

    assert sum(done) == 1
    assert told["standing"]["state"] in {"pending", "waiting"}
    assert [one["url"] for one in events(own.folder, "url_replayed")] == [url]


def _until_past(dashboard: Dashboard) -> dict[str, Any]:
    """The dashboard reads the past while it answers."""
    for _ in range(300):
        told: dict[str, Any] = dashboard.look("overview")
        if told["history"]:
            return told
        threading.Event().wait(0.05)
    raise AssertionError("nothing is told of the past")
