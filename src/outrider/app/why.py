"""By which rules is a URL judged, and what is known of it? Settings and a place in, its story out."""

from collections.abc import Sequence

from outrider.app.operate import Sources, open_operated
from outrider.app.rules import admission, listing_admission
from outrider.clock import SystemClock
from outrider.model.url import Url
from outrider.ops.retries import with_retries
from outrider.ops.story import Story
from outrider.ops.why import Terms, why
from outrider.policy.admit import Reach
from outrider.policy.robots import Unreachable
from outrider.settings import Settings


def terms_of(settings: Settings, seeds: Sequence[Url]) -> Terms:
    """As a crawl judges, and without seeds as a service does: whatever somebody proposes is in scope."""
    return Terms(
        admit=admission(settings, Reach(settings.scope) if seeds else Reach.ANY, seeds),
        listing=listing_admission(settings, seeds),
        agent=settings.agent_token,
        site_by=settings.site_by,
        respects_robots=settings.respect_robots,
        unreachable=Unreachable(settings.robots_unreachable),
    )


async def story_of(url: Url, settings: Settings, sources: Sources) -> tuple[Story, bool]:
    """The story, and whether there are records at all. Raises `ConfigError` for a store that is not there.

    Raises `StoreError` for one that cannot be read.
    """
    async with open_operated(settings, sources) as place:
        story = await why(url, place.frontier, place.records, terms_of(settings, sources.seeds), SystemClock().now())
    return (story if sources.events is None else with_retries(story, sources.events)), place.has_records
