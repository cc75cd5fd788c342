"""Why may a URL end as it does, and what would have to change? For the reference: docs/reference/reasons.md."""

from collections.abc import Iterator
from typing import Final

from outrider.model.reason import Family, Reason
from outrider.ops.meaning import SETTINGS, meaning

INTRODUCTION: Final = """\
Why a URL ended as it did is one word of a closed list: in the ledger, the records, the events and the dead letters
alike. Members are added, never renamed. `outrider why URL` tells the word of one URL, with who decided and on what
evidence.

Where a rule of our own is behind it, the setting is named. What a site asks for has none.
"""

HEADER: Final = "reason | because | our setting"

TITLES: Final[dict[Family, str]] = {
    Family.ADMISSION: "Refused at admission, before any request",
    Family.ROBOTS: "robots.txt",
    Family.REDIRECT: "Redirects",
    Family.NETWORK: "Network",
    Family.CONTENT: "Content",
    Family.HTTP: "HTTP, by status",
    Family.ENGINE: "Ends of the engine's own",
}


def rows(family: Family) -> Iterator[tuple[str, ...]]:
    for reason in Reason:
        if reason.family is family:
            yield f"`{reason}`", meaning(reason), SETTINGS.get(reason, "")
