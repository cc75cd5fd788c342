"""What an audit of the fetcher found, each once: none of it may come back."""

import tracemalloc

import pytest
from tests.security.attackers import HOLE, HTML, INSIDE, OUTSIDE, Hostile, a_client, page

from outrider.errors import ConfigError, InvalidUrl
from outrider.fetch.answer import Answer
from outrider.model.codec import to_bytes, to_json
from outrider.model.outcome import Failed, Failure, Skipped, Validators, Visit
from outrider.model.reason import Reason
from outrider.model.settlement import Later
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.admit import admit_rules, refusal
from outrider.policy.settle import SettleRules, settle
from outrider.settings.secrets import masked

EVERYWHERE = {"*": [OUTSIDE]}


@pytest.mark.parametrize("header", [b"Transfer-Encoding: \xc3\x28", b"Transfer-Encoding: \x1b[2J"])
async def test_the_bytes_of_a_peer_in_an_error_can_be_recorded_and_move_no_cursor(header: bytes) -> None:
    async with (
        Hostile({"/": HTML + header + b"\r\n\r\n"}) as site,
        a_client(EVERYWHERE, allow_private=HOLE) as client,
    ):
        fetched = await client.fetch(site.url())

    assert isinstance(fetched.outcome, Failed)
    assert fetched.outcome.failure.detail.isprintable()
    assert to_json(fetched.page)
    assert to_bytes(fetched.visit)


async def test_a_location_that_is_not_followed_moves_no_cursor() -> None:
    moved = b"HTTP/1.1 302 x\r\nLocation: /\x1b[2J\r\nContent-Length: 0\r\n\r\n"
    async with (
        Hostile({"/": moved}) as site,
        a_client(EVERYWHERE, allow_private=HOLE, follow_redirects=False) as client,
    ):
        fetched = await client.fetch(site.url())

    assert isinstance(fetched.outcome, Skipped)
    assert fetched.outcome.detail.isprintable()


def test_a_body_in_crumbs_costs_what_it_holds() -> None:
    answer = Answer(65_536)
    answer.reset(body_cap=10_000_000, wanted=frozenset())

    tracemalloc.start()
    for n in range(200_000):
        answer.add_chunk(bytes([n & 255, n >> 8 & 255]))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert held < 4 * answer.length


def test_a_skip_pattern_cannot_explode() -> None:
    """Tried at every place, this pattern would take longer than a crawl on a URL of this length."""
    rules = admit_rules(skip_patterns=["/*a*a*a*a*a*a*b"], max_length=70_000)

    assert refusal(Url("http://h/" + "a" * 60_000), 0, rules) is None
    assert refusal(Url("http://h/" + "a" * 60_000 + "b"), 0, rules) is not None


def test_retry_after_is_capped_for_a_url_too() -> None:
    failure = Failure(Reason.HTTP_500, transient=True, status=500, retry_after=999_999_999_999.0)
    visit = Visit("1", Url("http://h/"), 0.0, 1.0, Failed(failure), requests=1)

    settlement, _ = settle(Task(Url("http://h/")), visit, Site("h"), SettleRules(), url=1, jitter=0.0)

    assert isinstance(settlement, Later)
    assert settlement.due_at <= 86_401.0


async def test_a_fetch_says_how_long_the_site_rests_in_place_of_sleeping_for_a_day() -> None:
    busy = b"HTTP/1.1 429 x\r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n"
    async with Hostile({"/": busy}) as site, a_client(EVERYWHERE, allow_private=HOLE) as client:
        await client.fetch(site.url())
        second = await client.fetch(site.url("/other"))

    assert second.retry_after is not None
    assert second.retry_after > 86_000


async def test_a_blocked_address_stays_blocked_at_the_second_look() -> None:
    async with a_client({"*": [INSIDE]}) as client:
        pages = [(await client.fetch("http://inside.test/")).page for _ in range(2)]

    assert [page and page.metadata.reason for page in pages] == [Reason.BLOCKED_ADDRESS] * 2


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me@corp.example:hunter2@h/db",
        "redis://u:123/hunter2@h",
        "redis://:12#hunter2@h",
        "redis://u:12?hunter2@h",
        "x://h?access_token=hunter2",
        "x://h?api_key=hunter2",
        "x://h?pass=hunter2",
        "x://h?sasl_password=hunter2",
    ],
)
def test_a_password_is_masked_wherever_it_stands(text: str) -> None:
    assert "hunter2" not in masked(text)


@pytest.mark.parametrize("text", ["http://u:hunter2@h:99999/", "ftp://u:hunter2@h/"])
def test_a_url_that_is_none_does_not_tell_its_password(text: str) -> None:
    with pytest.raises(InvalidUrl) as caught:
        Url(text)

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("validator", ['"a\rb"', '"' + "x" * 5_000 + '"'])
async def test_a_stored_validator_that_cannot_be_sent_is_not_sent(validator: str) -> None:
    async with Hostile({"/": page()}) as site, a_client(EVERYWHERE, allow_private=HOLE) as client:
        fetched = await client.fetch(site.url(), validators=Validators(validator))

    assert fetched.ok


async def test_a_family_of_content_types_may_be_wanted() -> None:
    async with (
        Hostile({"/": page()}) as site,
        a_client(EVERYWHERE, allow_private=HOLE, content_types=["text/*"]) as client,
    ):
        fetched = await client.fetch(site.url())

    assert fetched.ok


async def test_a_contact_is_needed_where_a_redirect_leads() -> None:
    async with Hostile({}) as site:
        there = site.url("/there", "public.test").encode()
        site.routes["/"] = b"HTTP/1.1 302 x\r\nLocation: " + there + b"\r\nContent-Length: 0\r\n\r\n"
        async with a_client(EVERYWHERE, allow_private=HOLE, contact=None) as client:
            with pytest.raises(ConfigError, match="contact"):
                await client.fetch(site.url(host="a.localhost"))


def test_a_host_that_is_too_long_to_exist_is_no_url() -> None:
    with pytest.raises(InvalidUrl, match="more than 260 characters"):
        Url("http://" + "a" * 60_000 + "/")
