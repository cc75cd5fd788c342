"""Events for the tests of Kafka, and who insists on them as the engine does."""

import asyncio
from collections.abc import Sequence

from outrider.errors import StoreUnavailable
from outrider.model.event import Event, PageFailed, PageFetched
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.ports import EventSink


def fetched(n: int) -> PageFetched:
    url = Url(f"http://site-{n % 7}.example/page?n={n}")
    return PageFetched(
        at=1_700_000_000.25 + n,
        url=url,
        requested_url=url,
        final_url=url,
        site=f"site-{n % 7}.example",
        status_code=200,
        content_type="text/html",
        content_length=1_234,
        content_hash="ab" * 32,
        fetched_at="2026-01-01T00:00:00+00:00",
        cache_key="webpage:cd",
        fetch_id=f"f{n}",
    )


def failed(n: int) -> PageFailed:
    event = fetched(n)
    return PageFailed(at=event.at, url=event.url, site=event.site, reason=Reason.CONNECT_TIMEOUT)


async def insist(sink: EventSink, events: Sequence[Event]) -> int:
    """Until it is published; how often it had to be asked again."""
    for refused in range(100):
        try:
            await sink.publish(events)
        except StoreUnavailable:
            await asyncio.sleep(0.1)
        else:
            return refused
    raise AssertionError("the broker did not come back")
