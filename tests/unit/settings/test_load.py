"""Where does each value come from, and what is said when it does not fit? (DESIGN 2.7)"""

import pickle
from pathlib import Path

import pytest

from outrider.errors import ConfigError
from outrider.settings import Settings, load, settings_of


def problem(**keys: object) -> str:
    with pytest.raises(ConfigError) as caught:
        settings_of(**keys)
    return str(caught.value)


def test_flags_beat_environment_beats_file_beats_profile_beats_default(tmp_path: Path) -> None:
    file = tmp_path / "outrider.toml"
    file.write_text('profile = "broad"\nburst = 3\ntimeout = 11\ndns_timeout = 4\n')
    environment = {"OUTRIDER_TIMEOUT": "12", "OUTRIDER_DNS_TIMEOUT": "6"}

    settings, provenance = load({"dns_timeout": "7"}, file=file, environment=environment)

    assert (settings.dns_timeout, provenance["dns_timeout"]) == (7.0, "flag")
    assert (settings.timeout, provenance["timeout"]) == (12.0, "environment OUTRIDER_TIMEOUT")
    assert (settings.burst, provenance["burst"]) == (3, f"file {file} line 2")
    assert (settings.delay, provenance["delay"]) == (70.0, "profile broad")
    assert (settings.max_redirects, provenance["max_redirects"]) == (5, "default")


@pytest.mark.parametrize("source", ["flag", "environment", "file"])
def test_a_profile_may_be_chosen_in_every_source(source: str, tmp_path: Path) -> None:
    file = tmp_path / "some.toml"
    file.write_text('profile = "audit"' if source == "file" else "")
    environment = {"OUTRIDER_PROFILE": "audit"} if source == "environment" else {}
    flags = {"profile": "audit"} if source == "flag" else {}

    settings, provenance = load(flags, file=file, environment=environment)

    assert settings.max_redirects == 10
    assert provenance["profile"].startswith(source)
    assert provenance["max_redirects"] == "profile audit"


def test_what_is_given_beats_the_profile_even_when_it_is_the_default() -> None:
    settings, provenance = load({"profile": "audit", "max_redirects": 5}, environment={})

    assert settings.max_redirects == 5
    assert provenance["max_redirects"] == "flag"


def test_every_key_has_a_source_in_the_order_of_the_sections() -> None:
    settings, provenance = load(environment={})

    assert list(provenance) == list(Settings.model_fields)
    assert set(provenance.values()) == {"default"}
    assert settings == Settings()


def test_outrider_toml_of_the_working_directory_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outrider.toml").write_text("delay = 9\n")
    monkeypatch.chdir(tmp_path)

    settings, provenance = load(environment={})

    assert settings.delay == 9
    assert provenance["delay"] == "file outrider.toml line 1"


def test_settings_are_frozen_and_travel_to_other_processes() -> None:
    settings = settings_of(include=["^https://"], allow_private="10.0.0.0/8")

    with pytest.raises(ValueError, match="frozen"):
        settings.delay = 0.0
    assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301 - our own bytes of a line before


def test_a_problem_names_key_value_source_and_what_was_expected() -> None:
    with pytest.raises(ConfigError) as caught:
        load(environment={"OUTRIDER_DELAY": "fast"})

    assert (
        str(caught.value)
        == "delay = 'fast' (environment OUTRIDER_DELAY): expected seconds or a time like 10m, 1h30m, 0 or more"
    )


def test_an_unknown_key_is_an_error_with_a_suggestion() -> None:
    assert problem(dellay=2) == "dellay = 2 (flag): no such key; did you mean delay?"


def test_an_unknown_key_unlike_any_other_says_where_the_list_is() -> None:
    assert "outrider config show lists them all" in problem(zzz=1)


def test_a_wrong_choice_is_an_error_with_a_suggestion() -> None:
    assert problem(robots_unreachable="alow").endswith("expected one of defer, allow, deny; did you mean allow?")


def test_several_problems_are_told_at_once_one_a_line() -> None:
    text = problem(dellay=1, timeout=0, scope="moon", allow_ports=[0, 70_000])

    assert text.splitlines() == [
        "4 problems with the settings:",
        "  dellay = 1 (flag): no such key; did you mean delay?",
        "  timeout = 0 (flag): expected seconds or a time like 10m, 1h30m, more than 0",
        "  scope = 'moon' (flag): expected one of page, prefix, host, domain, any",
        "  allow_ports = [0, 70000] (flag): expected a list of ports, 1 to 65535",
    ]


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        (
            {"breaker_backoff": 600},
            "breaker_backoff = 600 (flag) is longer than breaker_max_backoff = 300 (default)",
        ),
        ({"recrawl_min": 9e6}, "recrawl_min = 9000000 (flag) is longer than recrawl_max = 2592000 (default)"),
        ({"recrawl_first": 60}, "recrawl_first = 60 (flag) is shorter than recrawl_min = 3600 (default)"),
        ({"recrawl_first": 9e6}, "recrawl_first = 9000000 (flag) is longer than recrawl_max = 2592000 (default)"),
        ({"burst": 2, "delay": 0}, "burst = 2 (flag) means nothing with delay = 0 (flag)"),
        ({"delay": 301}, "delay = 301 (flag) is longer than slowest = 300 (default)"),
        ({"site_concurrency": 21, "profile": "audit"}, "is more than concurrency = 20 (profile audit)"),
        ({"retry_backoff": 31}, "retry_backoff = 31 (flag) is longer than retry_wait_cap = 30 (default)"),
        ({"revisit_backoff": 86_400}, "revisit_backoff = 86400 (flag) is longer than revisit_cap = 21600 (default)"),
    ],
)
def test_keys_that_contradict_each_other_are_an_error(keys: dict[str, object], sentence: str) -> None:
    assert sentence in problem(**keys)


@pytest.mark.parametrize(
    "keys",
    [
        {"follow_redirects": False, "max_redirects": 7},
        {"delay": 0},
        {"timeout": 3},
        {"retry_backoff": 60, "max_retries": 0},
        {"max_decoded": "1MiB"},
        {"breaker_ladder": [30, 60, 120, 300], "breaker_backoff": 600},
    ],
)
def test_what_is_merely_unusual_is_not_a_contradiction(keys: dict[str, object]) -> None:
    settings = settings_of(**keys)

    assert all(getattr(settings, key) != getattr(settings_of(), key) for key in keys)


def test_no_error_prints_a_password() -> None:
    for value in ("http://u:hunter2@h", "redis://:hunter2 with blank@", "http://:hun@ter2@h", "x://h?password=hunter2"):
        text = problem(redis_url=value, kafka_servers=value, proxy=f"ftp{value}", insecure_hosts=[value])

        assert "ter2" not in text
        assert "***" in text


def test_an_unknown_key_that_sounds_like_a_secret_hides_its_value() -> None:
    """S2-40: the password is part of `redis_url`."""
    assert problem(redis_password="hunter2").startswith("redis_password = *** (flag): no such key")


def test_a_long_value_is_cut_and_a_strange_name_is_escaped() -> None:
    text = problem(**{"a\nb": "x" * 500})

    assert "\n" not in text
    assert len(text) < 200


def test_a_command_may_start_from_another_profile_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "outrider.toml"
    file.write_text('profile = "audit"\n')

    usual = load(environment={}, usual_profile="service")
    named = load(environment={"OUTRIDER_PROFILE": "broad"}, usual_profile="service")
    written = load(file=file, environment={}, usual_profile="service")

    assert (usual.settings.profile, usual.provenance["follow_links"]) == ("service", "profile service")
    assert (named.settings.profile, written.settings.profile) == ("broad", "audit")
