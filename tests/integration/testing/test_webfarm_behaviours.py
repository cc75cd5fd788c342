"""The honest behaviours, byte by byte."""

from collections.abc import Mapping

import pytest

from outrider.testing.webfarm import (
    Behaviour,
    Certificates,
    Elsewhere,
    WebFarm,
    chain,
    empty,
    flaky,
    in_charset,
    in_turn,
    loop,
    page,
    redirect,
    refuses_head,
    reset,
    status,
    text,
    too_many,
)
from outrider.testing.webfarm.caller import ask


async def answers(
    site: Mapping[str, Behaviour], *targets: str, method: str = "GET", headers: Mapping[str, str] | None = None
) -> list[bytes]:
    async with WebFarm({"a.test": site}) as farm:
        return [await ask(farm.port, "a.test", target, method, headers) for target in targets]


async def test_a_page_is_sent_with_its_type_length_and_headers() -> None:
    [answer] = await answers({"/": page("é", headers=[("X-A", "1"), ("X-A", b"\xff")], code=203)}, "/")

    assert answer == (
        b"HTTP/1.1 203 Non-Authoritative Information\r\nConnection: close\r\n"
        b"Content-Type: text/html; charset=utf-8\r\nX-A: 1\r\nX-A: \xff\r\nContent-Length: 2\r\n\r\n\xc3\xa9"
    )


DATE = "Wed, 21 Oct 2015 07:28:00 GMT"
EARLIER = "Wed, 21 Oct 2015 07:27:59 GMT"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, b"200"),
        ({"If-None-Match": '"1"'}, b"304"),
        ({"If-None-Match": 'W/"0", W/"1"'}, b"304"),
        ({"If-None-Match": "*"}, b"304"),
        ({"If-None-Match": '"2"'}, b"200"),
        ({"If-None-Match": '"2"', "If-Modified-Since": DATE}, b"200"),
        ({"If-Modified-Since": DATE}, b"304"),
        ({"If-Modified-Since": EARLIER}, b"200"),
        ({"If-Modified-Since": "yesterday"}, b"200"),
    ],
)
async def test_a_page_with_validators_answers_conditional_requests(headers: Mapping[str, str], code: bytes) -> None:
    [answer] = await answers({"/": page("x", etag='"1"', last_modified=DATE)}, "/", headers=headers)

    assert answer.startswith(b"HTTP/1.1 " + code)
    assert b'\r\nETag: "1"\r\n' in answer
    assert b"\r\nLast-Modified: " + DATE.encode() in answer
    assert answer.endswith(b"\r\n\r\nx" if code == b"200" else b"\r\n\r\n")


async def test_a_page_without_validators_is_always_sent() -> None:
    [answer] = await answers({"/": page("x")}, "/", headers={"If-None-Match": "*"})

    assert answer.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("code", [300, 301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", ["/there", "//b.test/x", "?q", b"http://\xff\x00 /", "https://[", ""])
async def test_a_redirect_sends_any_location_as_it_is(code: int, location: str | bytes) -> None:
    [answer] = await answers({"/": redirect(code, location)}, "/")

    sent = location if isinstance(location, bytes) else location.encode()
    assert answer.startswith(f"HTTP/1.1 {code} ".encode())
    assert b"\r\nLocation: " + sent + b"\r\n" in answer


async def test_a_redirect_may_lack_its_location() -> None:
    [answer] = await answers({"/": redirect(302)}, "/")

    assert answer.startswith(b"HTTP/1.1 302 Found\r\n")
    assert b"Location" not in answer


async def test_a_redirect_can_cross_to_another_site_and_scheme_of_the_farm() -> None:
    site = {"/up": redirect(301, Elsewhere("b.test", "/x", tls=True)), "/down": redirect(301, Elsewhere("b.test"))}
    async with WebFarm({"a.test": site}, certificates=Certificates()) as farm:
        up = await ask(farm.port, "a.test", "/up")
        down = await ask(farm.port, "a.test", "/down")

    assert f"\r\nLocation: https://b.test:{farm.tls_port}/x\r\n".encode() in up
    assert f"\r\nLocation: http://b.test:{farm.port}/\r\n".encode() in down


async def test_a_chain_ends_in_its_page_after_its_hops() -> None:
    found = await answers(chain("/c", 2, page("end"), code=307), "/c", "/c/1", "/c/2")

    assert [answer.split(b" ", 2)[1] for answer in found] == [b"307", b"307", b"200"]
    assert b"\r\nLocation: /c/1\r\n" in found[0]
    assert b"\r\nLocation: /c/2\r\n" in found[1]
    assert found[2].endswith(b"end")


@pytest.mark.parametrize("hops", [1, 3])
async def test_a_loop_comes_back_to_where_it_began(hops: int) -> None:
    stations = ["/l", *(f"/l/{hop}" for hop in range(1, hops))]

    found = await answers(loop("/l", hops), *stations)

    for answer, following in zip(found, [*stations[1:], "/l"], strict=True):
        assert f"\r\nLocation: {following}\r\n".encode() in answer


async def test_any_status_can_be_sent_even_one_that_nobody_registered() -> None:
    site = {
        "/": status(599, "no", {"X-Why": "because"}),
        "/204": status(204, "never sent"),
        "/n": status(500, reason=""),
    }

    odd, bodiless, nameless = await answers(site, "/", "/204", "/n")

    assert odd.startswith(b"HTTP/1.1 599 Unheard Of\r\n")
    assert b"\r\nX-Why: because\r\n" in odd
    assert odd.endswith(b"\r\n\r\nno")
    assert bodiless.endswith(b"\r\n\r\n")
    assert b"Content-Length" not in bodiless
    assert nameless.startswith(b"HTTP/1.1 500 \r\n")


@pytest.mark.parametrize("retry_after", ["120", DATE, "soon", None])
async def test_too_many_requests_may_say_when_to_come_back(retry_after: str | None) -> None:
    [answer] = await answers({"/": too_many(retry_after)}, "/")

    assert answer.startswith(b"HTTP/1.1 429 Too Many Requests\r\n")
    assert (b"Retry-After" in answer) is (retry_after is not None)
    assert f"\r\nRetry-After: {retry_after}\r\n".encode() in answer or retry_after is None


async def test_a_flaky_path_fails_as_often_as_said_and_each_host_counts_for_itself() -> None:
    site = {"/": flaky([503, status(500, "own"), reset()], page("fine"))}
    async with WebFarm({"a.test": site, "b.test": site}) as farm:
        first = await ask(farm.port, "a.test")
        second = await ask(farm.port, "a.test", "/?again")
        with pytest.raises(ConnectionResetError):
            await ask(farm.port, "a.test")
        fourth = await ask(farm.port, "a.test")
        fifth = await ask(farm.port, "a.test")
        elsewhere = await ask(farm.port, "b.test")

    assert first.startswith(b"HTTP/1.1 503 ")
    assert second.endswith(b"own")
    assert fourth.endswith(b"fine")
    assert fifth.endswith(b"fine")
    assert elsewhere.startswith(b"HTTP/1.1 503 ")


async def test_behaviours_in_turn_can_be_nested_and_a_request_is_one_turn() -> None:
    nested = in_turn(page("0"), in_turn(page("never"), page("1"), page("2")))

    found = await answers({"/": nested}, "/", "/", "/", "/")

    assert [answer[-1:] for answer in found] == [b"0", b"1", b"2", b"2"]


async def test_an_empty_page_is_a_success_without_a_body() -> None:
    [answer] = await answers({"/": empty()}, "/")

    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"\r\nContent-Length: 0\r\n\r\n")


async def test_a_site_may_refuse_head_and_answer_get() -> None:
    site = {"/": refuses_head(page("x"))}

    [refused] = await answers(site, "/", method="HEAD")
    [given] = await answers(site, "/")

    assert refused.startswith(b"HTTP/1.1 405 Method Not Allowed\r\n")
    assert b"\r\nAllow: GET\r\n" in refused
    assert given.endswith(b"x")


async def test_a_robots_file_is_just_a_path() -> None:
    site = {"/robots.txt": text("User-agent: *\n", code=200)}

    [answer] = await answers(site, "/robots.txt")

    assert b"\r\nContent-Type: text/plain; charset=utf-8\r\n" in answer
    assert answer.endswith(b"User-agent: *\n")


async def test_a_page_can_lie_about_its_charset() -> None:
    site = {
        "/": in_charset("Привет", "windows-1251", said="utf-8", meta="koi8-r"),
        "/bom": in_charset("é", "utf-8", said="latin-1", bom=b"\xef\xbb\xbf"),
        "/silent": in_charset("é", "latin-1"),
    }

    lie, marked, silent = await answers(site, "/", "/bom", "/silent")

    assert b"charset=utf-8\r\n" in lie
    assert lie.endswith('<meta charset="koi8-r"><p>Привет'.encode("windows-1251"))
    assert b"charset=latin-1\r\n" in marked
    assert b"\r\n\r\n\xef\xbb\xbf<!doctype html><p>\xc3\xa9" in marked
    assert b"\r\nContent-Type: text/html\r\n" in silent
    assert silent.endswith(b"\xe9")
