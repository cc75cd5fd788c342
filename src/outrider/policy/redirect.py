"""Where does this answer lead? Hops are counted exactly, loops are found at once (C7 to C12).

`limit=N` follows N redirects, so N + 1 requests are made and the N + 1st redirect fails. A hop inside the site is
followed; one to another site ends the visit as `Leave`, because only that site's holder may talk to it.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from outrider.errors import InvalidUrl
from outrider.model.identity import Identity
from outrider.model.outcome import Hop
from outrider.model.reason import Reason
from outrider.model.url import SiteBy, Url

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_PERMANENT: Final = frozenset({301, 308})


class RedirectRules(Struct, frozen=True):
    follow: bool = True
    limit: int = 5
    site_by: SiteBy = "domain"
    identity: Identity = Identity()


class Arrived(Struct, frozen=True):
    """Not a redirect: this answer is the final one."""


class Follow(Struct, frozen=True):
    url: Url


class Leave(Struct, frozen=True):
    """The chain leaves the site. `permanent` when every hop of it so far says so."""

    url: Url
    permanent: bool


class Stop(Struct, frozen=True):
    reason: Reason
    detail: str = ""


NextHop: TypeAlias = Arrived | Follow | Leave | Stop


def next_hop(url: Url, status: int, location: str | None, walked: Sequence[Hop], rules: RedirectRules) -> NextHop:
    """Read the answer to a request for `url`, after the redirects in `walked` (those of an earlier site included)."""
    if not is_redirect(status):
        return Arrived()
    if not rules.follow:
        return Stop(Reason.REDIRECT_NOT_FOLLOWED, f"{status} to {location!r}")
    if location is None or not location.strip():
        return Stop(Reason.INVALID_REDIRECT, f"{status} without a Location")
    try:
        target = url.resolve(_as_utf8(location))
    except InvalidUrl as error:
        return Stop(Reason.INVALID_REDIRECT, f"Location {error}")
    key = rules.identity.key
    if key(target) in {key(url), *(key(hop.url) for hop in walked)}:
        return Stop(Reason.REDIRECT_LOOP, f"back to {target}")
    if len(walked) >= rules.limit:
        return Stop(Reason.TOO_MANY_REDIRECTS, f"more than {rules.limit}, next would be {target}")
    if target.site(rules.site_by) != url.site(rules.site_by):
        return Leave(target, permanent=all(is_permanent(hop.status) for hop in walked) and is_permanent(status))
    return Follow(target)


def is_redirect(status: int) -> bool:
    """Does it lead on? 300, 304, 305 and 306 do not, whatever their Location says."""
    return status in _REDIRECTS


def is_permanent(status: int) -> bool:
    return status in _PERMANENT


def _as_utf8(location: str) -> str:
    """Header text arrives as Latin-1; servers that send raw non-ASCII mean UTF-8, as browsers read it."""
    try:
        return location.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return location
