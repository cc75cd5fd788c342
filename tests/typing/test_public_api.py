"""What a user writes against the public names. mypy judges this file; running it shows that it is so."""

from collections.abc import Mapping
from typing import assert_never, assert_type

import outrider
from outrider.testing.webfarm import WebFarm, page


async def fetch(url: str) -> outrider.Fetch:
    hosts = {"*.test": ["127.0.0.1"]}
    async with outrider.Client(hosts=hosts, allow_private="127.0.0.0/8", contact="me@example.org", delay=0) as client:
        assert_type(client, outrider.Client)
        again = await client.fetch(url, validators=outrider.Validators(etag='"1"'), scan_id="scan")
        assert_type(again, outrider.Fetch)
        return await client.fetch(url)


def told(outcome: outrider.Outcome) -> str:
    """Every kind of outcome is matched: a new one is an error here first."""
    match outcome:
        case outrider.Fetched(url, status):
            assert_type(url, outrider.Url)
            assert_type(status, int)
            return f"{status} {url}"
        case outrider.NotModified(url):
            return f"unchanged {url}"
        case outrider.Moved(to):
            return f"moved {to}"
        case outrider.Skipped(reason, detail):
            assert_type(reason, outrider.Reason)
            return f"{reason} {detail}"
        case outrider.Failed(failure):
            assert_type(failure, outrider.Failure)
            return str(failure.reason)
        case never:
            assert_never(never)


async def test_a_fetch_has_the_types_that_it_says() -> None:
    async with WebFarm({"a.test": {"/": page("<p>hello")}}) as farm:
        fetched = await fetch(farm.url("a.test"))

    assert_type(fetched.ok, bool)
    assert_type(fetched.url, outrider.Url)
    assert_type(fetched.status, int)
    assert_type(fetched.headers, Mapping[str, str])
    assert_type(fetched.content, bytes)
    assert_type(fetched.text, str)
    assert_type(fetched.outcome, outrider.Outcome)
    assert_type(fetched.confidence, outrider.Confidence)
    assert_type(fetched.page, outrider.Page | None)
    assert_type(fetched.evidence, tuple[outrider.Evidence, ...])
    assert told(fetched.outcome).startswith("200 http://a.test:")


def test_a_url_is_text_and_its_error_a_value_error() -> None:
    url = outrider.Url("http://example.org/a?b")

    assert_type(url.host, str)
    assert_type(url.resolve("/c"), outrider.Url)
    text: str = url
    wrong: type[ValueError] = outrider.InvalidUrl
    ours: type[outrider.OutriderError] = outrider.ConfigError
    assert (text, wrong.__name__, ours.__name__) == ("http://example.org/a?b", "InvalidUrl", "ConfigError")
    assert_type(outrider.__version__, str)
