"""What an operator has said about a site: apart from what its holders learn of it, so that none of them unsays it."""

from msgspec import Struct


class SiteOrder(Struct, frozen=True):
    """It stands until another takes its place. One that asks for nothing takes back what was said before.

    A `paused` site is left alone, and what it owes stays owed. What an `excluded` one owes ends as skipped. `delay` is
    in place of the setting's: robots.txt and a 429 may still ask for more.
    """

    site: str
    paused: bool = False
    excluded: bool = False
    delay: float | None = None
    at: float = 0.0

    def __bool__(self) -> bool:
        """Does it ask for anything?"""
        return self.paused or self.excluded or self.delay is not None
