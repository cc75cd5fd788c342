"""What `outrider site` does once its arguments are read: one act on one site of a place that is opened for it."""

from msgspec import Struct

from outrider.app.operate import Sources, open_operated
from outrider.clock import SystemClock
from outrider.errors import ConfigError, InvalidUrl
from outrider.model.order import SiteOrder
from outrider.model.url import SiteBy, Url
from outrider.ops.orders import Act, act_on_site, operable
from outrider.settings import Settings
from outrider.stores.registry import LooksAtSites


class Done(Struct, frozen=True):
    """The order that stands now. `is_known`: the site has been met; `is_told`: there is an event log to tell."""

    order: SiteOrder
    dismissed: int
    is_known: bool
    is_told: bool


def site_key(text: str, by: SiteBy) -> str:
    """Of a name, or of any URL of the site. Raises `ConfigError`."""
    try:
        return Url(text if "://" in text else f"http://{text}/").site(by)
    except InvalidUrl as error:
        raise ConfigError(f"SITE {text!r}: {error.why}; expected a name such as example.com, or a URL") from error


async def perform(settings: Settings, sources: Sources, act: str, site: str, delay: float | None) -> Done:
    async with open_operated(settings, sources) as place:
        frontier = operable(place.frontier)
        now = SystemClock().now()
        is_known = not isinstance(frontier, LooksAtSites) or await frontier.look_at(site) is not None
        done = await act_on_site(
            frontier, place.events, Act(act), site, by=f"outrider site {act}", now=now, delay=delay
        )
    return Done(done.order, done.dismissed, is_known, place.has_events)


async def orders_of(settings: Settings, sources: Sources) -> list[SiteOrder]:
    async with open_operated(settings, sources) as place:
        return await operable(place.frontier).orders()
