"""The judge finds what was impolite in a log, and nothing else: here the logs are made up."""

from outrider.model.ledger import State
from outrider.model.reason import Reason
from outrider.testing.webfarm.kinds import Place
from outrider.testing.webfarm.world import HERE, small
from outrider.testing.webfarm.world_judge import Difference, Gap, Judge, differences
from outrider.testing.webfarm.world_log import Logged
from outrider.testing.webfarm.world_nodes import Robots
from outrider.testing.webfarm.world_troubles import SPICES, disallowed, redirects, twins, unhurried
from outrider.testing.webfarm.world_truth import Expected, Fate, truth

WORLD = small(7)
PLACE = Place((HERE,), 8080)
ORDINARY = WORLD.host(SPICES.index(redirects))
CLOSED = WORLD.host(SPICES.index(disallowed))
SLOW = WORLD.host(SPICES.index(unhurried))
TWO = WORLD.host(SPICES.index(twins))


def line(
    at: float,
    host: str = ORDINARY,
    target: str = "/",
    status: int = 200,
    *,
    method: str = "GET",
    retry_after: float | None = None,
) -> Logged:
    return Logged(1e9 + at, at, host, method, target, status, retry_after)


def gaps(*log: Logged, interval: float = 1.0, slack: float = 0.0) -> list[Gap]:
    return Judge(WORLD, log).gaps(interval, slack=slack)


def test_a_request_for_what_is_disallowed_is_found_whatever_its_method() -> None:
    log = [
        line(1, CLOSED, "/robots.txt"),
        line(2, CLOSED, "/private/"),
        line(3, CLOSED, "/private/a?b=c", method="HEAD"),
        line(4, CLOSED, "/private/open"),
        line(5, CLOSED, "/"),
        line(6, ORDINARY, "/private/"),
        line(7, "unknown.test", "/private/"),
    ]

    found = Judge(WORLD, log).disallowed_requests()

    assert [each.target for each in found] == ["/private/", "/private/a?b=c"]


def test_a_page_before_its_robots_txt_is_found() -> None:
    log = [
        line(1, target="/early"),
        line(2, target="/robots.txt", status=503),
        line(3, target="/also-early"),
        line(4, method="HEAD"),
        line(5, target="/robots.txt", status=404),
        line(6),
    ]

    found = Judge(WORLD, log).unasked_robots()

    assert [each.target for each in found] == ["/early", "/also-early"]


def test_a_request_that_comes_too_soon_is_found() -> None:
    early = line(2.75)

    found = gaps(line(1), line(2), early, line(4))

    assert found == [Gap(ORDINARY, line(2), early, 0.75, 1.0)]


def test_other_sites_do_not_count() -> None:
    assert gaps(line(1), line(1.1, CLOSED), line(2), line(2.1, CLOSED)) == []


def test_two_hosts_of_one_site_share_its_pace() -> None:
    log = [line(1, TWO), line(1.5, f"blog.{TWO}"), line(2.5, TWO)]

    by_domain = Judge(WORLD, log).gaps(1.0)
    by_host = Judge(WORLD, log).gaps(1.0, site_by="host")

    assert [each.later.host for each in by_domain] == [f"blog.{TWO}"]
    assert by_host == []


def test_slack_forgives_as_much_as_it_says() -> None:
    log = line(1), line(1.95)

    assert len(gaps(*log)) == 1
    assert len(gaps(*log, slack=0.04)) == 1
    assert gaps(*log, slack=0.06) == []


def test_a_crawl_delay_counts_from_the_robots_txt_on() -> None:
    site = WORLD.site(SLOW)
    assert site is not None
    assert isinstance(site.robots_node, Robots)
    log = [line(0, SLOW), line(0.1, SLOW, "/robots.txt"), line(0.25, SLOW, "/p/1"), line(0.6, SLOW)]

    found = gaps(*log, interval=0.05)

    assert [(each.later.target, each.owed) for each in found] == [("/p/1", site.crawl_delay)]


def test_a_site_that_asks_for_silence_gets_it_from_every_request() -> None:
    asks = line(1, status=429, retry_after=5.0)
    log = [asks, line(3, target="/other"), line(4.5, target="/robots.txt"), line(6), line(7)]

    found = gaps(*log)

    assert [each.later.target for each in found] == ["/other", "/robots.txt"]
    assert found[0].owed == 5.0


def test_a_429_that_names_no_time_asks_for_none() -> None:
    assert gaps(line(1, status=429), line(2)) == []


def test_the_order_of_the_log_does_not_matter() -> None:
    assert len(gaps(line(3), line(1), line(1.2))) == 1


def test_what_is_had_more_often_than_it_must_be_is_found() -> None:
    known = truth(WORLD, PLACE)
    log = [
        *(line(at, target="/p/1") for at in (1, 2)),
        *(line(at, target="/") for at in (3, 4)),
        *(line(at, target="/robots.txt") for at in (5, 6)),
        *(line(at, target="/a/b/2.html", status=503) for at in (7, 8)),
        *(line(at, target="/view?id=3", method="HEAD") for at in (9, 10)),
    ]

    judge = Judge(WORLD, log)

    # "/" may be had twice, for a redirect leads there.
    assert judge.fetched_more_than_once(known, PLACE) == {PLACE.url(ORDINARY, "/p/1"): 2}
    assert judge.fetched_more_than_once(known, PLACE, more=1) == {}


def test_where_the_ledger_differs_from_the_truth_is_found() -> None:
    missed, wrong, right, hop = Expected(Fate.FETCHED), Expected(Fate.ALIAS), Expected(Fate.FETCHED), Expected(Fate.HOP)
    known = {"missed": missed, "wrong": wrong, "right": right, "hop": hop}
    ledger = [
        ("right", State.FETCHED, None),
        ("wrong", State.DEAD, Reason.HTTP_404),
        ("invented", State.FETCHED, None),
    ]

    found = differences(known, ledger)

    assert found == [
        Difference("wrong", wrong, State.DEAD, Reason.HTTP_404),
        Difference("invented", None, State.FETCHED),
        Difference("missed", missed, None),
    ]
