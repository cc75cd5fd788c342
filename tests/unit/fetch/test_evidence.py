"""Records and evidence, read as their readers read them: as JSON, with the names of S1."""

from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from outrider.app import admission, visits_over
from outrider.errors import AddressRefused, BodyTooLarge, ConnectError, DnsError, Phase, TimedOut, TransportError
from outrider.fetch.evidence import error_message, evidence, final_url, page_record, status_code
from outrider.fetch.hold import Hold
from outrider.fetch.visit import Haul
from outrider.model.codec import from_json, to_json
from outrider.model.outcome import Timing, Validators
from outrider.model.record import Evidence, Page
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.admit import Reach
from outrider.policy.pace import fresh_pace
from outrider.ports import Response
from outrider.settings import settings_of
from outrider.testing.clock import FakeClock
from outrider.testing.site import Script, ScriptedSite, page

NOON = 1_700_049_600.0  # 2023-11-15T12:00:00Z
A = "http://example.com/a"
B = "http://example.com/b"
C = "http://example.com/c"
ELSEWHERE = "http://other.test/"
ROBOTS = "http://example.com/robots.txt"
RULES = "# ours\nUser-agent: *\nDisallow: /private\nDisallow: /cgi/*\n"

KINDS = ["robots_check", "redirect_chain", "http_response", "http_headers", "fetch_timing", "fetch_error"]


class Kept:
    """What a visit leaves behind, as JSON read back."""

    def __init__(self, haul: Haul, scan_id: str = "") -> None:
        record = page_record(haul, scan_id)
        found = evidence(haul, "outrider")
        self.haul = haul
        self.page: Any = msgspec.json.decode(to_json(record))
        self.meta: Any = self.page["metadata"] if self.page else None
        written: list[Any] = [msgspec.json.decode(to_json(each)) for each in found]
        self.kinds = [each["content"].pop("kind") for each in written]
        self.content = dict(zip(self.kinds, (each["content"] for each in written), strict=True))
        self.metadata = dict(zip(self.kinds, (each["metadata"] for each in written), strict=True))
        # Always: read back it is the same value, its Python name is its JSON name, and it belongs to this page.
        assert record is None or from_json(to_json(record), Page) == record
        assert [from_json(to_json(each), Evidence) for each in found] == list(found)
        assert [each.kind for each in found] == self.kinds
        assert {each["fetchId"] for each in written} <= {haul.visit.id}
        assert {each["url"] for each in written} <= {str(haul.visit.requested)}
        assert self.kinds == [kind for kind in KINDS if kind in self.kinds]


async def kept(
    table: dict[str, Script], url: str = A, validators: Validators | None = None, scan_id: str = "", **keys: object
) -> Kept:
    clock = FakeClock(start=NOON)
    settings = settings_of(delay=0, **keys)
    visits = visits_over(ScriptedSite(table, clock), settings, clock, admission(settings, Reach.ANY))
    task = Task(Url(url), validators=validators)
    hold = Hold(Site(task.url.site(), pace=fresh_pace(visits.settle.pace)), clock, until=NOON + 3_600)
    return Kept(await visits.visitor.visit(task, hold), scan_id)


def moved(location: str, status: int = 301) -> Response:
    return page(b"", status, location=location)


# ── A page that was fetched ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_page_record_has_the_names_and_values_that_its_readers_know() -> None:
    """S1-15, S1-16, S1-30, C10, C19."""
    answer = replace(page(b"<p>caf\xc3\xa9", server="nginx"), timing=Timing(0.001, 0.002, 0.0, 0.0105, 0.0203))

    found = await kept({ROBOTS: page(RULES), A: answer}, scan_id="scan-1")

    assert found.page == {
        "fetchId": found.haul.visit.id,
        "scanId": "scan-1",
        "url": A,
        "statusCode": 200,
        "loadTime": 20,
        "metadata": {
            "status": "fetched",
            "finalUrl": A,
            "contentType": "text/html; charset=utf-8",
            "contentLength": 8,
            "redirectCount": 0,
            "robotsBlocked": False,
            "confidence": "high",
            "skipContentExtraction": False,
            "fetchedAt": "2023-11-15T12:00:00.000Z",
            "error": None,
            "reason": None,
            "contentHash": sha256(answer.body).hexdigest(),
            "attempts": 1,
            "retries": 0,
            "truncated": False,
            "wireLength": 8,
            "contentKey": None,
            "depth": 0,
            "origin": "",
            "parent": None,
            "title": None,
            "canonical": None,
            "directives": [],
            "links": 0,
        },
    }


async def test_each_claim_has_its_evidence() -> None:
    """S1-17, S1-18, S1-20, S1-21, S1-1."""
    timing = Timing(0.001, 0.002, 0.0, 0.0105, 0.0203)
    answer = replace(page(b"<p>hello", server="nginx", Server="second"), timing=timing)

    found = await kept({ROBOTS: page(RULES), A: answer})

    response = {
        "statusCode": 200,
        "finalUrl": A,
        "contentType": "text/html; charset=utf-8",
        "contentLength": 8,
        "redirectCount": 0,
        "success": True,
    }
    span = {"startTime": "2023-11-15T12:00:00.000Z", "endTime": "2023-11-15T12:00:00.000Z", "duration": 0}
    check = {
        "allowed": True,
        "confidence": "high",
        "reason": "allowed: no rule for user-agent * matches",
    }
    assert found.kinds == ["robots_check", "http_response", "http_headers", "fetch_timing"]
    assert found.content["http_response"] == response | {"error": None}
    assert found.metadata["http_response"] == response
    assert found.content["http_headers"] == {"headers": [list(pair) for pair in answer.headers]}
    assert found.metadata["http_headers"] == {
        "headerCount": 4,
        "contentType": "text/html; charset=utf-8",
        "server": "nginx",
    }
    assert found.content["robots_check"] == check | {
        "disallowedPaths": ["/private", "/cgi/*"],
        "line": None,
        "rule": None,
        "group": "*",
        "digest": found.haul.visit.robots.digest if found.haul.visit.robots else None,
    }
    assert found.metadata["robots_check"] == check
    assert found.content["fetch_timing"] == span | {
        "dns": 1.0,
        "connect": 2.0,
        "tls": 0.0,
        "firstByte": 10.5,
        "total": 20.3,
    }
    assert found.metadata["fetch_timing"] == span


async def test_length_and_hash_are_of_bytes_and_times_have_their_zone() -> None:
    """H4-10, H1-6."""
    found = await kept({A: page("é" * 10)})

    assert found.meta["contentLength"] == 20
    times = [found.meta["fetchedAt"], *(found.content["fetch_timing"][name] for name in ("startTime", "endTime"))]
    assert all(datetime.fromisoformat(time).utcoffset() is not None for time in times)


async def test_an_unchanged_page_is_a_success_without_content() -> None:
    """C16."""
    found = await kept({A: page(b"", 304, etag='"1"')}, validators=Validators(etag='"1"'))

    assert found.page["statusCode"] == 304
    assert (found.meta["status"], found.meta["error"], found.meta["contentHash"]) == ("not_modified", None, None)
    assert found.meta["skipContentExtraction"] is True
    assert found.content["http_response"]["success"] is True
    assert "fetch_error" not in found.kinds


async def test_a_body_cut_off_at_the_cap_says_so() -> None:
    """S1-31: possibly incomplete content is of medium confidence."""
    found = await kept({ROBOTS: page(RULES), A: page("x" * 5_000)}, max_decoded=1_024)

    assert (found.meta["truncated"], found.meta["contentLength"]) == (True, 1_024)
    assert found.meta["confidence"] == "medium"


async def test_without_a_content_type_the_content_tells() -> None:
    answer = page("<!doctype html><title>t</title>")
    bare = replace(answer, headers=tuple(pair for pair in answer.headers if pair[0] != "content-type"))

    found = await kept({A: bare})

    assert found.meta["contentType"] == "text/html"
    assert found.metadata["http_headers"]["contentType"] is None


# ── Redirects ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_redirect_chain_is_kept_when_there_were_redirects_and_only_then() -> None:
    """S1-8, S1-9, S1-19, H1-2: the original counted the final response, too."""
    hops = {A: moved("/b"), B: replace(moved(C, 302), address="127.0.0.9"), C: page("here", server="x")}

    found = await kept({**hops})
    plain = await kept({A: page("here")})

    assert plain.meta["redirectCount"] == 0
    assert "redirect_chain" not in plain.kinds
    assert found.page["url"] == A
    assert (found.meta["finalUrl"], found.meta["redirectCount"], found.meta["attempts"]) == (C, 2, 3)
    assert found.metadata["redirect_chain"] == {"count": 2, "finalUrl": C}
    assert found.content["redirect_chain"]["steps"] == [
        {
            "url": url,
            "statusCode": status,
            "location": location,
            "headers": [list(pair) for pair in hops[url].headers],
            "at": "2023-11-15T12:00:00.000Z",
            "address": hops[url].address,
        }
        for url, status, location in [(A, 301, "/b"), (B, 302, C), (C, 200, None)]
    ]


@pytest.mark.parametrize(
    ("table", "keys", "reason", "steps", "followed"),
    [
        pytest.param(
            {A: moved(B), B: moved(C), C: moved("/d")},
            {"max_redirects": 2},
            "too_many_redirects",
            [A, B, C],
            2,
            id="many",
        ),
        pytest.param({A: moved(B), B: moved(A)}, {}, "redirect_loop", [A, B], 1, id="loop"),
        pytest.param({A: moved(A)}, {}, "redirect_loop", [A], 0, id="to itself"),
        pytest.param({A: moved(B), B: moved("http://[")}, {}, "invalid_redirect", [A, B], 1, id="malformed"),
        pytest.param({A: page(b"", 302)}, {}, "invalid_redirect", [A], 0, id="no Location"),
    ],
)
async def test_the_chain_is_kept_as_far_as_it_went_when_a_redirect_was_the_end(
    table: dict[str, Script], keys: dict[str, Any], reason: str, steps: list[str], followed: int
) -> None:
    """S1-26, S1-32."""
    found = await kept(table, **keys)

    assert [step["url"] for step in found.content["redirect_chain"]["steps"]] == steps
    assert found.metadata["redirect_chain"] == {"count": followed, "finalUrl": steps[-1]}
    assert found.meta["redirectCount"] == followed
    assert (found.meta["reason"], found.meta["confidence"]) == (reason, "low")
    assert found.content["fetch_error"]["statusCode"] in {301, 302}


async def test_a_redirect_that_was_not_followed_by_setting_is_no_error_and_is_shown() -> None:
    """C31: an unfollowed 3xx is its own outcome."""
    found = await kept({A: moved(B, 302)}, follow_redirects=False)

    assert (found.page["statusCode"], found.meta["status"]) == (302, "skipped")
    assert found.meta["reason"] == "redirect_not_followed"
    assert [step["statusCode"] for step in found.content["redirect_chain"]["steps"]] == [302]
    assert "fetch_error" not in found.kinds


async def test_a_page_that_moved_to_another_site_says_where() -> None:
    """C12: the visit ends here, and the chain as far as this site knows it."""
    found = await kept({A: moved(B), B: moved(ELSEWHERE, 302)})

    assert (found.page["statusCode"], found.meta["status"], found.meta["error"]) == (302, "moved", None)
    assert found.meta["finalUrl"] == ELSEWHERE
    assert found.meta["redirectCount"] == 2
    assert found.kinds == ["robots_check", "redirect_chain", "http_response", "http_headers", "fetch_timing"]
    assert found.content["http_response"]["success"] is False


@pytest.mark.parametrize("location", ["/b", "//example.com/b", "http://EXAMPLE.com:80/b#x"])
async def test_a_redirect_into_silence_keeps_its_chain_and_has_no_status(location: str) -> None:
    """S1-9, S1-22, S3-12: the redirect's own status is not the page's."""
    found = await kept({A: moved(location), B: ConnectError("nobody listens")}, network_retries=0)

    assert (found.page["statusCode"], found.meta["finalUrl"], found.meta["redirectCount"]) == (0, B, 1)
    assert found.meta["attempts"] == 2
    assert found.content["fetch_error"]["statusCode"] == found.content["http_response"]["statusCode"] == 0
    assert [step["url"] for step in found.content["redirect_chain"]["steps"]] == [A]
    assert "http_headers" not in found.kinds


# ── Errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("answer", "status", "error", "confidence"),
    [
        pytest.param(page(b"gone", 404), 404, "http_404", "medium", id="4xx (S1-25, S1-31, H1-4)"),
        pytest.param(page(b"", 500), 500, "http_500", "low", id="5xx"),
        pytest.param(page(b"", 429), 429, "rate_limited", "medium", id="429"),
        pytest.param(TimedOut("30 s", Phase.TOTAL), 0, "read_timeout: 30 s", "low", id="timeout (S1-24)"),
        pytest.param(ConnectError("no"), 0, "connect_refused: no", "low", id="connection (S1-24)"),
        pytest.param(DnsError("no", exists=False), 0, "dns_not_found: no", "low", id="DNS (S1-24)"),
        pytest.param(BodyTooLarge("big"), 0, "body_too_large: big", "low", id="too large"),
        pytest.param(
            page(b"PDF", content_type="image/png"), 200, "unsupported_content_type: image/png", "low", id="type"
        ),
        pytest.param(page(b""), 200, "empty_body", "low", id="empty"),
    ],
)
async def test_an_error_is_stored_in_three_places(
    answer: Response | TransportError, status: int, error: str, confidence: str
) -> None:
    """S1-22, S1-23, S1-24, S1-25, S1-32, C28."""
    found = await kept({A: answer}, max_retries=0)

    assert found.meta["error"] == error
    assert found.content["http_response"]["error"] == error
    assert found.content["fetch_error"]["message"] == error
    assert found.metadata["fetch_error"] == {"errorType": "fetch_error", "statusCode": status}
    assert found.content["fetch_error"] == {
        "message": error,
        "errorType": "fetch_error",
        "statusCode": status,
        "reason": error.partition(":")[0],
    }
    assert found.page["statusCode"] == found.content["http_response"]["statusCode"] == status
    assert found.content["http_response"]["success"] is False
    assert (found.meta["status"], found.meta["skipContentExtraction"]) == ("failed", True)
    assert (found.meta["contentLength"], found.meta["confidence"]) == (0, confidence)
    assert ("http_headers" in found.kinds) == (status != 0)


@pytest.mark.parametrize(
    ("answers", "attempts", "retries"),
    [
        pytest.param([page("ok")], 1, 0, id="at once"),
        pytest.param([page(b"", 500), page("ok")], 2, 1, id="the second time"),
        pytest.param([ConnectError("no"), page(b"", 500), page("ok")], 3, 2, id="two kinds"),
        pytest.param([page(b"", 500)], 4, 3, id="all in vain"),
        pytest.param([ConnectError("no")], 4, 3, id="nobody there"),
        pytest.param([page(b"", 404)], 1, 0, id="not worth another"),
    ],
)
async def test_attempts_and_retries_are_counted_apart_and_as_they_happened(
    answers: list[Response | TransportError], attempts: int, retries: int
) -> None:
    """C19, S3-23, H3-7: three retries are four attempts, and asking for robots.txt is none."""
    found = await kept({ROBOTS: page(RULES), A: answers}, max_retries=3, network_retries=3, server_error_retries=3)

    assert (found.meta["attempts"], found.meta["retries"]) == (attempts, retries)


# ── Robots and skips ─────────────────────────────────────────────────────────────────────────────────────────────────

PRIVATE = "http://example.com/private/1"


@pytest.mark.parametrize(("asking", "status", "attempts"), [("skip", 0, 0), ("status", 403, 1)])
async def test_a_page_that_robots_forbid_has_a_record_and_the_reason(asking: str, status: int, attempts: int) -> None:
    """S1-14, S1-13, S1-20, S1-32, C14: with `status`, one HEAD asks for the code."""
    found = await kept({ROBOTS: page(RULES), f"HEAD {PRIVATE}": page(b"", 403)}, PRIVATE, robots_blocked=asking)

    assert found.page["statusCode"] == status
    assert found.meta["robotsBlocked"] is True
    assert found.meta["skipContentExtraction"] is True
    assert (found.meta["contentLength"], found.meta["confidence"]) == (0, "low")
    assert (found.meta["status"], found.meta["reason"]) == ("skipped", "robots_disallowed")
    assert found.meta["attempts"] == attempts
    reason = "disallowed by line 3 of robots.txt (Disallow: /private) for user-agent *"
    assert found.metadata["robots_check"] == {"allowed": False, "confidence": "low", "reason": reason}
    check = found.content["robots_check"]
    assert (check["line"], check["rule"], check["group"]) == (3, "Disallow: /private", "*")
    assert ("http_response" in found.kinds) == (asking == "status")
    assert "fetch_error" not in found.kinds


@pytest.mark.parametrize(
    ("robots", "confidence", "reason"),
    [
        (page(b"", 404), "medium", "allowed: there is no robots.txt"),
        (page(b"", 500), "medium", "allowed: robots.txt cannot be reached"),
        (page(RULES), "high", "allowed: no rule for user-agent * matches"),
    ],
)
async def test_confidence_rests_on_robots_txt(robots: Response, confidence: str, reason: str) -> None:
    """S1-13, S1-30, S1-31."""
    found = await kept({ROBOTS: robots, A: page("here")}, robots_unreachable="allow")

    assert found.meta["confidence"] == confidence
    assert found.metadata["robots_check"] == {"allowed": True, "confidence": confidence, "reason": reason}


async def test_a_page_whose_robots_txt_cannot_be_had_says_so_in_its_check() -> None:
    found = await kept({ROBOTS: page(b"", 503), A: page("here")}, max_retries=0)

    assert (found.page["statusCode"], found.meta["reason"]) == (0, "robots_unreachable")
    assert found.metadata["robots_check"]["allowed"] is False
    assert "HTTP 503" in found.metadata["robots_check"]["reason"]
    assert found.metadata["fetch_error"]["statusCode"] == 0
    assert found.meta["attempts"] == 0


@pytest.mark.parametrize("policy", ["defer", "allow", "deny"])
@pytest.mark.parametrize("robots", [AddressRefused("10.0.0.1 is private"), page(b"", 404)], ids=["both", "page only"])
async def test_an_address_that_we_refuse_is_a_skip_whatever_robots_policy_says(
    policy: str, robots: Response | TransportError
) -> None:
    refused = AddressRefused("10.0.0.1 is private")

    found = await kept({ROBOTS: robots, A: refused}, robots_unreachable=policy)

    assert (found.meta["status"], found.meta["reason"]) == ("skipped", "blocked_address")
    assert found.meta["error"] == "blocked_address: 10.0.0.1 is private"
    assert (found.page["statusCode"], found.meta["attempts"], found.meta["robotsBlocked"]) == (0, 0, False)


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("/admin", {"profile": "audit"}),
        ("/api/users", {"profile": "audit"}),
        ("/paper.pdf", {"profile": "audit"}),
        ("/old", {"exclude": ["/old$"]}),
    ],
)
async def test_a_url_that_a_rule_kept_us_from_leaves_nothing_behind(path: str, keys: dict[str, Any]) -> None:
    """S1-27, S1-28, S1-29: not a page, not a status; the result says why."""
    found = await kept({}, f"http://example.com{path}", **keys)

    assert found.page is None
    assert found.kinds == []
    assert status_code(found.haul.visit) == 0
    assert (error_message(found.haul.visit) or "").startswith(("skip_pattern", "non_text_extension", "out_of_scope"))


async def test_a_redirect_to_a_url_that_a_rule_excludes_leaves_a_record() -> None:
    """The site was asked, so that there is something to show."""
    login = "http://example.com/login"

    found = await kept({A: moved(login, 302)}, profile="audit")

    assert (found.meta["status"], found.meta["reason"]) == ("skipped", "skip_pattern")
    assert (found.page["statusCode"], found.meta["finalUrl"]) == (0, login)
    assert str(final_url(found.haul.visit)) == login
    assert found.metadata["redirect_chain"] == {"count": 1, "finalUrl": A}
