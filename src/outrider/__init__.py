"""Outrider: a polite crawl engine. Nothing lost, every URL explained."""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from outrider.client import Client, Fetch
    from outrider.crawling import Crawl, CrawledPage, CrawlResult, crawl
    from outrider.errors import ConfigError, InvalidUrl, OutriderError
    from outrider.model.outcome import Failed, Failure, Fetched, Moved, NotModified, Outcome, Skipped, Validators
    from outrider.model.reason import Reason
    from outrider.model.record import Confidence, Evidence, Page
    from outrider.model.url import Url

_HOME = {
    "Client": "outrider.client",
    "Fetch": "outrider.client",
    "Crawl": "outrider.crawling",
    "CrawlResult": "outrider.crawling",
    "CrawledPage": "outrider.crawling",
    "crawl": "outrider.crawling",
    "ConfigError": "outrider.errors",
    "InvalidUrl": "outrider.errors",
    "OutriderError": "outrider.errors",
    "Failed": "outrider.model.outcome",
    "Failure": "outrider.model.outcome",
    "Fetched": "outrider.model.outcome",
    "Moved": "outrider.model.outcome",
    "NotModified": "outrider.model.outcome",
    "Outcome": "outrider.model.outcome",
    "Skipped": "outrider.model.outcome",
    "Validators": "outrider.model.outcome",
    "Reason": "outrider.model.reason",
    "Confidence": "outrider.model.record",
    "Evidence": "outrider.model.record",
    "Page": "outrider.model.record",
    "Url": "outrider.model.url",
}

__all__ = [
    "Client",
    "Confidence",
    "ConfigError",
    "Crawl",
    "CrawlResult",
    "CrawledPage",
    "Evidence",
    "Failed",
    "Failure",
    "Fetch",
    "Fetched",
    "InvalidUrl",
    "Moved",
    "NotModified",
    "Outcome",
    "OutriderError",
    "Page",
    "Reason",
    "Skipped",
    "Url",
    "Validators",
    "__version__",
    "crawl",
]


def __getattr__(name: str) -> object:
    """A public name is imported when it is first used, so that `outrider --help` does not load an HTTP client."""
    if name not in _HOME:
        raise AttributeError(f"module 'outrider' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only needed here

    return getattr(import_module(_HOME[name]), name)
