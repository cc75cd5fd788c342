"""Redirects over real sockets: every code, every shape, exactly as many as allowed."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.integration.fetch.visiting import HOST, fetched, reason_of, scene, shop

from outrider.model.outcome import Failed, Fetched, Moved, NotModified, Skipped, Validators
from outrider.model.reason import Reason
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.testing.webfarm import Behaviour, Certificates, Elsewhere, chain, loop, page, redirect


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_each_code_is_followed_and_told(code: int) -> None:
    """S0-1, S0-7, S1-8."""
    async with shop({"/old": redirect(code, "/new", {"X-Why": "moved"}), "/new": page("found")}) as scene:
        haul = await scene.visit("/old")

        assert fetched(haul).url == scene.farm.url(HOST, "/new")
        assert haul.content == b"found"
        first, last = haul.visit.hops
        assert (first.status, first.location, last.status, last.location) == (code, "/new", 200, None)
        assert ("X-Why", "moved") in first.headers
        assert first.address == last.address == "127.0.0.1"
        assert scene.asked == ["GET /robots.txt", "GET /old", "GET /new"]


async def test_301_then_302_then_200_ends_at_the_final_url() -> None:
    """S0-21, S1-9."""
    paths = {"/a": redirect(301, "/b"), "/b": redirect(302, "/c"), "/c": page()}
    async with shop(paths) as scene:
        visit = (await scene.visit("/a")).visit

        assert [hop.status for hop in visit.hops] == [301, 302, 200]
        assert visit.final_url == scene.farm.url(HOST, "/c")
        assert (visit.redirects, visit.requests) == (2, 4)


@pytest.mark.parametrize(
    ("keys", "limit"), [({}, 5), ({"profile": "audit"}, 10), ({"max_redirects": 1}, 1), ({"max_redirects": 0}, 0)]
)
async def test_n_redirects_are_followed_and_one_more_is_not(keys: Mapping[str, object], limit: int) -> None:
    """S0-3, S0-5, S0-15, S0-22, S1-2, S1-26, S3-13, S4-30, C7, C8, H0-2, H1-1: N + 1 requests, and no retry."""
    async with shop({**chain("/n", limit), **chain("/more", limit + 1)}, **keys) as scene:
        enough = await scene.visit("/n")
        too_many = await scene.visit("/more")

    assert isinstance(enough.visit.outcome, Fetched)
    assert (enough.visit.redirects, len(enough.visit.hops)) == (limit, limit + 1)
    assert reason_of(too_many) is Reason.TOO_MANY_REDIRECTS
    assert (too_many.visit.redirects, too_many.visit.requests) == (limit, limit + 1)
    assert too_many.visit.tries == ()


@pytest.mark.parametrize("length", [1, 2, 4])
async def test_a_loop_is_found_at_once(length: int) -> None:
    """S3-22, C9: when the first URL comes up again, not when the limit is reached."""
    async with shop(loop("/loop", length)) as scene:
        haul = await scene.visit("/loop")

    assert reason_of(haul) is Reason.REDIRECT_LOOP
    assert len(haul.visit.hops) == length


@pytest.mark.parametrize("spelling", ["/%61", "/x#elsewhere", "./x", "//shop.test:PORT/x", "/%78"])
async def test_a_loop_may_hide_in_another_spelling(spelling: str) -> None:
    """C9: a repeated normalised URL."""
    async with shop({}) as scene:
        scene.farm.sites[HOST] = {
            "/x": redirect(302, spelling.replace("PORT", str(scene.farm.port))),
            "/%61": redirect(302, "/a"),
        }
        haul = await scene.visit("/x")

    assert reason_of(haul) is Reason.REDIRECT_LOOP


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/abs", "/abs"),
        ("sibling", "/dir/sibling"),
        ("./sibling", "/dir/sibling"),
        ("../up", "/up"),
        ("../../../up", "/up"),
        ("?q=1", "/dir/page?q=1"),
        ("//shop.test:PORT/net", "/net"),
        ("  /spaces  ", "/spaces"),
        ("/a b", "/a%20b"),
        ("/ü".encode(), "/%C3%BC"),
        (b"/\xfc", "/%C3%BC"),
        ("\\back\\slash", "/back/slash"),
        ("/frag#ment", "/frag"),
    ],
)
async def test_a_location_is_read_as_browsers_read_it(location: str | bytes, target: str) -> None:
    """RFC 9110 10.2.2, and the URL Standard where it is silent."""
    async with shop({}) as scene:
        where = location.replace("PORT", str(scene.farm.port)) if isinstance(location, str) else location
        scene.farm.sites[HOST] = {"/dir/page": redirect(302, where), "/dir/page?q=1": page(), "*": page()}
        haul = await scene.visit("/dir/page")

        assert fetched(haul).url == scene.farm.url(HOST, target)
        assert scene.asked[-1] == f"GET {target}"


@pytest.mark.parametrize(
    "location",
    [
        None,
        "",
        "  ",
        "http://",
        "//",
        "http://[::1",
        "http://a b/",
        "http://999.1.1.1/",
        "http://shop.test:99999/",
        "ftp://shop.test/",
        "javascript:alert(1)",
        "mailto:owner@shop.test",
        "data:text/html,hello",
        "file:///etc/passwd",
        f"/{'x' * 70_000}",
    ],
)
async def test_a_location_that_leads_nowhere_is_an_invalid_redirect(location: str | None) -> None:
    """S1-26, H1-1: told apart from too many, and never asked for."""
    oversized = location is not None and len(location) > 60_000
    async with shop({"/x": redirect(302, location)}) as scene:
        haul = await scene.visit("/x")

        # A head of 64 KiB is refused before anybody reads its Location.
        assert reason_of(haul) is (Reason.PROTOCOL_ERROR if oversized else Reason.INVALID_REDIRECT)
        assert scene.asked == ["GET /robots.txt", "GET /x"]


@pytest.mark.parametrize("code", [300, 305, 306, 399])
async def test_a_3xx_that_is_no_redirect_is_no_page_either(code: int) -> None:
    """C31."""
    async with shop({"/x": redirect(code, "/y"), "/y": page()}) as scene:
        haul = await scene.visit("/x")

    assert reason_of(haul) is Reason.UNEXPECTED_STATUS
    assert haul.visit.requests == 2


async def test_with_following_off_the_302_itself_is_the_answer() -> None:
    """S0-2, S0-6, S0-24."""
    async with shop({"/x": redirect(302, "/y"), "/y": page()}, follow_redirects=False) as scene:
        haul = await scene.visit("/x")

        assert haul.visit.outcome == Skipped(Reason.REDIRECT_NOT_FOLLOWED, "302 to '/y'", 302)
        assert scene.asked == ["GET /robots.txt", "GET /x"]


async def test_a_redirect_to_another_site_is_told_and_not_walked() -> None:
    """C12: and the hops so far go with it."""
    sites: dict[str, dict[str, Behaviour]] = {
        HOST: {"/x": redirect(301, Elsewhere("other.test", "/y"))},
        "other.test": {"/y": page("over there")},
    }
    async with scene(sites) as web:
        here = await web.visit("/x")
        assert web.farm.asked(host="other.test") == []

        moved = here.visit.outcome
        assert isinstance(moved, Moved)
        there = await web.visit_task(Task(moved.to, via=here.visit.hops))

    assert moved.permanent
    assert there.content == b"over there"


async def test_a_chain_over_two_sites_has_one_limit_and_one_memory() -> None:
    """C7, C9, C12."""
    sites: dict[str, dict[str, Behaviour]] = {
        HOST: {**chain("/five", 4, redirect(302, Elsewhere("other.test", "/one-more"))), "/x": page()},
        "other.test": {
            "/one-more": redirect(302, "/y"),
            "/back": redirect(302, Elsewhere(HOST, "/five")),
            "/y": page(),
        },
    }
    async with scene(sites) as web:
        here = await web.visit("/five")
        assert isinstance(here.visit.outcome, Moved)
        too_many = await web.visit_task(Task(here.visit.outcome.to, via=here.visit.hops))
        back = await web.visit_task(Task(Url(web.farm.url("other.test", "/back")), via=here.visit.hops))

    assert reason_of(too_many) is Reason.TOO_MANY_REDIRECTS
    assert reason_of(back) is Reason.REDIRECT_LOOP


async def test_from_http_to_https_and_back_is_inside_the_site(tmp_path: Path) -> None:
    """C12: each origin has its own robots.txt, and it is asked first."""
    certificates = Certificates(good=(HOST,))
    ca_file = tmp_path / "ca.pem"
    ca_file.write_bytes(certificates.authority)
    paths = {
        "/up": redirect(301, Elsewhere(HOST, "/down", tls=True)),
        "/down": redirect(302, Elsewhere(HOST, "/")),
        "/": page("plain"),
    }
    async with scene({HOST: paths}, certificates=certificates, ca_file=ca_file) as web:
        haul = await web.visit("/up")

        assert haul.content == b"plain"
        assert [hop.url.scheme for hop in haul.visit.hops] == ["http", "https", "http"]
        assert [(asked.target, asked.tls) for asked in web.farm.log] == [
            ("/robots.txt", False),
            ("/up", False),
            ("/robots.txt", True),
            ("/down", True),
            ("/", False),
        ]


async def test_no_referer_no_cookie_and_no_validator_goes_along() -> None:
    """DESIGN 2.3, H2-8: a hop is a question of its own."""
    cookie = {"Set-Cookie": "id=1; Path=/", "ETag": '"hop"'}
    async with shop({"/x": redirect(302, "/y", cookie), "/y": page()}) as scene:
        await scene.visit_task(Task(Url(scene.farm.url(HOST, "/x")), validators=Validators('"1"')))

        names = [{name.lower() for name, _ in asked.headers} for asked in scene.farm.log]
        assert "if-none-match" in names[1]
        assert names[2] == {"host", "accept", "user-agent", "accept-encoding"}


async def test_a_redirect_then_a_304_nobody_asked_for() -> None:
    """S3-16, C16."""
    async with shop({"/x": redirect(302, "/y"), "/y": redirect(304)}) as scene:
        haul = await scene.visit_task(Task(Url(scene.farm.url(HOST, "/x")), validators=Validators('"1"')))

    assert isinstance(haul.visit.outcome, Failed)
    assert reason_of(haul) is Reason.UNSOLICITED_NOT_MODIFIED


@pytest.mark.parametrize(
    ("etag", "last_modified"),
    [
        ('"1"', None),
        ('W/"1"', None),
        (None, "Mon, 12 Jan 2026 00:00:00 GMT"),
        ('"1"', "Mon, 12 Jan 2026 00:00:00 GMT"),
    ],
)
async def test_a_page_that_has_not_changed_costs_a_304(etag: str | None, last_modified: str | None) -> None:
    """S0-7, S0-29, C16: with what the first visit learned, the second is told that nothing is new."""
    async with shop({"/x": page(etag=etag, last_modified=last_modified)}) as scene:
        url = Url(scene.farm.url(HOST, "/x"))
        first = fetched(await scene.visit_task(Task(url)))
        second = await scene.visit_task(Task(url, validators=first.validators))

        assert bool(first.validators.etag) == bool(etag)
        assert first.validators.last_modified == last_modified
        assert second.visit.outcome == NotModified(url, first.validators)
        assert scene.farm.log[-1].header("if-modified-since") == last_modified


async def test_a_page_that_has_changed_is_fetched_anew() -> None:
    async with shop({"/x": page("new", etag='"2"')}) as scene:
        haul = await scene.visit_task(Task(Url(scene.farm.url(HOST, "/x")), validators=Validators('"1"')))

    assert (haul.content, fetched(haul).validators) == (b"new", Validators('"2"'))
