"""Which environment variables of the five source documents mean which key? Their names are accepted as they are.

S4-36 to S4-41 (`PAGE_FETCHER_…`), S1-2 to S1-7 (`PAGE_FETCH_…`, times in milliseconds), S0-4 (`CRAWLER_…`) and what
became of it (`FETCHER_…`, H0-3). Of the last two prefixes only these names are ours; other programs use them too.
"""

from collections.abc import Callable
from math import inf
from typing import Final, NamedTuple


class Seed(NamedTuple):
    """`convert` turns the text into the key's own unit and raises ValueError where it cannot; `unit` says from what."""

    key: str
    unit: str | None = None
    convert: Callable[[str], float] | None = None


def _from_milliseconds(text: str) -> float:
    return float(text) / 1000


def _from_rate(text: str) -> float:
    rate = float(text)
    if not 0 < rate < inf:
        raise ValueError
    return 1 / rate


_MILLISECONDS: Final = ("milliseconds", _from_milliseconds)

SEEDS: Final[dict[str, Seed]] = {
    "PAGE_FETCHER_REDIS_URL": Seed("redis_url"),
    "PAGE_FETCHER_KAFKA_BOOTSTRAP_SERVERS": Seed("kafka_servers"),
    "PAGE_FETCHER_INPUT_QUEUE": Seed("input_queue"),
    "PAGE_FETCHER_DLQ_QUEUE": Seed("dlq_queue"),
    "PAGE_FETCHER_WEBPAGE_LOG_TOPIC": Seed("webpage_topic"),
    "PAGE_FETCHER_REQUEST_TIMEOUT_SECONDS": Seed("timeout"),
    "PAGE_FETCHER_MAX_RETRIES": Seed("max_retries"),
    "PAGE_FETCHER_RETRY_BACKOFF_BASE_SECONDS": Seed("retry_backoff"),
    "PAGE_FETCHER_USER_AGENT": Seed("user_agent"),
    "PAGE_FETCHER_MAX_REDIRECTS": Seed("max_redirects"),
    "PAGE_FETCHER_CACHE_TTL_SECONDS": Seed("cache_ttl"),
    "PAGE_FETCHER_RATE_LIMIT_PER_SECOND": Seed("delay", "requests a second, more than 0", _from_rate),
    "PAGE_FETCHER_ROBOTS_TXT_CACHE_TTL_SECONDS": Seed("robots_ttl"),
    "PAGE_FETCHER_POLL_TIMEOUT_SECONDS": Seed("poll_timeout"),
    "PAGE_FETCHER_CIRCUIT_BREAKER_FAILURE_THRESHOLD": Seed("breaker_threshold"),
    "PAGE_FETCHER_CIRCUIT_BREAKER_INITIAL_BACKOFF_SECONDS": Seed("breaker_backoff"),
    "PAGE_FETCHER_CIRCUIT_BREAKER_MAX_BACKOFF_SECONDS": Seed("breaker_max_backoff"),
    "PAGE_FETCHER_CIRCUIT_BREAKER_BACKOFF_MULTIPLIER": Seed("breaker_multiplier"),
    "CRAWLER_SCHEDULER_MAX_QUEUE_SIZE": Seed("max_queue_size"),
    "PAGE_FETCH_MAX_REDIRECTS": Seed("max_redirects"),
    "PAGE_FETCH_TIMEOUT": Seed("timeout", *_MILLISECONDS),
    "PAGE_FETCH_RETRY_ATTEMPTS": Seed("max_retries"),
    "PAGE_FETCH_RETRY_BACKOFF": Seed("retry_backoff", *_MILLISECONDS),
    "PAGE_FETCH_USER_AGENT": Seed("user_agent"),
    "PAGE_FETCH_RESPECT_ROBOTS": Seed("respect_robots"),
    "CRAWLER_FOLLOW_REDIRECTS": Seed("follow_redirects"),
    "CRAWLER_MAX_REDIRECTS": Seed("max_redirects"),
    "FETCHER_FOLLOW_REDIRECTS": Seed("follow_redirects"),
    "FETCHER_MAX_REDIRECTS": Seed("max_redirects"),
}

IGNORED: Final[dict[str, str]] = {
    # H4-11: the one site whose root was probed.
    "PAGE_FETCHER_CRAWL_DOMAIN": "every site has its own breaker and is probed by itself",
}
"""Accepted without effect, and why."""

PREFIXES: Final = ("PAGE_FETCHER_", "PAGE_FETCH_")
"""Under these, a name that is not in the tables above is taken for a mistake."""
