"""The composition root: settings in, working objects out, in the order of a URL's journey. Nothing else reads settings.

`rules` says which setting feeds which decision, `visits` opens what a visit needs, `crawl` a whole crawl.
"""

from outrider.app.rules import (
    admission,
    breaker_limits,
    frontier_rules,
    identity,
    pace_limits,
    redirect_rules,
    retry_limits,
    robots_settings,
    settle_rules,
    transport_limits,
    visit_rules,
)
from outrider.app.visits import Visits, new_fetch_id, open_transport, open_visits, visits_over

__all__ = [
    "Visits",
    "admission",
    "breaker_limits",
    "frontier_rules",
    "identity",
    "new_fetch_id",
    "open_transport",
    "open_visits",
    "pace_limits",
    "redirect_rules",
    "retry_limits",
    "robots_settings",
    "settle_rules",
    "transport_limits",
    "visit_rules",
    "visits_over",
]
