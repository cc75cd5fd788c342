"""One visit: conditional requests, redirects, and what each hop has to pass."""

from collections.abc import Mapping
from typing import Final

import pytest
from tests.unit.fetch.scripted import ROOT, A, B, Scene, rules, to

from outrider.model.outcome import (
    Failed,
    Failure,
    Fetched,
    Hop,
    Moved,
    NotModified,
    Skipped,
    Validators,
)
from outrider.model.reason import Reason
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.admit import Reach
from outrider.settings import settings_of
from outrider.testing.site import Script, page

# ── conditional requests ──────────────────────────────────────────────────────────────────────────────────────────────

KNOWN: Final = Validators('"1"', "Mon, 12 Jan 1970 00:00:00 GMT")


async def test_a_known_page_is_asked_for_conditionally_and_may_be_unchanged() -> None:
    """S0-7, S0-29, C16, H0-10: what the 304 does not repeat is kept."""
    scene = Scene({A: page(b"", 304, etag='"1"')})

    haul = await scene.visit(Task(A, validators=KNOWN))

    sent = scene.web.asked[-1][1].headers
    assert (sent["If-None-Match"], sent["If-Modified-Since"]) == (KNOWN.etag, KNOWN.last_modified)
    assert haul.visit.outcome == NotModified(A, KNOWN)
    assert (haul.content, haul.visit.tries) == (b"", ())


async def test_a_304_may_bring_new_validators() -> None:
    scene = Scene({A: page(b"", 304, etag='"2"')})

    assert await scene.outcome(Task(A, validators=Validators('"1"'))) == NotModified(A, Validators('"2"'))


async def test_robots_txt_and_later_hops_are_not_asked_for_conditionally() -> None:
    """S0-29: validators belong to the page they came with."""
    scene = Scene({A: to("/b"), B: page()})

    await scene.visit(Task(A, validators=KNOWN))

    conditional = ["If-None-Match" in request.headers for _, request in scene.web.asked]
    assert conditional == [False, True, False]
    assert "If-Modified-Since" not in scene.web.asked[-1][1].headers


@pytest.mark.parametrize("table", [{A: page(b"", 304)}, {A: to("/b"), B: page(b"", 304)}])
async def test_a_304_that_nobody_asked_for_is_a_failure(table: Mapping[str, Script]) -> None:
    """S3-16, C16: on a later hop, too; never tried again."""
    scene = Scene(table)
    task = Task(A, validators=KNOWN if B in table else None)

    haul = await scene.visit(task)

    assert haul.visit.outcome == Failed(Failure(Reason.UNSOLICITED_NOT_MODIFIED, status=304))
    assert len(scene.asked) == 1 + len(table)


@pytest.mark.parametrize("etag", ['"a\rb"', '"a\x00b"', '"a\x7f"', f'"{"x" * 2_000}"'])
async def test_a_validator_that_could_not_be_sent_back_is_not_kept(etag: str) -> None:
    """The web must not be able to make our next request impossible."""
    scene = Scene({A: page(etag=etag)})

    outcome = await scene.outcome()

    assert isinstance(outcome, Fetched)
    assert outcome.validators == Validators()


# ── redirects ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_chain_ends_where_it_leads() -> None:
    """S0-1, S0-7, S0-21, S1-8, S1-9."""
    scene = Scene({A: to("/b", 301), B: to("c"), f"{ROOT}/c": page()})

    visit = (await scene.visit()).visit

    assert [(str(hop.url), hop.status, hop.location) for hop in visit.hops] == [
        (A, 301, "/b"),
        (B, 302, "c"),
        (f"{ROOT}/c", 200, None),
    ]
    assert visit.final_url == f"{ROOT}/c"
    assert isinstance(visit.outcome, Fetched)
    assert visit.outcome.url == visit.final_url
    assert visit.redirects == 2


def walked(*paths: str) -> tuple[Hop, ...]:
    return tuple(Hop(Url(f"http://other.example/{path}"), 302, location="x") for path in paths)


async def test_hops_walked_on_other_sites_count() -> None:
    """C7, C12: with four behind us, one more is followed and the sixth is not."""
    table = {A: to("/b"), B: page(), f"{ROOT}/two": to("/a")}

    assert isinstance(await Scene(table).outcome(Task(A, via=walked("1", "2", "3", "4"))), Fetched)
    outcome = await Scene(table).outcome(Task(Url(f"{ROOT}/two"), via=walked("1", "2", "3", "4")))

    assert outcome == Failed(Failure(Reason.TOO_MANY_REDIRECTS, status=302, detail=f"more than 5, next would be {B}"))


async def test_a_loop_over_two_sites_is_found() -> None:
    """C9."""
    scene = Scene({A: to("http://other.example/1")})

    outcome = await scene.outcome(Task(A, via=walked("1")))

    assert outcome == Failed(Failure(Reason.REDIRECT_LOOP, status=302, detail="back to http://other.example/1"))


@pytest.mark.parametrize(("statuses", "permanent"), [((301, 308), True), ((301, 302), False), ((302, 301), False)])
async def test_a_hop_to_another_site_ends_the_visit_as_moved(statuses: tuple[int, int], permanent: bool) -> None:  # noqa: FBT001 - a column of the table
    """C12: nobody talks to the other site behind its holder's back."""
    scene = Scene({A: to("/b", statuses[0]), B: to("https://other.example/x", statuses[1])})

    haul = await scene.visit()

    assert haul.visit.outcome == Moved(Url("https://other.example/x"), permanent)
    assert scene.asked == ["GET /robots.txt", "GET /a", "GET /b"]
    assert [hop.location for hop in haul.visit.hops] == ["/b", "https://other.example/x"]


async def test_a_redirect_is_not_followed_when_that_is_the_setting() -> None:
    """S0-2, S0-6, S0-24, C31."""
    scene = Scene({A: to("/b")}, settings_of(delay=0, follow_redirects=False))

    haul = await scene.visit()

    assert haul.visit.outcome == Skipped(Reason.REDIRECT_NOT_FOLLOWED, "302 to '/b'", status=302)
    assert scene.asked == ["GET /robots.txt", "GET /a"]
    assert haul.response is not None
    assert haul.response.header("location") == "/b"


async def test_a_hop_out_of_scope_is_not_walked() -> None:
    """C12: each hop is checked as an admission would."""
    scene = Scene({A: to("http://www.example.com/a")}, reach=Reach.HOST)

    haul = await scene.visit()

    assert haul.visit.outcome == Skipped(Reason.OUT_OF_SCOPE, "scope=host: www.example.com")
    assert scene.asked == ["GET /robots.txt", "GET /a"]
    assert [hop.location for hop in haul.visit.hops] == ["http://www.example.com/a"]


async def test_a_hop_to_a_skipped_path_is_not_walked() -> None:
    scene = Scene({A: to("/login?next=/a")}, settings_of(profile="audit", delay=0))

    assert await scene.outcome() == Skipped(Reason.SKIP_PATTERN, "/login: /login")


async def test_a_hop_that_robots_txt_forbids_is_not_walked() -> None:
    """C12: also on another host of the site, which has a robots.txt of its own."""
    www = "http://www.example.com"
    scene = Scene({A: to(f"{www}/b"), f"{www}/robots.txt": rules("User-agent: *\nDisallow: /b")})

    haul = await scene.visit()

    assert isinstance(haul.visit.outcome, Skipped)
    assert haul.visit.outcome.reason is Reason.ROBOTS_DISALLOWED
    assert scene.asked == ["GET /robots.txt", "GET /a", f"GET {www}/robots.txt"]
    assert haul.visit.robots is not None
    assert not haul.visit.robots.allowed
