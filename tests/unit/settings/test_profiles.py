"""What does each profile change? The values of the seeds (DESIGN 2.7)."""

import pytest

from outrider import __version__
from outrider.policy.extensions import GROUPS, NON_TEXT
from outrider.settings import Settings, settings_of
from outrider.settings.profiles import PROFILES


def test_polite_is_the_defaults() -> None:
    settings = settings_of(profile="polite")

    assert settings == Settings()
    assert settings.user_agent == f"outrider/{__version__}"
    assert settings.delay == 1.0  # C21
    assert settings.max_redirects == 5  # S0-3, C7
    assert settings.follow_redirects is True  # S0-2, H0-1
    assert settings.verify_tls is True  # C34
    assert settings.max_retries == 3  # C19
    assert settings.redirect_revisits == 1  # C8
    assert settings.redirect_rewrite == "any"  # C11
    assert settings.robots_unreachable == "defer"  # C13
    assert settings.robots_blocked == "skip"  # C14
    assert settings.site_by == "domain"  # C22
    assert settings.max_url_length == 2000  # S2-28
    assert settings.skip_extensions == NON_TEXT  # S2-16, C27


def test_service_has_the_values_of_the_page_fetcher() -> None:
    """S4-30, S4-35, S4-37 to S4-41; C1: what belongs to the site is not retried inside a visit."""
    settings = settings_of(profile="service")

    assert settings.user_agent == "OttoBot/1.0"
    assert (settings.timeout, settings.max_redirects) == (30, 5)
    assert (settings.max_retries, settings.retry_backoff) == (3, 2)
    assert (settings.network_retries, settings.gateway_retries, settings.server_error_retries) == (0, 0, 3)
    assert settings.robots_unreachable == "allow"
    assert (settings.robots_ttl, settings.cache_ttl, settings.poll_timeout) == (86_400, 3600, 5)
    assert settings.delay == 1.0
    assert (settings.breaker_threshold, settings.breaker_backoff) == (5, 30)
    assert (settings.breaker_max_backoff, settings.breaker_multiplier) == (300, 2)
    assert (settings.give_up_after, settings.give_up_probes) == (None, None)
    assert (settings.redis_url, settings.kafka_servers) == ("redis://localhost:6379", "localhost:9092")
    assert (settings.input_queue, settings.dlq_queue) == ("crawler_queue", "page_fetcher_dlq")
    assert settings.webpage_topic == "webpage_log"


def test_audit_has_the_values_of_the_page_fetch() -> None:
    """S1-2 to S1-7, S1-27, S1-28, S1-34."""
    settings = settings_of(profile="audit")

    assert settings.user_agent == "AEO-Audit-Bot/1.0"
    assert (settings.max_redirects, settings.timeout) == (10, 30)
    assert (settings.max_retries, settings.retry_backoff) == (3, 2)
    assert settings.respect_robots is True
    assert settings.concurrency == 20
    assert {"/admin", "/api/*", "/_next/*"} < set(settings.skip_patterns)
    assert len(settings.skip_patterns) == 10
    assert settings.skip_extensions == GROUPS["documents"] | GROUPS["archives"] | GROUPS["images"]


def test_broad_is_slow_to_each_site_and_wide() -> None:
    """C21."""
    settings = settings_of(profile="broad")

    assert (settings.delay, settings.slowest) == (70, 3600)
    assert (settings.concurrency, settings.site_quota) == (2000, 100_000)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_changes_only_keys_that_exist_and_holds_no_contradiction(profile: str) -> None:
    assert set(PROFILES[profile]) <= set(Settings.model_fields)
    assert settings_of(profile=profile).profile == profile
