"""Where is everything? What is named wins; what is not is in the service's own Redis and Kafka."""

import pytest

from outrider.app.service import refuse_limits, service_places
from outrider.errors import ConfigError
from outrider.settings import load, settings_of


def places(**flags: object) -> tuple[str, str, str, str, str]:
    where = service_places(load({"profile": "service", **flags}, environment={}))
    assert where.stores.letters == where.queue
    return where.stores.frontier, where.queue, where.stores.contents, where.stores.events, where.stores.records


def test_without_a_word_it_is_this_machine() -> None:
    """S4-37, S4-38, S4-40."""
    assert places() == (
        "redis://localhost:6379",
        "redis://localhost:6379",
        "redis://localhost:6379?ttl=3600",
        "kafka://localhost:9092/webpage_log?failures=webpage_failures",
        "none:",
    )


def test_one_redis_and_one_kafka_are_enough_to_name() -> None:
    named = places(redis_url="redis://r/1", kafka_servers="k:1,l:2", webpage_topic="pages", cache_ttl=60)

    assert named[:4] == (
        "redis://r/1",
        "redis://r/1",
        "redis://r/1?ttl=60",
        "kafka://k:1,l:2/pages?failures=webpage_failures",
    )


@pytest.mark.parametrize(
    ("flags", "queue"),
    [
        ({"frontier": "redis://f/2?buckets=4"}, "redis://f/2"),
        ({"frontier": "redis+cluster://f:1"}, "redis+cluster://f:1"),
        ({"frontier": "redis+files://f/2?files=/x"}, "redis://f/2"),
        ({"frontier": "postgresql://p/x", "contents": "redis://c/3?ttl=5"}, "redis://c/3"),
        ({"frontier": "postgresql://p/x", "contents": "none:"}, "redis://localhost:6379"),
        ({"frontier": "redis://f/2", "redis_url": "redis://r/9"}, "redis://r/9"),
    ],
)
def test_the_queue_is_in_the_redis_that_was_named_nearest(flags: dict[str, object], queue: str) -> None:
    assert places(**flags)[1] == queue


def test_an_option_of_a_place_wins_over_the_setting() -> None:
    named = places(contents="redis://c/3?prefix=p&ttl=5", events="kafka://k:1/t?failures=f", cache_ttl=60)

    assert named[2:4] == ("redis://c/3?prefix=p&ttl=5", "kafka://k:1/t?failures=f")


@pytest.mark.parametrize(("key", "value"), [("max_pages", 10), ("size_limit", 1_000_000), ("time_limit", 60)])
def test_what_ends_a_crawl_means_nothing_to_a_service(key: str, value: int) -> None:
    with pytest.raises(ConfigError, match=f"{key} = .*a service has no end"):
        refuse_limits(settings_of(profile="service", **{key: value}))
