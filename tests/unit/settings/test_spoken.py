"""Settings told to another process: what it makes of them is the same, secrets included."""

import json
import re

import pytest

from outrider.settings import Settings, settings_of
from outrider.settings.describe import plain, shown, spoken
from outrider.settings.profiles import PROFILES

EVERYTHING = {
    "contact": "https://us.test/bot",
    "proxy": "http://user:s3cret@proxy.test:3128",
    "redis_url": "redis://:hunter2@cache.test:6379/1",
    "frontier": "postgresql://me:pa55@db.test/crawl",
    "hosts": {"*.test": ["127.0.0.1", "::1"], "a.test": "127.0.0.2"},
    "recrawl": True,
    "recrawl_sites": {"example.org": 3_600},
    "include": ["a{1,3}", "b,c"],
    "exclude": [r"\?page=\d+"],
    "allow_private": "127.0.0.0/8, ::1/128",
    "allow_ports": "80,8080",
    "skip_patterns": "/a,/b/*",
    "breaker_ladder": "1,2.5,9",
    "max_memory": "512MiB",
    "size_limit": "1.5G",
    "workers": 3,
    "time_limit": 60.5,
    "max_pages": 10,
}


def retold(settings: Settings) -> Settings:
    """Over a wire that knows only JSON."""
    return settings_of(**json.loads(json.dumps(spoken(settings))))


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_is_understood_by_the_other_side(profile: str) -> None:
    settings = settings_of(profile=profile)

    assert retold(settings) == settings


def test_everything_that_can_be_set_arrives_with_its_secrets() -> None:
    settings = settings_of(**EVERYTHING)

    other = retold(settings)

    assert other == settings
    assert (other.proxy, other.redis_url) == (EVERYTHING["proxy"], EVERYTHING["redis_url"])
    assert other.include == (re.compile("a{1,3}"), re.compile("b,c"))


@pytest.mark.parametrize("profile", PROFILES)
def test_a_value_that_was_taken_back_stays_so_whatever_the_profile_says(profile: str) -> None:
    """`site_quota=none` is a choice where the profile has a quota."""
    none = {"site_quota": "none", "give_up_after": "never", "give_up_probes": "never", "workers": "auto"}
    settings = settings_of(profile=profile, **none)

    other = retold(settings)

    assert (other.site_quota, other.give_up_after, other.give_up_probes) == (None, None, None)
    assert other == settings


def test_people_never_see_the_secrets() -> None:
    settings = settings_of(**EVERYTHING)

    for key in Settings.model_fields:
        told = f"{shown(key, getattr(settings, key))} {plain(getattr(settings, key))}"
        assert not re.search("s3cret|hunter2|pa55", told)
