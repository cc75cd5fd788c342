"""robots.txt is asked for once a day and per origin, at the site's pace, and an outage takes no rule away."""

import asyncio
import gzip
from collections.abc import Mapping

import pytest
from msgspec import convert
from msgspec.structs import replace

from outrider.errors import AddressRefused, ConnectError, DnsError, TransportError
from outrider.fetch.ask import Asker
from outrider.fetch.hold import Hold
from outrider.fetch.robots_txt import BYTES_PER_SITE, ORIGINS_PER_SITE, Judged, RobotsSettings, RobotsTexts
from outrider.model.reason import Reason
from outrider.model.robots import RobotsBasis, RobotsStatus, RobotsVerdict
from outrider.model.site import Pace, Site
from outrider.model.url import Url
from outrider.policy.retry import RetryLimits
from outrider.policy.robots import Defer
from outrider.ports import Clock, Request, Response
from outrider.testing.clock import FakeClock
from outrider.testing.site import Script, ScriptedSite, page

A = "http://example.com"
ROBOTS = f"{A}/robots.txt"
RULES = b"User-agent: *\nDisallow: /private\n"
DAY = 86_400.0
REFUSED = ConnectError("nobody listens")
GUARDED = AddressRefused("example.com is not visited: its address 10.0.0.1 is private")


class LateSite(ScriptedSite):
    """Takes a second of the fake clock for each answer, so that tests can be in the middle of one."""

    def __init__(self, table: Mapping[str, Script], clock: Clock) -> None:
        super().__init__(table, clock)
        self._late = clock

    async def request(self, request: Request) -> Response:
        await self._late.sleep(1.0)
        return await super().request(request)


def texts(site: ScriptedSite, clock: FakeClock, *, retries: int = 0, **settings: object) -> RobotsTexts:
    asker = Asker(site, clock, RetryLimits(total=retries), lambda: 0.0)
    return RobotsTexts(asker, clock, convert({"agent": "outrider"} | settings, RobotsSettings))


def held(clock: FakeClock, site: Site | None = None) -> Hold:
    return Hold(site or Site("example.com"), clock, until=clock.now() + 10 * DAY)


def asked(site: ScriptedSite) -> list[str]:
    return [str(request.url) for _, request in site.asked]


def verdict(judged: Judged) -> RobotsVerdict:
    assert isinstance(judged.verdict, RobotsVerdict)
    return judged.verdict


# ── Once a day, per origin ───────────────────────────────────────────────────────────────────────────────────────────


async def test_one_request_serves_every_url_of_an_origin_for_a_day() -> None:
    """S4-6, C24: checked before each fetch, cached for 24 hours."""
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: page(RULES)}, clock)
    robots, hold = texts(site, clock), held(clock)

    verdicts = [verdict(await robots.judge(Url(A + path), hold)).allowed for path in ("/", "/private/1", "/b?c=d")]
    clock.advance(DAY - 1)
    await robots.judge(Url(f"{A}/later"), hold)

    assert verdicts == [True, False, True]
    assert len(site.asked) == 1

    clock.advance(1)
    await robots.judge(Url(f"{A}/tomorrow"), hold)

    assert len(site.asked) == 2


async def test_each_scheme_host_and_port_has_a_file_of_its_own() -> None:
    clock = FakeClock()
    origins = [A, "https://example.com", "http://www.example.com", "http://example.com:8080"]
    site = ScriptedSite(
        {f"{origin}/robots.txt": page(f"User-agent: *\nDisallow: /{n}\n") for n, origin in enumerate(origins)}
    )
    robots, hold = texts(site, clock), held(clock)

    closed = [verdict(await robots.judge(Url(f"{origin}/{n}"), hold)).allowed for n, origin in enumerate(origins)]
    open_ = [verdict(await robots.judge(Url(f"{origin}/9"), hold)).allowed for origin in origins]

    assert closed == [False] * 4
    assert open_ == [True] * 4
    assert asked(site) == [f"{origin}/robots.txt" for origin in origins]


async def test_an_empty_file_is_a_value_and_is_not_asked_for_again() -> None:
    """H2-25: emptiness was once taken for absence."""
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: page(b"")})
    robots, hold = texts(site, clock), held(clock)

    judged = [await robots.judge(Url(f"{A}/{n}"), hold) for n in range(3)]

    assert {verdict(each).basis for each in judged} == {RobotsBasis.EMPTY_FILE}
    assert len(site.asked) == 1


async def test_nothing_is_asked_when_robots_are_not_respected() -> None:
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: page(b"User-agent: *\nDisallow: /")})
    robots, hold = texts(site, clock, respect=False), held(clock)

    judged = await robots.judge(Url(f"{A}/"), hold)

    assert verdict(judged) == RobotsVerdict(allowed=True, basis=RobotsBasis.NOT_ASKED)
    assert site.asked == []


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410, 418, 451])
async def test_a_4xx_means_that_there_is_no_file(code: int) -> None:
    """C13, RFC 9309 2.3.1.3."""
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: page(RULES, code)})
    robots, hold = texts(site, clock), held(clock)

    judged = [await robots.judge(Url(f"{A}/private"), hold) for _ in range(2)]

    assert {verdict(each).basis for each in judged} == {RobotsBasis.NO_FILE}
    assert judged[0].failure is None
    assert len(site.asked) == 1


# ── Redirects ────────────────────────────────────────────────────────────────────────────────────────────────────────


def chain(hops: int, last: Response) -> dict[str, Response]:
    urls = [ROBOTS, *(f"{A}/robots-{n}.txt" for n in range(1, hops + 1))]
    moves = {url: page(b"", 301, location=urls[n + 1]) for n, url in enumerate(urls[:-1])}
    return moves | {urls[-1]: last}


@pytest.mark.parametrize(("hops", "basis"), [(5, RobotsBasis.RULE), (6, RobotsBasis.NO_FILE)])
async def test_five_redirects_are_followed_and_the_sixth_is_no_file(hops: int, basis: RobotsBasis) -> None:
    """C7, RFC 9309 2.3.1.2."""
    clock = FakeClock()
    site = ScriptedSite(chain(hops, page(RULES)))

    judged = await texts(site, clock).judge(Url(f"{A}/private"), held(clock))

    assert verdict(judged).basis is basis
    assert len(site.asked) == 6


@pytest.mark.parametrize(
    ("locations", "requests"),
    [
        pytest.param([ROBOTS], 1, id="to itself"),
        pytest.param([f"{A}/a", f"{A}/b", ROBOTS], 3, id="round a corner"),
        pytest.param(["http://["], 1, id="nowhere"),
        pytest.param(["ftp://example.com/robots.txt"], 1, id="out of the web"),
    ],
)
async def test_a_redirect_that_cannot_be_followed_is_no_file(locations: list[str], requests: int) -> None:
    clock = FakeClock()
    urls = [ROBOTS, *locations[:-1]]
    site = ScriptedSite({url: page(b"", 302, location=target) for url, target in zip(urls, locations, strict=True)})

    judged = await texts(site, clock).judge(Url(f"{A}/"), held(clock))

    assert verdict(judged).basis is RobotsBasis.NO_FILE
    assert len(site.asked) == requests


async def test_a_file_behind_a_redirect_speaks_for_the_origin_that_was_asked() -> None:
    """RFC 9309 2.3.1.2: also when another site keeps the file."""
    clock = FakeClock()
    elsewhere = "https://cdn.test/r.txt"
    site = ScriptedSite({ROBOTS: page(b"", 301, location=elsewhere), elsewhere: page(RULES)})
    robots, hold = texts(site, clock), held(clock)

    judged = await robots.judge(Url(f"{A}/private"), hold)

    assert not verdict(judged).allowed
    assert [file.origin for file in hold.site.robots] == [A]


# ── Failures ─────────────────────────────────────────────────────────────────────────────────────────────────────────

UNREACHABLE = [
    pytest.param(page(b"", 500), id="500"),
    pytest.param(page(b"", 503), id="503"),
    pytest.param(page(b"", 429), id="429"),
    pytest.param(REFUSED, id="refused"),
    pytest.param(DnsError("no such name", exists=False), id="no name"),
    pytest.param(page(b"this is not gzip at all", content_encoding="gzip"), id="undecodable"),
    pytest.param(page(gzip.compress(b"User-agent: *\n" * 99)[:-30], content_encoding="gzip"), id="cut off"),
]


@pytest.mark.parametrize("answer", UNREACHABLE)
async def test_a_failure_is_remembered_for_minutes_and_costs_no_request_per_url(
    answer: Response | TransportError,
) -> None:
    """C13, H4-6: the original asked again for every URL, outside of its rate limit."""
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: answer})
    robots, hold = texts(site, clock), held(clock)

    judged = [await robots.judge(Url(f"{A}/{n}"), hold) for n in range(20)]
    clock.advance(299)
    judged.append(await robots.judge(Url(f"{A}/last"), hold))

    assert all(isinstance(each.verdict, Defer) and each.failure is not None for each in judged)
    assert len(site.asked) == 1

    clock.advance(1)
    await robots.judge(Url(f"{A}/again"), hold)

    assert len(site.asked) == 2


@pytest.mark.parametrize("answer", UNREACHABLE)
@pytest.mark.parametrize(("policy", "allowed"), [("allow", True), ("deny", False)])
async def test_what_an_unreachable_file_means_is_a_setting(
    answer: Response | TransportError, policy: str, *, allowed: bool
) -> None:
    """S4-35 is `allow`, C13."""
    clock = FakeClock()
    robots = texts(ScriptedSite({ROBOTS: answer}), clock, unreachable=policy)

    judged = await robots.judge(Url(f"{A}/"), held(clock))

    assert verdict(judged) == RobotsVerdict(allowed=allowed, basis=RobotsBasis.UNREACHABLE)


@pytest.mark.parametrize("answer", UNREACHABLE)
async def test_the_last_good_copy_outlives_any_number_of_failures(answer: Response | TransportError) -> None:
    """C13, RFC 9309 2.3.1.4."""
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: [page(RULES), answer]})
    robots, hold = texts(site, clock), held(clock)
    await robots.judge(Url(f"{A}/"), hold)

    for failures in range(1, 5):
        clock.advance(DAY)
        shut, free = [await robots.judge(Url(f"{A}/{path}"), hold) for path in ("private", "free")]

        assert not verdict(shut).allowed
        assert verdict(free).allowed
        assert verdict(shut).rule == "Disallow: /private"
        assert len(site.asked) == 1 + failures
    assert hold.site.robots[0].status is RobotsStatus.UNREACHABLE


async def test_a_file_that_was_taken_away_is_no_last_good_copy() -> None:
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: [page(RULES), page(b"", 404), REFUSED]})
    robots, hold = texts(site, clock), held(clock)

    await robots.judge(Url(f"{A}/private"), hold)
    clock.advance(DAY)
    gone = await robots.judge(Url(f"{A}/private"), hold)
    clock.advance(DAY)
    down = await robots.judge(Url(f"{A}/private"), hold)

    assert verdict(gone).basis is RobotsBasis.NO_FILE
    assert isinstance(down.verdict, Defer)


async def test_a_304_that_nobody_asked_for_keeps_the_rules_and_without_any_is_no_file() -> None:
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: [page(RULES), page(b"", 304)], "http://b.test/robots.txt": page(b"", 304)})
    robots, hold = texts(site, clock), held(clock)

    await robots.judge(Url(f"{A}/private"), hold)
    clock.advance(DAY)
    kept = await robots.judge(Url(f"{A}/private"), hold)
    without = await robots.judge(Url("http://b.test/private"), held(clock, Site("b.test")))

    assert not verdict(kept).allowed
    assert verdict(without).basis is RobotsBasis.NO_FILE


async def test_a_site_that_asks_us_to_wait_for_its_file_is_left_alone_for_as_long() -> None:
    """C17: Retry-After of robots.txt, within a day."""
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: page(b"", 503, retry_after="1000")})
    robots, hold = texts(site, clock), held(clock)

    first = await robots.judge(Url(f"{A}/"), hold)
    clock.advance(999)
    second = await robots.judge(Url(f"{A}/"), hold)

    assert first.failure is not None
    assert first.failure.retry_after == 1000
    assert second.failure is not None
    assert second.failure.retry_after == 1
    assert len(site.asked) == 1

    clock.advance(1)
    await robots.judge(Url(f"{A}/"), hold)

    assert len(site.asked) == 2


# ── Addresses that our guard refuses ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("policy", ["defer", "allow", "deny"])
async def test_a_refused_address_is_never_a_matter_of_policy(policy: str) -> None:
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: GUARDED})
    robots, hold = texts(site, clock, unreachable=policy), held(clock)

    judged = [await robots.judge(Url(f"{A}/{n}"), hold) for n in range(3)]

    assert all(isinstance(each.verdict, Defer) for each in judged)
    assert {each.failure.reason for each in judged if each.failure} == {Reason.BLOCKED_ADDRESS}
    assert all(each.failure and "10.0.0.1" in each.failure.detail for each in judged)
    assert len(site.asked) == 1
    assert hold.site.robots == ()


async def test_a_redirect_to_a_refused_address_does_not_condemn_the_site() -> None:
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: page(b"", 302, location="http://inside.test/"), "http://inside.test/": GUARDED})
    robots, hold = texts(site, clock), held(clock)

    judged = await robots.judge(Url(f"{A}/"), hold)

    assert judged.failure is not None
    assert judged.failure.reason is Reason.ROBOTS_UNREACHABLE
    assert "10.0.0.1" in judged.failure.detail


# ── What is in the file ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(page(gzip.compress(RULES), content_encoding="gzip"), id="gzip"),
        pytest.param(
            replace(
                page(gzip.compress(gzip.compress(RULES))),
                headers=(("Content-Encoding", "gzip"), ("content-encoding", "gzip")),
            ),
            id="gzip twice, in two headers",
        ),
        pytest.param(page(b"\x00" + RULES.replace(b"\n", b"\n\x00\n")), id="NUL bytes (H2-25)"),
        pytest.param(page(bytes(range(256)) * 8 + b"\n" + RULES), id="garbage first"),
        pytest.param(page(b"\xef\xbb\xbf" + RULES), id="byte order mark"),
        pytest.param(page(RULES, content_type="application/octet-stream"), id="any type"),
    ],
)
async def test_rules_are_found_however_the_file_was_sent(answer: Response) -> None:
    clock = FakeClock()

    judged = await texts(ScriptedSite({ROBOTS: answer}), clock).judge(Url(f"{A}/private"), held(clock))

    assert not verdict(judged).allowed


async def test_garbage_without_rules_forbids_nothing() -> None:
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: page(bytes(range(256)) * 100)})

    judged = await texts(site, clock).judge(Url(f"{A}/"), held(clock))

    assert verdict(judged).basis is RobotsBasis.EMPTY_FILE


async def test_only_so_many_bytes_are_asked_for_and_read() -> None:
    """H2-25, RFC 9309 2.5: what is beyond the limit is not there."""
    clock = FakeClock()
    early, late = b"User-agent: *\nDisallow: /early\n", b"\nDisallow: /late\n"
    body = early + b"#" * (1_000 - len(early)) + late
    plain = ScriptedSite({ROBOTS: page(body)})
    packed = ScriptedSite({ROBOTS: page(gzip.compress(body), content_encoding="gzip")})

    for site in (plain, packed):
        robots, hold = texts(site, clock, max_bytes=1_000), held(clock)
        judged = [await robots.judge(Url(f"{A}/{path}"), hold) for path in ("early", "late")]

        assert [verdict(each).allowed for each in judged] == [False, True]
        assert site.asked[0][1].body_cap == 1_000
        assert len(hold.site.robots[0].body or b"") == 1_000


async def test_a_compressed_file_that_we_stopped_reading_ourselves_is_read_as_far_as_it_goes() -> None:
    clock = FakeClock()
    whole = gzip.compress(RULES + b"#" * 10_000, compresslevel=0)
    site = ScriptedSite({ROBOTS: replace(page(whole[:5_000], content_encoding="gzip"), complete=False)})

    judged = await texts(site, clock).judge(Url(f"{A}/private"), held(clock))

    assert verdict(judged).basis is RobotsBasis.RULE


@pytest.mark.parametrize(("max_bytes", "basis"), [(524_288, "empty_file"), (9_000_000, "unreachable")])
async def test_a_bomb_costs_no_more_than_the_limit(max_bytes: int, basis: str) -> None:
    """It is cut off like any long file; where the limit would let it grow, it is refused for its ratio."""
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: page(gzip.compress(b" " * 10_000_000), content_encoding="gzip")})
    robots, hold = texts(site, clock, max_bytes=max_bytes, unreachable="deny"), held(clock)

    judged = await robots.judge(Url(f"{A}/"), hold)

    assert verdict(judged).basis == basis
    assert len(hold.site.robots[0].body or b"") <= 524_288


# ── Many at once ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_many_visits_at_once_make_one_request() -> None:
    clock = FakeClock()
    site = LateSite({ROBOTS: page(RULES)}, clock)
    robots, hold = texts(site, clock), held(clock)

    judged = await asyncio.gather(*(robots.judge(Url(f"{A}/private/{n}"), hold) for n in range(50)))

    assert {verdict(each).allowed for each in judged} == {False}
    assert len(site.asked) == 1
    assert hold.requests == 1


async def test_many_visits_at_once_share_one_failure() -> None:
    clock = FakeClock()
    site = LateSite({ROBOTS: REFUSED}, clock)
    robots, hold = texts(site, clock), held(clock)

    judged = await asyncio.gather(*(robots.judge(Url(f"{A}/{n}"), hold) for n in range(50)))

    assert {each.failure.reason for each in judged if each.failure} == {Reason.CONNECT_REFUSED}
    assert len(site.asked) == 1


async def test_a_cancelled_visit_that_waits_takes_the_answer_from_nobody() -> None:
    clock = FakeClock()
    site = LateSite({ROBOTS: page(RULES)}, clock)
    robots, hold = texts(site, clock), held(clock)
    asks, waits, stays = [asyncio.create_task(robots.judge(Url(f"{A}/{n}"), hold)) for n in range(3)]
    await asyncio.sleep(0)

    waits.cancel()

    assert verdict(await asks).allowed
    assert verdict(await stays).allowed
    assert waits.cancelled()
    assert len(site.asked) == 1


async def test_when_the_visit_that_asks_is_cancelled_another_asks_with_the_site_that_it_holds() -> None:
    """A hold whose visit has ended is neither used nor written to: its site may be somebody else's by now."""
    clock = FakeClock()
    site = LateSite({ROBOTS: page(RULES)}, clock)
    robots, ended, alive = texts(site, clock), held(clock), held(clock)
    asks = asyncio.create_task(robots.judge(Url(f"{A}/private"), ended))
    await asyncio.sleep(0)
    waits = asyncio.create_task(robots.judge(Url(f"{A}/private"), alive))
    await asyncio.sleep(0)

    asks.cancel()
    judged = await waits

    assert asks.cancelled()
    assert not verdict(judged).allowed
    assert len(site.asked) == 1
    assert (ended.site.robots, len(alive.site.robots)) == ((), 1)
    assert alive.requests == 1


async def test_when_the_only_visit_is_cancelled_nothing_goes_on_behind_its_back() -> None:
    clock = FakeClock()
    site = LateSite({ROBOTS: page(RULES)}, clock)
    robots, hold = texts(site, clock), held(clock)
    asks = asyncio.create_task(robots.judge(Url(f"{A}/"), hold))
    await asyncio.sleep(0)

    asks.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asks
    await clock.sleep(100)

    assert site.asked == []
    assert hold.site.robots == ()


async def test_a_bug_is_seen_by_the_visit_it_happened_in_and_the_next_one_asks_again() -> None:
    class Broken(LateSite):
        async def request(self, request: Request) -> Response:
            response = await super().request(request)
            if len(self.asked) == 1:
                raise ZeroDivisionError
            return response

    clock = FakeClock()
    site = Broken({ROBOTS: page(RULES)}, clock)
    robots, hold = texts(site, clock), held(clock)

    first, *others = await asyncio.gather(
        *(robots.judge(Url(f"{A}/private"), hold) for _ in range(4)), return_exceptions=True
    )

    assert isinstance(first, ZeroDivisionError)
    assert [isinstance(each, Judged) and verdict(each).allowed for each in others] == [False] * 3
    assert len(site.asked) == 2


# ── Politeness ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_every_request_takes_its_turn_at_the_pace_of_the_site() -> None:
    """H4-6, C23: redirects of the file and other origins of the site included."""
    clock = FakeClock(start=100.0)
    site = ScriptedSite(chain(2, page(RULES)), clock)
    robots = texts(site, clock)
    hold = held(clock, Site("example.com", not_before=103.0, pace=Pace(base=5.0, interval=5.0)))

    await robots.judge(Url(f"{A}/"), hold)
    await robots.judge(Url("https://example.com/"), hold)

    assert [at for at, _ in site.asked] == [103.0, 108.0, 113.0, 118.0]
    assert hold.requests == 4


async def test_a_blip_is_tried_again_like_any_other_request() -> None:
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: [REFUSED, page(RULES)]}, clock)
    robots, hold = texts(site, clock, retries=3), held(clock)

    judged = await robots.judge(Url(f"{A}/private"), hold)

    assert verdict(judged).basis is RobotsBasis.RULE
    assert [at for at, _ in site.asked] == [0.0, 2.0]


# ── What is kept, and where ──────────────────────────────────────────────────────────────────────────────────────────


async def test_another_process_that_gets_the_site_need_not_ask() -> None:
    """S4-6: the rules travel with the site's state."""
    clock = FakeClock()
    here, there = ScriptedSite({ROBOTS: page(RULES)}), ScriptedSite({ROBOTS: REFUSED})
    hold = held(clock)
    await texts(here, clock).judge(Url(f"{A}/"), hold)

    judged = await texts(there, clock).judge(Url(f"{A}/private"), held(clock, hold.site))

    assert not verdict(judged).allowed
    assert there.asked == []


async def test_another_process_keeps_the_last_good_copy_and_the_failure() -> None:
    clock = FakeClock()
    here, there = ScriptedSite({ROBOTS: [page(RULES), REFUSED]}), ScriptedSite({ROBOTS: REFUSED})
    robots, hold = texts(here, clock), held(clock)
    await robots.judge(Url(f"{A}/"), hold)
    clock.advance(DAY)
    await robots.judge(Url(f"{A}/"), hold)

    other, held_there = texts(there, clock), held(clock, hold.site)
    judged = await other.judge(Url(f"{A}/private"), held_there)

    assert not verdict(judged).allowed
    assert there.asked == []

    clock.advance(DAY)
    judged = await other.judge(Url(f"{A}/private"), held_there)

    assert not verdict(judged).allowed
    assert len(there.asked) == 1


async def test_what_another_process_learned_later_beats_our_own_older_copy() -> None:
    clock = FakeClock()
    here, there = ScriptedSite({ROBOTS: page(RULES)}), ScriptedSite({ROBOTS: page(b"User-agent: *\nDisallow: /new")})
    robots = texts(here, clock)
    await robots.judge(Url(f"{A}/"), held(clock))
    clock.advance(DAY)
    hold = held(clock)
    await texts(there, clock).judge(Url(f"{A}/"), hold)

    judged = await robots.judge(Url(f"{A}/new"), hold)

    assert verdict(judged).rule == "Disallow: /new"
    assert len(here.asked) == 1


async def test_a_site_that_comes_without_its_file_is_given_what_we_know() -> None:
    clock = FakeClock()
    robots = texts(ScriptedSite({ROBOTS: page(RULES)}), clock)
    await robots.judge(Url(f"{A}/"), held(clock))
    later = held(clock)

    await robots.judge(Url(f"{A}/"), later)

    assert [file.origin for file in later.site.robots] == [A]


async def test_the_files_of_the_last_origins_travel_with_a_site_and_no_more() -> None:
    clock = FakeClock()
    origins = [f"http://www{n}.example.com" for n in range(ORIGINS_PER_SITE + 4)]
    robots, hold = texts(ScriptedSite({}), clock), held(clock)

    for origin in origins:
        await robots.judge(Url(f"{origin}/"), hold)

    assert [file.origin for file in hold.site.robots] == origins[-ORIGINS_PER_SITE:]


async def test_large_files_do_not_make_a_site_heavy() -> None:
    clock = FakeClock()
    size = BYTES_PER_SITE * 2 // 5
    origins = [f"http://www{n}.example.com" for n in range(4)]
    site = ScriptedSite({f"{origin}/robots.txt": page(b"#" * size) for origin in origins})
    robots, hold = texts(site, clock), held(clock)

    for origin in origins:
        await robots.judge(Url(f"{origin}/"), hold)

    assert [file.origin for file in hold.site.robots] == origins[-2:]


async def test_the_cache_is_bounded_in_bytes_and_forgets_what_was_used_least_recently() -> None:
    clock = FakeClock()
    origins = [f"http://{name}.test" for name in "abc"]
    site = ScriptedSite({f"{origin}/robots.txt": page(b"#" * 1_000) for origin in origins})
    robots = texts(site, clock, cache_bytes=50_000)  # room for two

    async def judge(origin: str) -> None:
        await robots.judge(Url(f"{origin}/"), held(clock, Site(Url(f"{origin}/").site())))

    a, b, c = origins
    for origin in (a, b, a, c):  # b is the one to go
        await judge(origin)
    before = len(site.asked)
    for origin in (a, c):
        await judge(origin)

    assert len(site.asked) == before == 3

    await judge(b)

    assert asked(site)[3:] == [f"{b}/robots.txt"]


async def test_a_file_that_is_asked_for_again_weighs_once() -> None:
    clock = FakeClock()
    site = ScriptedSite({f"http://{name}.test/robots.txt": page(b"#" * 1_000) for name in "ab"})
    robots = texts(site, clock, cache_bytes=50_000)  # room for two

    async def judge_both() -> None:
        for name in "ab":
            await robots.judge(Url(f"http://{name}.test/"), held(clock, Site(f"{name}.test")))

    for _ in range(5):
        await judge_both()
        clock.advance(DAY)
    await judge_both()
    await judge_both()

    assert len(site.asked) == 2 * 6


async def test_a_file_larger_than_the_cache_is_still_judged_by() -> None:
    clock = FakeClock()
    site = ScriptedSite({ROBOTS: page(RULES)})
    robots, hold = texts(site, clock, cache_bytes=1), held(clock)

    judged = [await robots.judge(Url(f"{A}/private"), hold) for _ in range(2)]

    assert [verdict(each).allowed for each in judged] == [False, False]
    assert len(site.asked) == 1
