"""What does each profile change? Sets of defaults over one code path; `polite` is the defaults themselves.

`service` is the page fetcher of S4 (and 0 inline retries of what belongs to the site, C1), `audit` the page fetch of
S1, `broad` the billion-page crawl of S2.
"""

from typing import Final

from outrider.policy.extensions import GROUPS

PROFILES: Final[dict[str, dict[str, object]]] = {
    "polite": {},
    "service": {
        "user_agent": "OttoBot/1.0",
        "follow_links": False,
        "network_retries": 0,
        "gateway_retries": 0,
        "server_error_retries": 3,
        "rate_limit_retries": 3,
        "robots_unreachable": "allow",
        "give_up_after": None,
        "give_up_probes": None,
    },
    "audit": {
        "user_agent": "AEO-Audit-Bot/1.0",
        "concurrency": 20,
        "max_redirects": 10,
        "gateway_retries": 3,
        "server_error_retries": 3,
        "rate_limit_retries": 3,
        "skip_patterns": (
            "/admin",
            "/api/*",
            "/cart",
            "/checkout",
            "/account",
            "/login",
            "/logout",
            "/register",
            "/_next/*",
            "/static/*",
        ),
        "skip_extensions": GROUPS["documents"] | GROUPS["archives"] | GROUPS["images"],
    },
    "broad": {
        "delay": 70.0,
        "concurrency": 2000,
        "slowest": 3600.0,
        "site_quota": 100_000,
    },
}
