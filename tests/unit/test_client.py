"""The client: whatever the number of tasks, sites are asked one request at a time and at their pace."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from outrider import Client, ConfigError, Failed, Fetch, Fetched, InvalidUrl, NotModified, Reason, Skipped
from outrider.client import Sites
from outrider.errors import AddressRefused, ConnectError
from outrider.model.outcome import Timing
from outrider.model.record import Confidence
from outrider.model.site import Site
from outrider.ports import Clock, Request, Response
from outrider.settings import settings_of
from outrider.testing.clock import FakeClock
from outrider.testing.site import Script, ScriptedSite, page

HOUR = 3_600.0
DOWN = ConnectError("nobody listens")


class LateSite(ScriptedSite):
    """Takes a second of the fake clock for each answer, and knows how many were under way at most."""

    def __init__(self, table: Mapping[str, Script], clock: Clock) -> None:
        super().__init__(table, clock)
        self._late = clock
        self.under_way = 0
        self.peak = 0
        self.begun = asyncio.Event()

    async def request(self, request: Request) -> Response:
        self.begun.set()
        self.under_way += 1
        self.peak = max(self.peak, self.under_way)
        try:
            await self._late.sleep(1.0)
            return await super().request(request)
        finally:
            self.under_way -= 1


def client(site: ScriptedSite, clock: FakeClock, **keys: object) -> Client:
    given = {"contact": "a@example.org", "max_retries": 0} | keys
    return Client(settings=settings_of(**given), transport=site, clock=clock)


def moved(location: str) -> Response:
    return page(b"", 301, location=location)


def times(site: ScriptedSite, host: str) -> list[float]:
    return [at for at, request in site.asked if request.url.host == host]


def reason(fetch: Fetch) -> Reason | None:
    return fetch.outcome.failure.reason if isinstance(fetch.outcome, Failed) else None


# ── One fetch ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_fetch_says_what_its_callers_ask_for() -> None:
    """S1-33: scan id and URL in; status, final URL, load time, robots, confidence, success and error out."""
    answer = replace(page("<p>hé", set_cookie="a=1", Set_Cookie="b=2"), timing=Timing(total=0.25))
    table = {
        "http://a.test/robots.txt": page("User-agent: *\nAllow: /"),
        "http://a.test/": moved("/here"),
        "http://a.test/here": answer,
    }
    async with client(ScriptedSite(table), FakeClock(start=5.0), delay=2) as crawler:
        fetch = await crawler.fetch("http://a.test", scan_id="scan-7")

    assert fetch.ok
    assert isinstance(fetch.outcome, Fetched)
    assert (fetch.status, fetch.url, fetch.error, fetch.retry_after) == (200, "http://a.test/here", None, None)
    assert (fetch.robots_allowed, fetch.confidence) == (True, Confidence.HIGH)
    assert fetch.page is not None
    assert (fetch.page.scan_id, fetch.page.load_time, fetch.page.url) == ("scan-7", 250, "http://a.test/")
    assert (fetch.elapsed, fetch.text, fetch.content) == (4.0, "<p>hé", "<p>hé".encode())
    assert fetch.headers["set-cookie"] == "a=1, b=2"
    assert {each.kind for each in fetch.evidence} >= {"http_response", "redirect_chain", "robots_check"}
    assert repr(fetch) == "<Fetch 200 http://a.test/here Fetched, 6 bytes>"


async def test_what_the_web_does_is_in_the_result() -> None:
    table: dict[str, Script] = {
        "http://a.test/": page(b"", 404),
        "http://b.test/": DOWN,
        "http://c.test/": AddressRefused("private"),
    }
    async with client(ScriptedSite(table), FakeClock()) as crawler:
        missing, down, refused = [await crawler.fetch(f"http://{name}.test/") for name in "abc"]

    assert (missing.status, missing.error, missing.ok) == (404, "http_404", False)
    assert (down.status, down.error, down.headers, down.text) == (0, "connect_refused: nobody listens", {}, "")
    assert isinstance(refused.outcome, Skipped)
    assert refused.error == "blocked_address: private"
    assert repr(down) == "<Fetch 0 http://b.test/ connect_refused: nobody listens>"


async def test_a_url_that_a_skip_rule_names_is_not_asked_for() -> None:
    """S1-29: no success, status 0, an error, no page."""
    site = ScriptedSite({})
    async with client(site, FakeClock(), profile="audit") as crawler:
        fetch = await crawler.fetch("http://a.test/admin")

    assert (fetch.ok, fetch.status, fetch.page, fetch.evidence, fetch.robots_allowed) == (False, 0, None, (), None)
    assert (fetch.error or "").startswith("skip_pattern")
    assert site.asked == []


async def test_the_validators_of_one_fetch_make_the_next_one_conditional() -> None:
    """C16."""
    site = ScriptedSite({"http://a.test/": [page("one", etag='"1"'), page(b"", 304, etag='"1"')]})
    async with client(site, FakeClock()) as crawler:
        first = await crawler.fetch("http://a.test/")
        second = await crawler.fetch("http://a.test/", validators=first.validators)

    assert isinstance(second.outcome, NotModified)
    assert second.ok
    assert second.validators == first.validators
    assert site.asked[-1][1].headers["If-None-Match"] == '"1"'


async def test_every_fetch_has_an_id_of_its_own_also_when_nothing_was_asked() -> None:
    site = ScriptedSite({"http://a.test/": DOWN})
    async with client(site, FakeClock(), breaker_threshold=1) as crawler:
        fetches = [await crawler.fetch("http://a.test/") for _ in range(4)]

    assert len({fetch.visit.id for fetch in fetches} - {""}) == 4


# ── Pace and parallelism ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_many_tasks_on_one_site_are_served_one_after_the_other_at_its_pace() -> None:
    """C23, S4-3: in the order in which they asked."""
    clock = FakeClock()
    site = LateSite({f"http://{sub}a.test/{n}": page("x") for sub in ("", "www.") for n in range(5)}, clock)
    async with client(site, clock, delay=10) as crawler:
        urls = [f"http://{'www.' if n % 2 else ''}a.test/{n}" for n in range(5)]
        fetches = await asyncio.gather(*(crawler.fetch(url) for url in urls))

    assert [fetch.url for fetch in fetches] == urls
    assert site.peak == 1
    # Two robots.txt, five pages; each takes a second and then the site rests for ten.
    assert [at for at, _ in site.asked] == [1 + 11 * n for n in range(7)]


@pytest.mark.parametrize(("concurrency", "peak"), [(1, 1), (3, 3), (50, 12)])
async def test_many_sites_are_visited_side_by_side_up_to_the_limit(concurrency: int, peak: int) -> None:
    """H4-9: a wait for one site keeps nobody from others."""
    clock = FakeClock()
    urls = [f"http://s{n}.test/{number}" for number in range(2) for n in range(12)]
    site = LateSite({url: page("x") for url in urls}, clock)
    async with client(site, clock, concurrency=concurrency) as crawler:
        fetches = await asyncio.gather(*(crawler.fetch(url) for url in urls))

    assert all(fetch.ok for fetch in fetches)
    assert site.peak == peak


async def test_a_site_may_be_a_host() -> None:
    """C22."""
    clock = FakeClock()
    site = ScriptedSite({"http://x.a.test/": page("x"), "http://y.a.test/": page("y")}, clock)
    async with client(site, clock, site_by="host", delay=5) as crawler:
        await asyncio.gather(crawler.fetch("http://x.a.test/"), crawler.fetch("http://y.a.test/"))

    assert times(site, "x.a.test") == times(site, "y.a.test") == [0.0, 5.0]


async def test_two_clients_do_not_know_of_each_other() -> None:
    clock = FakeClock()
    site = ScriptedSite({"http://a.test/": page("x")}, clock)
    async with client(site, clock) as one, client(site, clock) as other:
        fetches = await asyncio.gather(one.fetch("http://a.test/"), other.fetch("http://a.test/"))

    assert all(fetch.ok for fetch in fetches)
    assert times(site, "a.test") == [0.0, 0.0, 1.0, 1.0]


async def test_a_cancelled_fetch_gives_the_site_back_and_its_pace_is_kept() -> None:
    clock = FakeClock()
    site = LateSite({f"http://a.test/{n}": page("x") for n in range(3)}, clock)
    async with client(site, clock, delay=10) as crawler:
        first, second, third = [asyncio.create_task(crawler.fetch(f"http://a.test/{n}")) for n in range(3)]
        await site.begun.wait()  # in the middle of robots.txt
        first.cancel()
        second.cancel()

        fetch = await third

    assert fetch.ok
    assert first.cancelled()
    assert second.cancelled()
    # The request that was cut short has cost the site its rest all the same.
    assert [(at, request.url.path) for at, request in site.asked] == [(11.0, "/robots.txt"), (22.0, "/2")]


# ── Redirects across sites ───────────────────────────────────────────────────────────────────────────────────────────


def chain(hops: int) -> dict[str, Response]:
    urls = [f"http://s{n}.test/" for n in range(hops + 1)]
    return {url: moved(urls[n + 1]) for n, url in enumerate(urls[:-1])} | {urls[-1]: page("end")}


async def test_a_chain_over_many_sites_is_one_fetch_with_one_story() -> None:
    """C7, C12, S1-9: robots.txt of every site is asked, and the chain is counted over all of them."""
    site = ScriptedSite(chain(5))
    async with client(site, FakeClock(), max_redirects=5) as crawler:
        fetch = await crawler.fetch("http://s0.test/")

    assert fetch.ok
    assert fetch.visit.requested == "http://s0.test/"
    assert fetch.url == "http://s5.test/"
    assert [hop.url.host for hop in fetch.visit.hops] == [f"s{n}.test" for n in range(6)]
    assert fetch.visit.requests == 12
    assert fetch.page is not None
    assert (fetch.page.metadata.redirect_count, fetch.page.metadata.attempts) == (5, 6)
    assert [request.url.path for _, request in site.asked] == ["/robots.txt", "/"] * 6


async def test_one_redirect_too_many_ends_the_chain_wherever_it_leads() -> None:
    """C7, S0-15."""
    site = ScriptedSite(chain(6))
    async with client(site, FakeClock(), max_redirects=5) as crawler:
        fetch = await crawler.fetch("http://s0.test/")

    assert reason(fetch) is Reason.TOO_MANY_REDIRECTS
    assert len(fetch.visit.hops) == 6
    assert times(site, "s6.test") == []


async def test_a_loop_over_two_sites_ends() -> None:
    """C9."""
    site = ScriptedSite({"http://a.test/": moved("http://b.test/"), "http://b.test/": moved("http://a.test/")})
    async with client(site, FakeClock(), max_redirects=50) as crawler:
        fetch = await crawler.fetch("http://a.test/")

    assert reason(fetch) is Reason.REDIRECT_LOOP
    assert [hop.url.host for hop in fetch.visit.hops] == ["a.test", "b.test"]
    assert len(site.asked) == 4


async def test_two_fetches_that_lead_to_each_others_sites_do_not_wait_for_each_other() -> None:
    site = ScriptedSite(
        {
            "http://a.test/": moved("http://b.test/end"),
            "http://b.test/": moved("http://a.test/end"),
            "http://a.test/end": page("a"),
            "http://b.test/end": page("b"),
        }
    )
    async with client(site, FakeClock(), concurrency=1) as crawler:
        fetches = await asyncio.gather(*(crawler.fetch(f"http://{name}.test/") for name in "ab"))

    assert [fetch.text for fetch in fetches] == ["b", "a"]


async def test_a_redirect_to_a_site_that_is_down_keeps_the_chain() -> None:
    table: dict[str, Script] = {"http://a.test/": moved("http://b.test/"), "http://b.test/": DOWN}
    async with client(ScriptedSite(table), FakeClock(), breaker_threshold=1) as crawler:
        await crawler.fetch("http://b.test/")
        fetch = await crawler.fetch("http://a.test/")

    assert reason(fetch) is Reason.SITE_UNREACHABLE
    assert (fetch.status, fetch.url) == (0, "http://b.test/")
    assert [hop.url for hop in fetch.visit.hops] == ["http://a.test/"]
    assert fetch.page is not None
    assert fetch.page.url == "http://a.test/"


# ── Sites that are down, or want to be left alone ────────────────────────────────────────────────────────────────────


async def test_after_five_failures_a_site_is_not_asked_and_the_fetch_says_until_when() -> None:
    """S4-21, S4-22, C4, C5."""
    clock = FakeClock()
    site = ScriptedSite({f"http://a.test/{n}": DOWN for n in range(9)} | {"http://b.test/": page("x")}, clock)
    async with client(site, clock) as crawler:
        failed = [await crawler.fetch(f"http://a.test/{n}") for n in range(5)]
        asked, now = len(site.asked), clock.now()
        put_off = [await crawler.fetch(f"http://a.test/{n}") for n in range(5, 9)]
        other = await crawler.fetch("http://b.test/")

    assert {reason(fetch) for fetch in failed} == {Reason.CONNECT_REFUSED}
    assert {reason(fetch) for fetch in put_off} == {Reason.SITE_UNREACHABLE}
    assert all(30 <= (fetch.retry_after or 0) <= 33 for fetch in put_off)
    assert "asked again in" in (put_off[0].error or "")
    assert put_off[-1].visit.ended_at == now
    assert len(site.asked) == asked + 2
    assert other.ok


async def test_when_it_is_due_a_probe_finds_out_and_the_fetch_goes_on_or_not() -> None:
    """S4-23, S4-26, C6."""
    clock = FakeClock()
    table = {f"http://a.test/{n}": [DOWN] * (n < 5) + [page("back")] for n in range(7)}
    site = ScriptedSite(table | {"HEAD http://a.test/": [DOWN, page(b"", 403)]}, clock)
    async with client(site, clock, delay=0) as crawler:
        for n in range(5):
            await crawler.fetch(f"http://a.test/{n}")
        asked = len(site.asked)

        clock.advance(34)
        still_down = await crawler.fetch("http://a.test/5")

        assert reason(still_down) is Reason.SITE_UNREACHABLE
        assert 60 <= (still_down.retry_after or 0) <= 66
        assert [request.method for _, request in site.asked[asked:]] == ["HEAD"]

        clock.advance(67)
        back = await crawler.fetch("http://a.test/5")
        after = await crawler.fetch("http://a.test/6")

    assert (back.text, after.text) == ("back", "back")
    assert [request.method for _, request in site.asked[asked:]] == ["HEAD", "HEAD", "GET", "GET"]


async def test_only_what_was_asked_counts_against_a_site() -> None:
    """H4-6, C13: one failure of robots.txt is one failure, however many pages wait for it."""
    clock = FakeClock()
    site = ScriptedSite({"http://a.test/robots.txt": [DOWN, page(b"", 404)], "http://a.test/": page("x")}, clock)
    async with client(site, clock) as crawler:
        waiting = [await crawler.fetch("http://a.test/") for _ in range(10)]
        clock.advance(300)
        back = await crawler.fetch("http://a.test/")

    assert {reason(fetch) for fetch in waiting} == {Reason.CONNECT_REFUSED}
    assert back.ok
    assert [request.url.path for _, request in site.asked] == ["/robots.txt", "/robots.txt", "/"]


async def test_a_site_that_asked_to_be_left_alone_for_long_is_not_waited_for() -> None:
    """C17: an hour is no time to wait inside a call; a few seconds are."""
    clock = FakeClock()
    table = {
        "http://a.test/": [page(b"", 429, retry_after="3600"), page("a")],
        "http://b.test/": [page(b"", 429, retry_after="20"), page("b")],
    }
    site = ScriptedSite(table, clock)
    async with client(site, clock) as crawler:
        for name in "ab":
            await crawler.fetch(f"http://{name}.test/")
        now = clock.now()
        far = await crawler.fetch("http://a.test/")
        near = await crawler.fetch("http://b.test/")

        assert reason(far) is Reason.RATE_LIMITED
        assert far.visit.ended_at == now
        assert near.ok
        assert near.visit.ended_at >= 20

        clock.advance(HOUR)
        again = await crawler.fetch("http://a.test/")

    assert again.ok
    assert HOUR - 10 < (far.retry_after or 0) <= HOUR


# ── Opening and closing ──────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_client_that_is_not_open_says_how_to_open_it() -> None:
    crawler = client(ScriptedSite({"http://a.test/": page("x")}), FakeClock())

    with pytest.raises(RuntimeError, match="async with"):
        await crawler.fetch("http://a.test/")
    async with crawler:
        assert (await crawler.fetch("http://a.test/")).ok
        with pytest.raises(RuntimeError, match="open already"):
            await crawler.__aenter__()
    with pytest.raises(RuntimeError, match="async with"):
        await crawler.fetch("http://a.test/")


def test_a_client_that_opens_again_in_another_loop_still_knows_the_pace() -> None:
    clock = FakeClock()
    site = ScriptedSite({"http://a.test/": page("x")}, clock)
    crawler = client(site, clock, delay=10)

    async def twice() -> None:
        async with crawler:
            await asyncio.gather(*(crawler.fetch("http://a.test/") for _ in range(2)))

    asyncio.run(twice())
    asyncio.run(twice())

    assert [at for at, _ in site.asked] == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"delya": 3}, "delya.*no such key.*delay"),
        ({"delay": "soon"}, "delay"),
        ({"settings": settings_of(), "delay": 3}, "delay: either settings, or keys"),
        ({"transport": ScriptedSite({}), "hosts": {"a.test": ["127.0.0.1"]}}, "hosts and ca_file"),
        ({"transport": ScriptedSite({}), "ca_file": "x.pem"}, "hosts and ca_file"),
    ],
)
def test_a_wrong_key_is_an_error_before_anything_happens(keys: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        Client(**keys)


async def test_text_that_is_no_url_is_an_error_of_the_caller() -> None:
    async with client(ScriptedSite({}), FakeClock()) as crawler:
        for text in ("", "example.com", "ftp://a.test/", "javascript:alert(1)"):
            with pytest.raises(InvalidUrl):
                await crawler.fetch(text)


async def test_nobody_is_visited_by_someone_without_a_name() -> None:
    """Not even by way of a redirect from our own machine."""
    site = ScriptedSite({"http://localhost/": moved("http://a.test/"), "http://localhost/home": page("home")})
    async with client(site, FakeClock(), contact=None) as crawler:
        home = await crawler.fetch("http://localhost/home")
        for url in ("http://a.test/", "http://localhost/"):
            with pytest.raises(ConfigError, match="contact"):
                await crawler.fetch(url)

    assert home.ok
    assert times(site, "a.test") == []


# ── What a client remembers ──────────────────────────────────────────────────────────────────────────────────────────


async def visit(sites: Sites, key: str, *, not_before: float = 0.0, now: float = 0.0) -> float:
    """Returns what was known of the site when it was lent."""
    async with sites.lend(Site(key), lambda: now) as lent:
        known = lent.site.not_before
        lent.site = Site(key, not_before=not_before)
    return known


async def test_a_client_remembers_a_bounded_number_of_sites() -> None:
    sites = Sites(most=3)

    for n in range(100):
        await visit(sites, f"s{n}.test")

    assert len(sites) == 3


async def test_the_site_that_was_used_least_recently_is_forgotten_first() -> None:
    sites = Sites(most=2)

    for key in ("a", "b", "a", "c"):
        await visit(sites, key, not_before=5.0, now=10.0)

    assert [await visit(sites, key, not_before=5.0, now=10.0) for key in ("c", "a")] == [5.0, 5.0]
    assert await visit(sites, "b") == 0.0


async def test_a_site_that_must_not_be_asked_yet_is_never_forgotten() -> None:
    sites = Sites(most=3)
    await visit(sites, "waits", not_before=HOUR)

    for n in range(100):
        await visit(sites, f"s{n}.test")

    assert await visit(sites, "waits") == HOUR
    assert len(sites) == 3


async def test_a_site_that_is_in_use_is_never_forgotten_nor_lent_twice() -> None:
    sites = Sites(most=1)
    order: list[str] = []
    gate = asyncio.Event()

    async def use(name: str) -> None:
        async with sites.lend(Site("busy"), lambda: 0.0):
            order.append(f"{name} in")
            await gate.wait()
            order.append(f"{name} out")

    tasks = [asyncio.create_task(use(name)) for name in ("first", "second")]
    await asyncio.sleep(0)
    for n in range(20):
        await visit(sites, f"s{n}.test")
    gate.set()
    await asyncio.gather(*tasks)

    assert order == ["first in", "first out", "second in", "second out"]
    assert len(sites) == 1
