"""The contract of a content store: what was put comes back, as it came, under the key that was given.

Inherit from `ContentContract` in a test class and say in `open` how to reach your backend; `name` tells one store from
another. Instants are kept to the microsecond.

Not every store is an archive. One that keeps the decoded content of pages and nothing else sets `keeps` to `"content"`,
one that keeps nothing to `"nothing"`: what they give back is held against that. What they do not keep has no key.
"""

# ruff: noqa: S101 - a contract asserts

import asyncio
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from typing import ClassVar, Literal
from uuid import uuid4

import pytest
from msgspec.structs import replace

from outrider.model.capture import Capture, Unchanged
from outrider.model.outcome import Hop, Timing
from outrider.model.url import Url
from outrider.ports import Clock, ContentStore
from outrider.testing.clock import FakeClock

START = 1_700_000_000.0
REQUEST = b"GET /page HTTP/1.1\r\nHost: example.com\r\nUser-Agent: test\r\n\r\n"


def capture(number: int = 0, body: bytes = b"<p>hello</p>") -> Capture:
    return Capture(
        fetch_id=f"fetch-{number}",
        url=Url(f"http://example.com/page/{number}"),
        at=START + number + 0.25,
        status=200,
        headers=(("Content-Type", "text/html"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")),
        body=body,
        request=REQUEST,
        http_version="1.1",
        address="127.0.0.1",
    )


def as_kept(put: Capture) -> Capture:
    """By an archive: without its request, with the digest of its body, and without a body that it had before."""
    digest = None if put.unchanged is Unchanged.NOT_MODIFIED else sha256(put.body).hexdigest()
    body = put.body if put.unchanged is None else b""
    return replace(put, request=b"", body=body, payload_sha256=put.payload_sha256 or digest)


class ContentContract:
    keeps: ClassVar[Literal["all", "content", "nothing"]] = "all"

    def open(self, name: str, clock: Clock) -> AbstractAsyncContextManager[ContentStore]:
        raise NotImplementedError("say how to open the backend")

    def kept(self, put: Capture) -> Capture | None:
        """What must come back of this, when nothing else was put."""
        if self.keeps == "all":
            return as_kept(put)
        content = put.body if put.content is None else put.content
        is_page = put.status < 300 and content and put.unchanged is not Unchanged.NOT_MODIFIED
        if self.keeps == "nothing" or not is_page:
            return None
        return Capture("", Url.trusted(""), 0.0, 200, (), content, content=content)

    @pytest.fixture
    def name(self) -> str:
        return f"t{uuid4().hex[:12]}"

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock(START)

    async def test_what_was_put_comes_back_without_its_request(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as contents:
            [key] = await contents.put([capture()])

            assert await contents.get(key) == self.kept(capture())

    async def test_every_capture_has_its_own_key_in_order(self, name: str, clock: FakeClock) -> None:
        captures = [capture(number, b"x" * number) for number in range(20)]
        async with self.open(name, clock) as contents:
            keys = await contents.put(captures[:7])
            keys += await contents.put(captures[7:])

            assert len(set(keys)) == (1 if self.keeps == "nothing" else len(keys))
            assert [await contents.get(key) for key in keys] == [self.kept(put) for put in captures]

    async def test_no_captures_have_no_keys(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as contents:
            assert await contents.put([]) == []
            await contents.confirm([])

    async def test_the_same_capture_may_be_put_again(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as contents:
            [first] = await contents.put([capture()])
            [again] = await contents.put([capture()])

            assert await contents.get(first) == await contents.get(again) == self.kept(capture())

    @pytest.mark.parametrize(
        "body",
        [b"", b"\0" * 1_000, b"\r\n\r\n", b"WARC/1.1\r\n\r\n", b"\x1f\x8b\x08\x00", bytes(range(256)) * 9_000],
        ids=["empty", "zeros", "breaks", "a record", "gzip", "large"],
    )
    async def test_a_body_is_kept_byte_for_byte(self, name: str, clock: FakeClock, body: bytes) -> None:
        async with self.open(name, clock) as contents:
            [key] = await contents.put([capture(body=body)])

            assert await contents.get(key) == self.kept(capture(body=body))

    async def test_headers_are_kept_as_received(self, name: str, clock: FakeClock) -> None:
        """In order, repeated, odd, and those that speak of a framing that is gone."""
        headers = (
            ("transfer-encoding", "chunked"),
            ("X-Crawler-Transfer-Encoding", "mine"),
            ("x-latin", "caf\xe9 \xff"),
            ("Empty", ""),
            ("no colon here", ""),
            ("Content-Length", "12"),
            ("transfer-encoding", "again"),
        )
        put = replace(capture(), headers=headers)
        async with self.open(name, clock) as contents:
            [key] = await contents.put([put])

            assert await contents.get(key) == self.kept(put)

    async def test_the_hops_that_led_here_are_kept(self, name: str, clock: FakeClock) -> None:
        hops = (
            Hop(
                Url("http://example.com/a"),
                301,
                (("Location", "/b\xe9"),),
                "/b\xe9",
                START,
                Timing(0.5),
                "127.0.0.1",
                "2",
            ),
            Hop(Url("http://example.com/b"), 302, (), "/c", START + 1),
        )
        put = replace(capture(), chain=hops)
        async with self.open(name, clock) as contents:
            [key] = await contents.put([put])

            assert await contents.get(key) == self.kept(put)

    @pytest.mark.parametrize("version", [None, "1.0", "1.1", "2", "3"])
    async def test_the_rest_of_the_story_is_kept(self, name: str, clock: FakeClock, version: str | None) -> None:
        put = replace(capture(), http_version=version, address="::1", truncated=True, status=299, request=b"")
        bare = Capture("id", Url("https://example.com/"), START, 404, (), b"")
        async with self.open(name, clock) as contents:
            keys = await contents.put([put, bare])

            assert [await contents.get(key) for key in keys] == [self.kept(put), self.kept(bare)]

    async def test_content_that_we_had_is_not_kept_twice(self, name: str, clock: FakeClock) -> None:
        """The head is, and what the content was and when it was seen."""
        put = replace(capture(), unchanged=Unchanged.SAME_CONTENT, earlier_at=START - 86_400.5)
        async with self.open(name, clock) as contents:
            [key] = await contents.put([put])

            assert await contents.get(key) == self.kept(put)

    async def test_a_304_is_kept_with_the_digest_that_it_stands_for(self, name: str, clock: FakeClock) -> None:
        digest = sha256(b"what we had").hexdigest()
        plain = replace(capture(1, b""), status=304, unchanged=Unchanged.NOT_MODIFIED, earlier_at=START - 5)
        known = replace(plain, payload_sha256=digest)
        async with self.open(name, clock) as contents:
            keys = await contents.put([plain, known])

            assert [await contents.get(key) for key in keys] == [self.kept(plain), self.kept(known)]

    async def test_confirming_changes_nothing_to_read_also_twice(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, clock) as contents:
            keys = await contents.put([capture(1), capture(2)])

            await contents.confirm(keys[:1])
            await contents.confirm(keys)

            assert [await contents.get(key) for key in keys] == [self.kept(capture(1)), self.kept(capture(2))]

    @pytest.mark.parametrize("key", ["", "nothing", "memory:99", "../../etc/passwd:0:1", "x\0y", "memory:-1"])
    async def test_a_key_that_was_never_given_has_nothing(self, name: str, clock: FakeClock, key: str) -> None:
        async with self.open(name, clock) as contents:
            await contents.put([capture()])

            assert await contents.get(key) is None

    async def test_what_is_not_kept_has_no_key(self, name: str, clock: FakeClock) -> None:
        found = capture(1), replace(capture(2), status=404), replace(capture(3), status=200, content=b"")
        async with self.open(name, clock) as contents:
            keys = await contents.put(found)

            assert [bool(key) for key in keys] == [self.kept(put) is not None for put in found]

    async def test_many_may_put_at_once(self, name: str, clock: FakeClock) -> None:
        captures = [[capture(10 * batch + number) for number in range(3)] for batch in range(8)]
        async with self.open(name, clock) as contents:
            keys = await asyncio.gather(*(contents.put(batch) for batch in captures))
            await asyncio.gather(*(contents.confirm(batch) for batch in keys))

            for batch, theirs in zip(captures, keys, strict=True):
                assert [await contents.get(key) for key in theirs] == [self.kept(put) for put in batch]
