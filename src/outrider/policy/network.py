"""Is it them or us? When most sites fail at once, our own network is down: pause everything, blame nobody (C4)."""

from msgspec import Struct


class NetworkLimits(Struct, frozen=True):
    """Judged over the distinct sites heard of within `window`."""

    window: float = 30.0
    least_sites: int = 10
    share: float = 0.8


def is_our_network(unreachable: int, alive: int, limits: NetworkLimits) -> bool:
    """`unreachable` sites failed below HTTP (DNS, connect, TLS) within the window and `alive` ones answered."""
    heard = unreachable + alive
    return unreachable >= limits.least_sites and unreachable >= limits.share * heard
