"""Is this URL's host somewhere we may go? Asked before every request: pages, hops, robots.txt, sitemaps, probes.

The law: **only the address that was judged is connected to.** `pin` looks the name up once and returns addresses; the
transport connects to one of those and never looks the name up again, so an answer that changes a moment later (DNS
rebinding) changes nothing. `approves` judges once more where the socket is made, on the address it really gets.

An answer that mixes a public address with one that points inside is refused whole, although the public one alone would
be safe to use: no honest site has such an answer, and the next address down the list is one mistake away from being
tried. Addresses that are refused without pointing inside, such as the NAT64 copies that a DNS64 server adds to every
answer, are only left out. So is the half of localhost that no hole opens: that answer is our own resolver's.
"""

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from outrider.errors import AddressRefused
from outrider.fetch.resolver import Resolver
from outrider.model.url import Url
from outrider.policy.address import AddressRules, Allowed, Refused, judge_address

_MOST_ORIGINS: Final = 65_536


class _Judged(Struct, frozen=True):
    """The verdict on one answer of the resolver: the rules do not change, so it holds for the same answer again."""

    host: str
    addresses: tuple[str, ...]
    approved: tuple[str, ...]


class Guard:
    def __init__(self, resolver: Resolver, rules: AddressRules) -> None:
        self._resolver = resolver
        self._rules = rules
        self._judged: OrderedDict[str, _Judged] = OrderedDict()

    async def pin(self, url: Url) -> tuple[str, ...]:
        """The addresses to connect to, in order of preference, at least one.

        Raises `AddressRefused` when there is none, and what `Resolver.resolve` raises.
        """
        return self._approved(url, await self._resolver.resolve(url.host))

    def recall(self, url: Url) -> tuple[str, ...] | None:
        """What `pin` answers, or raises, when the name is known: no waiting. None when it must be looked up."""
        origin = url.origin
        judged = self._judged.get(origin)
        host = url.host if judged is None else judged.host
        known = self._resolver.recall(host)
        if known is None:
            return None
        if judged is not None and judged.addresses == known:
            return judged.approved
        approved = self._approved(url, known)
        if len(self._judged) >= _MOST_ORIGINS:
            # The oldest: judging it again costs less than keeping the order of use for all.
            self._judged.popitem(last=False)
        self._judged[origin] = _Judged(host, known, approved)
        return approved

    def approves(self, address: str, port: int) -> bool:
        """The second check, at the creation of the socket: no look-up, no waiting."""
        return isinstance(judge_address(address, port, self._rules), Allowed)

    def _approved(self, url: Url, addresses: tuple[str, ...]) -> tuple[str, ...]:
        approved = []
        refused: list[tuple[str, Refused]] = []
        for address in addresses:
            verdict = judge_address(address, url.port, self._rules)
            if isinstance(verdict, Refused):
                refused.append((address, verdict))
            else:
                approved.append(address)
        inward = next((pair for pair in refused if pair[1].inward), None)
        is_ours = approved and url.host.removesuffix(".").rpartition(".")[2] == "localhost"
        if inward is not None and not is_ours:
            raise AddressRefused(_explain(url.host, *inward))
        if not approved:
            raise AddressRefused(_explain(url.host, *refused[0]))
        return tuple(approved)


def _explain(host: str, address: str, refused: Refused) -> str:
    way_out = f"; {refused.remedy} would allow it" if refused.remedy else ""
    return f"{host} is not visited: its address {address} {refused.why}{way_out}"
