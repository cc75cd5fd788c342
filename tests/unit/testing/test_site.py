"""A ScriptedSite answers from its table and remembers who asked."""

import pytest

from outrider.errors import ConnectionLost, DnsError
from outrider.model.url import Url
from outrider.ports import Request, Transport
from outrider.testing.clock import FakeClock
from outrider.testing.site import ScriptedSite, page

A = Url("http://example.com/a")


async def test_answers_are_given_in_turn_and_the_last_one_stays() -> None:
    site: Transport = ScriptedSite({"http://example.com/a": [ConnectionLost("gone"), page(b"one"), page(b"two")]})

    with pytest.raises(ConnectionLost):
        await site.request(Request(A))
    assert [(await site.request(Request(A))).body for _ in range(3)] == [b"one", b"two", b"two"]


async def test_a_method_may_have_an_answer_of_its_own() -> None:
    site = ScriptedSite({"http://example.com/a": page(), "HEAD http://example.com/a": page(b"", 405)})

    assert (await site.request(Request(A, "HEAD"))).status == 405
    assert (await site.request(Request(A))).status == 200


async def test_what_is_not_in_the_table_does_not_exist_and_robots_is_missing() -> None:
    site = ScriptedSite({})

    with pytest.raises(DnsError) as caught:
        await site.request(Request(A))
    assert not caught.value.exists
    assert (await site.request(Request(A.resolve("/robots.txt")))).status == 404


async def test_every_request_is_remembered_with_its_moment() -> None:
    clock = FakeClock(start=5.0)
    site = ScriptedSite({"http://example.com/a": page(etag='"1"')}, clock)

    answer = await site.request(Request(A))

    assert answer.header("ETag") == '"1"'
    assert answer.header("x-none") is None
    assert [(at, request.url) for at, request in site.asked] == [(5.0, A)]


def test_a_script_needs_an_answer() -> None:
    with pytest.raises(ValueError, match="at least one answer"):
        ScriptedSite({"http://example.com/a": []})
