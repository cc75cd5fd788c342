"""What do file and environment hold? (S0-4, S1-2 to S1-7, S4-36 to S4-41, H0-1, H0-3)"""

from pathlib import Path

import pytest

from outrider.errors import ConfigError
from outrider.settings import Settings, load
from outrider.settings.describe import shown
from outrider.settings.seeds import SEEDS


def of_environment(**variables: str) -> Settings:
    return load(environment=variables).settings


def problem_of_environment(**variables: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(environment=variables)
    return str(caught.value)


def problem_of_file(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(file=path, environment={})
    return str(caught.value)


# --- environment ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("CRAWLER_FOLLOW_REDIRECTS", "false", "follow_redirects", False),  # S0-2, S0-4
        ("CRAWLER_MAX_REDIRECTS", "7", "max_redirects", 7),  # S0-3, S0-4
        ("FETCHER_FOLLOW_REDIRECTS", "0", "follow_redirects", False),  # H0-3
        ("FETCHER_MAX_REDIRECTS", "8", "max_redirects", 8),  # H0-3
        ("PAGE_FETCH_MAX_REDIRECTS", "11", "max_redirects", 11),  # S1-2
        ("PAGE_FETCH_TIMEOUT", "45000", "timeout", 45.0),  # S1-3, milliseconds
        ("PAGE_FETCH_RETRY_ATTEMPTS", "2", "max_retries", 2),  # S1-4
        ("PAGE_FETCH_RETRY_BACKOFF", "500", "retry_backoff", 0.5),  # S1-5, milliseconds
        ("PAGE_FETCH_USER_AGENT", "Other/2", "user_agent", "Other/2"),  # S1-6
        ("PAGE_FETCH_RESPECT_ROBOTS", "false", "respect_robots", False),  # S1-7
        ("PAGE_FETCHER_REDIS_URL", "redis://r:1/2", "redis_url", "redis://r:1/2"),  # S4-37
        ("PAGE_FETCHER_KAFKA_BOOTSTRAP_SERVERS", "a:1,b:2", "kafka_servers", "a:1,b:2"),  # S4-37
        ("PAGE_FETCHER_INPUT_QUEUE", "in", "input_queue", "in"),  # S4-38
        ("PAGE_FETCHER_DLQ_QUEUE", "dead", "dlq_queue", "dead"),  # S4-38
        ("PAGE_FETCHER_WEBPAGE_LOG_TOPIC", "log", "webpage_topic", "log"),  # S4-38
        ("PAGE_FETCHER_REQUEST_TIMEOUT_SECONDS", "31", "timeout", 31.0),  # S4-39
        ("PAGE_FETCHER_MAX_RETRIES", "4", "max_retries", 4),  # S4-39
        ("PAGE_FETCHER_RETRY_BACKOFF_BASE_SECONDS", "3", "retry_backoff", 3.0),  # S4-39
        ("PAGE_FETCHER_USER_AGENT", "Mine/1", "user_agent", "Mine/1"),  # S4-39
        ("PAGE_FETCHER_MAX_REDIRECTS", "6", "max_redirects", 6),  # S4-39
        ("PAGE_FETCHER_CACHE_TTL_SECONDS", "60", "cache_ttl", 60.0),  # S4-40
        ("PAGE_FETCHER_RATE_LIMIT_PER_SECOND", "4", "delay", 0.25),  # S4-40
        ("PAGE_FETCHER_ROBOTS_TXT_CACHE_TTL_SECONDS", "600", "robots_ttl", 600.0),  # S4-40
        ("CRAWLER_SCHEDULER_MAX_QUEUE_SIZE", "50", "max_queue_size", 50),  # S4, its scheduler
        ("PAGE_FETCHER_POLL_TIMEOUT_SECONDS", "1", "poll_timeout", 1.0),  # S4-40
        ("PAGE_FETCHER_CIRCUIT_BREAKER_FAILURE_THRESHOLD", "9", "breaker_threshold", 9),  # S4-41
        ("PAGE_FETCHER_CIRCUIT_BREAKER_INITIAL_BACKOFF_SECONDS", "10", "breaker_backoff", 10.0),  # S4-41
        ("PAGE_FETCHER_CIRCUIT_BREAKER_MAX_BACKOFF_SECONDS", "900", "breaker_max_backoff", 900.0),  # S4-41
        ("PAGE_FETCHER_CIRCUIT_BREAKER_BACKOFF_MULTIPLIER", "3", "breaker_multiplier", 3.0),  # S4-41
    ],
)
def test_the_names_of_the_seeds_are_accepted(name: str, text: str, key: str, value: object) -> None:
    """S0-2 to S0-4, S1-2 to S1-7, S4-36 to S4-41, H0-3."""
    settings, provenance = load(environment={name: text})

    assert getattr(settings, key) == value
    assert provenance[key] == f"environment {name}"


def test_the_table_above_leaves_out_no_name() -> None:
    names = {mark.args[1][place][0] for mark in _marks() for place in range(len(mark.args[1]))}

    assert names == set(SEEDS)


def _marks() -> list[pytest.Mark]:
    return list(getattr(test_the_names_of_the_seeds_are_accepted, "pytestmark", []))


def test_every_key_has_a_variable() -> None:
    for key in Settings.model_fields:
        name = f"OUTRIDER_{key.upper()}"

        settings, provenance = load(environment={name: shown(key, getattr(Settings(), key))})

        assert settings == Settings()
        assert provenance[key] == f"environment {name}"


def test_our_own_name_wins_over_a_seeds() -> None:
    settings, provenance = load(environment={"PAGE_FETCH_TIMEOUT": "nonsense", "OUTRIDER_TIMEOUT": "3"})

    assert settings.timeout == 3
    assert provenance["timeout"] == "environment OUTRIDER_TIMEOUT"


def test_two_seeds_that_disagree_are_an_error_and_two_that_agree_are_not() -> None:
    agreed = of_environment(PAGE_FETCH_TIMEOUT="31000", PAGE_FETCHER_REQUEST_TIMEOUT_SECONDS="31")
    text = problem_of_environment(CRAWLER_MAX_REDIRECTS="5", FETCHER_MAX_REDIRECTS="6")

    assert agreed.timeout == 31
    assert "FETCHER_MAX_REDIRECTS) contradicts '5' (environment CRAWLER_MAX_REDIRECTS)" in text


def test_an_empty_variable_is_not_set() -> None:
    """H0-1: unset is not false."""
    settings, provenance = load(environment={"OUTRIDER_FOLLOW_REDIRECTS": "", "CRAWLER_FOLLOW_REDIRECTS": " "})

    assert settings.follow_redirects is True
    assert provenance["follow_redirects"] == "default"


def test_an_unset_switch_keeps_its_default() -> None:
    """H0-1, S0-2."""
    assert of_environment().follow_redirects is True


def test_an_unknown_variable_under_our_prefix_is_an_error_with_close_matches() -> None:
    text = problem_of_environment(OUTRIDER_DELLAY="2")

    assert text == "OUTRIDER_DELLAY = '2' (environment): no such variable; did you mean OUTRIDER_DELAY?"


def test_an_unknown_variable_under_a_seeds_prefix_is_an_error_too() -> None:
    """S4-36."""
    assert "did you mean PAGE_FETCHER_MAX_RETRIES" in problem_of_environment(PAGE_FETCHER_MAX_RETRYS="2")
    assert "did you mean PAGE_FETCH_TIMEOUT" in problem_of_environment(PAGE_FETCH_TIMEOUTS="2")


def test_an_unknown_variable_does_not_tell_its_secret() -> None:
    """S2-40."""
    assert "hunter2" not in problem_of_environment(OUTRIDER_REDIS_PASSWORD="hunter2")


def test_the_variables_of_others_are_none_of_our_business() -> None:
    assert of_environment(CRAWLER_SCHEDULER_TICK="x", FETCHER_PROXY="y", HOME="/") == Settings()


def test_the_one_variable_without_a_meaning_here_is_ignored() -> None:
    """H4-11, C4."""
    assert of_environment(PAGE_FETCHER_CRAWL_DOMAIN="example.org") == Settings()


@pytest.mark.parametrize("rate", ["0", "-1", "inf", "nan", "often", "1e-320"])
def test_a_rate_that_makes_no_delay_is_an_error(rate: str) -> None:
    text = problem_of_environment(PAGE_FETCHER_RATE_LIMIT_PER_SECOND=rate)

    assert text.startswith(f"delay = '{rate}' (environment PAGE_FETCHER_RATE_LIMIT_PER_SECOND): expected")


def test_a_converted_value_is_told_as_it_was_written() -> None:
    assert problem_of_environment(PAGE_FETCH_TIMEOUT="-5000").startswith("timeout = '-5000' (environment PAGE_FETCH_")
    assert problem_of_environment(PAGE_FETCH_TIMEOUT="5s").endswith("expected milliseconds")


# --- file -------------------------------------------------------------------------------------------------------------


def test_the_line_of_a_key_is_not_mistaken_for_one_inside_a_text(tmp_path: Path) -> None:
    file = tmp_path / "outrider.toml"
    file.write_text('# delay = 5\nskip_patterns = [\n"/a"]\ninput_queue = """\\\ndelay\\\n"""\n "delay"= 7\n')

    _, provenance = load(file=file, environment={})

    assert provenance["delay"].endswith("line 7")
    assert provenance["skip_patterns"].endswith("line 2")


def test_values_keep_their_toml_types(tmp_path: Path) -> None:
    file = tmp_path / "outrider.toml"
    file.write_text(
        'verify_tls = false\nmax_body = "2MiB"\nallow_ports = [80, 81]\nsite_quota = "none"\ngive_up_after = "never"\n'
    )

    settings = load(file=file, environment={}).settings

    assert settings.verify_tls is False
    assert settings.max_body == 2_097_152
    assert settings.allow_ports == {80, 81}
    assert settings.site_quota is None
    assert settings.give_up_after is None


def test_an_unknown_key_of_the_file_names_its_line(tmp_path: Path) -> None:
    text = problem_of_file(tmp_path / "c.toml", b"delay = 1\nmax_redirect = 3\n")

    assert text == f"max_redirect = 3 (file {tmp_path / 'c.toml'} line 2): no such key; did you mean max_redirects?"


def test_a_table_is_an_error_that_says_so(tmp_path: Path) -> None:
    text = problem_of_file(tmp_path / "c.toml", b"delay = 1\n[politeness]\nburst = 3\n")

    assert text.startswith(f"[politeness] (file {tmp_path / 'c.toml'} line 2): no such key; keys stand at the top")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"delay = 1\nburst = = 3\n", 2),
        (b"delay = 1\n\nburst = [1,\n", 3),
        (b"delay = 1\ndelay = 2\n", 2),
        (b"delay = 1\nuser_agent = '\xff'\n", 2),
    ],
)
def test_a_broken_file_is_an_error_with_its_line(content: bytes, line: int, tmp_path: Path) -> None:
    text = problem_of_file(tmp_path / "c.toml", content)

    assert text.startswith(f"{tmp_path / 'c.toml'} line {line}: the file is not ")
    assert "\n" not in text


def test_a_file_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the file cannot be read: No such file"):
        load(file=tmp_path / "none.toml", environment={})
    with pytest.raises(ConfigError, match="the file cannot be read: Is a directory"):
        load(file=tmp_path, environment={})
