"""robots.txt over real sockets: present, missing, moved, broken, huge, late; and what the page learns of it."""

import pytest
from tests.integration.fetch.visiting import HOST, reason_of, scene, shop

from outrider.model.outcome import Failed, Fetched, Outcome, Scope, Skipped
from outrider.model.reason import Reason
from outrider.model.robots import RobotsBasis
from outrider.testing.webfarm import (
    Behaviour,
    Elsewhere,
    bomb,
    broken_chunks,
    chain,
    close_early,
    empty,
    encoded,
    endless_body,
    flaky,
    garbage_status_line,
    hang,
    header_bomb,
    loop,
    mislabelled,
    page,
    redirect,
    refuses_head,
    reset,
    slow_first_byte,
    status,
    text,
    too_many,
)

CLOSED = "User-agent: *\nDisallow: /x\n"
PADDING = "# a line of no meaning at all\n" * 20_000


@pytest.mark.parametrize(
    ("robots", "basis"),
    [
        (status(404), RobotsBasis.NO_FILE),
        (status(410), RobotsBasis.NO_FILE),
        (status(401), RobotsBasis.NO_FILE),
        (status(403), RobotsBasis.NO_FILE),
        (status(304), RobotsBasis.NO_FILE),
        (redirect(301, "/robots.txt"), RobotsBasis.NO_FILE),
        (redirect(302, "http://"), RobotsBasis.NO_FILE),
        (redirect(302), RobotsBasis.NO_FILE),
        (empty(), RobotsBasis.EMPTY_FILE),
        (text("# nothing here"), RobotsBasis.EMPTY_FILE),
        (text(bytes(range(256)) * 40), RobotsBasis.EMPTY_FILE),
        (page("<!doctype html><title>Not found, with a 200"), RobotsBasis.EMPTY_FILE),
        (text("User-agent: someone\nDisallow: /"), RobotsBasis.NO_GROUP_MATCHED),
        (text("User-agent: *\nDisallow: /other"), RobotsBasis.NO_RULE_MATCHED),
        (text("User-agent: *\nDisallow: /\nAllow: /x"), RobotsBasis.RULE),
        (text(PADDING + CLOSED), RobotsBasis.EMPTY_FILE),
        (endless_body(), RobotsBasis.EMPTY_FILE),
    ],
)
async def test_nothing_forbids_the_page(robots: Behaviour, basis: RobotsBasis) -> None:
    """C13, H2-25, H3-8, RFC 9309 2.3.1: the page is fetched, and the visit knows why it was allowed."""
    async with shop({"/robots.txt": robots, "/x": page()}) as web:
        haul = await web.visit("/x")

        assert web.asked == ["GET /robots.txt", "GET /x"]
    assert isinstance(haul.visit.outcome, Fetched)
    assert haul.visit.robots is not None
    assert haul.visit.robots.basis is basis


@pytest.mark.parametrize(
    "robots",
    [
        text(CLOSED),
        text(CLOSED + PADDING),
        text(CLOSED.replace("\n", "\r")),
        text(b"\xef\xbb\xbf" + CLOSED.encode()),
        page(CLOSED, content_type="text/html"),
        page(CLOSED, content_type=None),
        page(CLOSED, content_type="image/png"),
        encoded(CLOSED, "gzip"),
        encoded(CLOSED, "br"),
        encoded(CLOSED + PADDING, "zstd"),
        flaky([503], text(CLOSED)),
        flaky([reset("half")], text(CLOSED)),
    ],
)
async def test_a_line_forbids_the_page(robots: Behaviour) -> None:
    """S4-6, C14: however the file is sent, the page is not asked for."""
    async with shop({"/robots.txt": robots, "/x": page()}) as web:
        haul = await web.visit("/x")

        assert web.farm.asked(target="/x") == []
    assert haul.visit.outcome == Skipped(
        Reason.ROBOTS_DISALLOWED, "disallowed by line 2 of robots.txt (Disallow: /x) for user-agent *"
    )


async def test_robots_txt_may_have_moved_up_to_five_times() -> None:
    """RFC 9309 2.3.1.2, C7: also to another site; after more it counts as missing."""
    for hops, reason in ((5, Reason.ROBOTS_DISALLOWED), (6, None)):
        async with shop({**chain("/robots.txt", hops, text(CLOSED)), "/x": page()}) as web:
            assert reason_of(await web.visit("/x")) is reason
    sites = {
        HOST: {"/robots.txt": redirect(301, Elsewhere("other.test", "/robots.txt")), "/x": page()},
        "other.test": {"/robots.txt": text(CLOSED)},
    }
    async with scene(sites) as web:
        haul = await web.visit("/x")

        assert [asked.host for asked in web.farm.log] == [HOST, "other.test"]
    assert reason_of(haul) is Reason.ROBOTS_DISALLOWED
    assert haul.visit.requests == 2


async def test_robots_txt_that_moves_in_circles_is_missing() -> None:
    async with shop({**loop("/robots.txt", 3), "/x": page()}) as web:
        assert isinstance((await web.visit("/x")).visit.outcome, Fetched)


@pytest.mark.parametrize(
    ("robots", "status_code", "why"),
    [
        (status(500), 500, "HTTP 500"),
        (status(503), 503, "HTTP 503"),
        (too_many(), 429, "HTTP 429"),
        (too_many("120"), 429, "HTTP 429"),
        (slow_first_byte(3600.0), None, "too long in phase first_byte"),
        (hang(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nUser-agent"), None, "too long in phase idle"),
        (reset("half"), None, "Recv failure"),
        (close_early(), None, "end of response"),
        (broken_chunks("size"), None, "chunk"),
        (garbage_status_line(), None, "HTTP"),
        (header_bomb(), None, "the headers are too large"),
        (mislabelled("gzip"), 200, "not valid gzip"),
        (encoded(CLOSED, "x-magic"), 200, "unknown content encoding"),
    ],
)
async def test_without_robots_txt_the_site_waits(robots: Behaviour, status_code: int | None, why: str) -> None:
    """C13: the page is not asked for, the failure is the site's, and its evidence names the cause."""
    keys = {"max_retries": 0, "first_byte_timeout": 0.2, "idle_timeout": 0.2}
    async with shop({"/robots.txt": robots, "/x": page()}, **keys) as web:
        haul = await web.visit("/x")

        assert web.asked == ["GET /robots.txt"]
    outcome = haul.visit.outcome
    assert isinstance(outcome, Failed)
    assert (outcome.failure.reason, outcome.failure.scope) == (Reason.ROBOTS_UNREACHABLE, Scope.SITE)
    assert outcome.failure.status == status_code
    assert why in outcome.failure.detail


@pytest.mark.parametrize(("unreachable", "kind"), [("allow", Fetched), ("deny", Skipped), ("defer", Failed)])
async def test_what_that_means_is_a_setting(unreachable: str, kind: type[Outcome]) -> None:
    """S4-35, C13."""
    async with shop({"/robots.txt": status(500), "/x": page()}, robots_unreachable=unreachable) as web:
        haul = await web.visit("/x")

    assert isinstance(haul.visit.outcome, kind)


async def test_a_bomb_for_robots_txt_is_cut_off() -> None:
    """H2-25: the first half megabyte counts, and zeros say nothing."""
    async with shop({"/robots.txt": bomb("gzip"), "/x": page()}) as web:
        assert isinstance((await web.visit("/x")).visit.outcome, Fetched)


async def test_robots_txt_is_not_consulted_when_that_is_the_setting() -> None:
    """S1-7."""
    async with shop({"/robots.txt": text(CLOSED), "/x": page()}, respect_robots=False) as web:
        haul = await web.visit("/x")

        assert web.asked == ["GET /x"]
    assert isinstance(haul.visit.outcome, Fetched)


@pytest.mark.parametrize(("there", "code"), [(page(), 200), (status(404), 404), (refuses_head(), 405)])
async def test_a_forbidden_page_may_be_asked_for_its_status(there: Behaviour, code: int) -> None:
    """S1-14, C14: one HEAD, even where HEAD is refused; never the page itself."""
    async with shop({"/robots.txt": text(CLOSED), "/x": there}, robots_blocked="status") as web:
        haul = await web.visit("/x")

        assert web.asked == ["GET /robots.txt", "HEAD /x"]
    assert isinstance(haul.visit.outcome, Skipped)
    assert (haul.visit.outcome.reason, haul.visit.outcome.status) == (Reason.ROBOTS_DISALLOWED, code)
    assert haul.visit.requests == 2


async def test_the_hop_that_robots_txt_forbids_is_not_walked() -> None:
    """C12."""
    async with shop({"/robots.txt": text(CLOSED), "/a": redirect(302, "/x"), "/x": page()}) as web:
        haul = await web.visit("/a")

        assert web.asked == ["GET /robots.txt", "GET /a"]
    assert reason_of(haul) is Reason.ROBOTS_DISALLOWED
    assert [hop.location for hop in haul.visit.hops] == ["/x"]


async def test_the_group_for_our_name_counts() -> None:
    """S1-6, C14: robots.txt is asked about the name that the request carries."""
    rules = "User-agent: *\nDisallow: /\n\nUser-agent: AEO-Audit-Bot\nDisallow: /x"
    async with shop({"/robots.txt": text(rules), "/x": page(), "/y": page()}, profile="audit", delay=0) as web:
        assert reason_of(await web.visit("/x")) is Reason.ROBOTS_DISALLOWED
        assert isinstance((await web.visit("/y")).visit.outcome, Fetched)

        agents = {asked.header("user-agent") for asked in web.farm.log}
        assert {str(agent).split("/")[0] for agent in agents} == {"AEO-Audit-Bot"}
