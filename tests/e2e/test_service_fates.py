"""What becomes of a URL that is no URL, is missing, broken, forbidden, empty or elsewhere, as other programs see it."""

from collections import Counter
from pathlib import Path
from typing import Any

from tests.e2e.service_faults import begun, rig_over, scraped, site
from tests.e2e.services import SWIFTLY, Command, Rig, until
from tests.services.kafka import KafkaServer
from tests.services.redis import RedisServer

from outrider.cli.exit_codes import ExitCode
from outrider.testing.webfarm import Elsewhere, WebFarm, empty, page, redirect, status, text

HOST, OTHER = "fates.test", "other.test"
VISITS = 2
NO_URLS = ["no URL at all", '{"url": 7}']
RULE = "disallowed by line 2 of robots.txt (Disallow: /private) for user-agent *"


async def test_every_entry_ends_where_its_consumers_look_for_it(
    tmp_path: Path, redis: RedisServer, kafka: KafkaServer
) -> None:
    """S4-5, S4-6, S4-15, S4-18, S4-20, S4-28, S4-31, S4-32, S4-46: and what is pushed again is fetched again."""
    robots = text("User-agent: *\nDisallow: /private\n")
    away = redirect(301, Elsewhere(OTHER, "/0"))
    pages = site(1, **{"robots.txt": robots, "broken": status(500), "empty": empty(), "away": away})
    async with WebFarm({HOST: pages, OTHER: site(1)}) as farm, rig_over(farm, tmp_path, redis, kafka) as built:
        paths = ("0", "missing", "broken", "private", "empty", "away")
        urls = {path: farm.url(HOST, f"/{path}") for path in paths} | {"landed": farm.url(OTHER, "/0")}
        worker = await built.worker("worker", **SWIFTLY, max_visits=VISITS, retry_backoff=0.01)
        await begun(worker)

        built.push([*NO_URLS, *(urls[path] for path in paths)])
        await until(lambda: _nothing_is_owed(worker, len(urls)), "all have ended", worker)

        told = built.told()
        assert {one.event["url"] for one in told} == {urls["0"], urls["landed"]}
        assert {path for path, url in urls.items() if built.page(url)} == {"0", "landed"}
        landed = next(one.event for one in told if one.event["url"] == urls["landed"])
        assert (landed["requested_url"], landed["origin"]) == (urls["away"], "redirect")
        _judge_letters(built.letters(), urls)
        _judge_failures(built, urls)
        _judge_requests(farm, scraped(worker))
        pages["/missing"] = page("<p>here it is")
        built.push([urls["0"], urls["missing"]])
        await until(lambda: built.fetched()[urls["missing"]] == 1, "what was dead is asked again", worker)
        await until(lambda: built.fetched()[urls["0"]] == 2, "what was fetched is asked again", worker)
        assert await worker.stopped() == ExitCode.OK, worker.said
        assert len({one.event["fetch_id"] for one in built.told()}) == len(built.told()) == 4
        assert len(built.letters()) == 5


def _nothing_is_owed(worker: Command, known: int) -> bool:
    seen = scraped(worker)
    states = {state: seen[f"outrider_frontier_urls{{{state}}}"] for state in ("pending", "waiting")}
    return seen["outrider_frontier_discovered"] == known and not any(states.values())


def _judge_letters(letters: list[dict[str, Any]], urls: dict[str, str]) -> None:
    """Once each, and only what failed for good by its own fault."""
    by_url = {letter["url"]: letter for letter in letters}
    assert len(letters) == len(by_url)
    found = {url: (letter["reason"], letter["attempts"], letter["status_code"]) for url, letter in by_url.items()}
    assert found == {
        **dict.fromkeys(NO_URLS, ("invalid_url", 0, None)),
        urls["missing"]: ("http_404", 1, 404),
        urls["broken"]: ("http_500", VISITS, 500),
        urls["empty"]: ("empty_body", 1, 200),
    }
    for letter in letters:
        assert letter["last_error"]
        assert letter["first_at"] <= letter["last_at"]
        assert letter["last_at"].endswith("Z")
    assert by_url[urls["broken"]]["first_at"] < by_url[urls["broken"]]["last_at"]
    assert len({letter["evidence_id"] for letter in letters} - {""}) == len(letters)


def _judge_failures(built: Rig, urls: dict[str, str]) -> None:
    """Every visit that brought no page is told of, with its reason."""
    events = [one.event for one in built.told(built.failures)]
    assert Counter((event["type"], event.get("url") or event["entry"]) for event in events) == {
        **{("entry_refused", entry): 1 for entry in NO_URLS},
        **{(kind, urls[path]): 1 for kind in ("page_failed", "url_died") for path in ("missing", "empty")},
        ("page_failed", urls["broken"]): VISITS,
        ("url_died", urls["broken"]): 1,
        ("page_skipped", urls["private"]): 1,
        ("page_moved", urls["away"]): 1,
    }
    assert {event["detail"] for event in events if event["type"] == "page_skipped"} == {RULE}
    assert {event["to"] for event in events if event["type"] == "page_moved"} == {urls["landed"]}
    assert {event["scope"] for event in events if event["type"] == "page_failed"} == {"url"}
    evidence = {event["url"]: event["fetch_id"] for event in events if event["type"] == "url_died"}
    letters = {letter["url"]: letter["evidence_id"] for letter in built.letters()}
    assert evidence == {url: letters[url] for url in evidence}


def _judge_requests(farm: WebFarm, seen: dict[str, float]) -> None:
    """What robots.txt forbids is not asked for; what is broken as often as the retries and visits say."""
    assert farm.asked(HOST, "/private") == []
    assert len(farm.asked(HOST, "/broken")) == VISITS * 4
    assert len(farm.asked(HOST, "/missing")) == len(farm.asked(HOST, "/empty")) == 1
    assert seen["page_fetcher_pages_skipped_robots_total"] == 1
    assert seen["page_fetcher_pages_failed_total"] == 3
    assert seen["page_fetcher_dlq_enqueued_total"] == 5
    assert seen["page_fetcher_retries_total"] == VISITS * 3
    assert seen["page_fetcher_pages_requeued_total"] == seen["page_fetcher_circuit_breaker_opened_total"] == 0
