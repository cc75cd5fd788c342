"""What operators do to a frontier in Redis: orders about sites, and URLs that they want no more visits of.

Orders are one small hash, `{prefix}:orders`: site -> the order as JSON. It is read whole.
"""

from collections.abc import Collection, Sequence
from itertools import islice
from typing import Final

from outrider.errors import StoreError, StoreUnavailable
from outrider.model.codec import from_json, to_json
from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.stores.redis.dismissing import Dismissal, Part
from outrider.stores.redis.ledger import RedisLedger

_AT_ONCE: Final = 4_000
"""URLs a script call: a longer one would keep everybody else waiting."""
_ROUNDS: Final = 16


class RedisOrders(RedisLedger):
    async def order(self, order: SiteOrder) -> None:
        if order:
            await self.server.command("HSET", self._orders, order.site, to_json(order))
        else:
            await self.server.command("HDEL", self._orders, order.site)

    async def orders(self) -> list[SiteOrder]:
        told: dict[bytes, bytes] = await self.server.command("HGETALL", self._orders)
        return sorted((from_json(text, SiteOrder) for text in told.values()), key=lambda order: order.site)

    async def dismiss(self, urls: Sequence[tuple[Url, Reason]]) -> list[bool]:
        """See the port. A line is kept of what was dismissed: by its hash alone it would be taken for fetched."""
        keys = [self.identity.hash(url) for url, _ in urls]
        first = dict(zip(reversed(keys), reversed(urls), strict=True))
        await self._look_for_strays()
        gone: set[int] = set()
        for start in range(0, len(first), _AT_ONCE):
            some = dict(islice(first.items(), start, start + _AT_ONCE))
            gone |= await self._dismiss_batch(Dismissal(some, self.rules, self.buckets, await self.strays(some)))
        answers: list[bool] = []
        for key in keys:
            answers.append(key in gone)
            gone.discard(key)
        return answers

    async def look_in_files(self, site: str, queues: Sequence[tuple[bytes, bytes]], wanted: set[int]) -> list[Part]:
        """What these segments of queues hold of the wanted."""
        raise StoreError(f"{site} has {len(wanted)} in files ({len(queues)}): open the store as redis+files:")

    async def tidy(self, parts: Sequence[Part], replaced: Collection[bytes]) -> None:
        """These segments were looked through, and those of them are not named any more."""

    async def _dismiss_batch(self, batch: Dismissal) -> set[int]:
        # A site takes a round, or two when part of it is elsewhere; more only when its files change meanwhile.
        for _ in range(len(batch) + _ROUNDS):
            if not len(batch):
                return batch.gone
            batch.note(await self.server.call_each("dismiss", batch.calls()))
            for parts, replaced in batch.done:
                await self.tidy(parts, replaced)
            for site, queues in batch.in_files:
                batch.note_parts(site, await self.look_in_files(site, queues, batch.wanted(site)))
        raise StoreUnavailable(f"the queues of {len(batch)} sites would not stand still; some URLs may be dismissed")

    @property
    def _orders(self) -> str:
        return f"{{{self.server.prefix}}}:orders"
