"""How long is that?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.errors import ConfigError
from outrider.settings import settings_of
from outrider.settings.durations import seconds_in


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90.0),
        ("10m", 600.0),
        ("1h30m", 5_400.0),
        ("1h 30m", 5_400.0),
        (" 1H30M ", 5_400.0),
        ("2d", 172_800.0),
        ("1.5h", 5_400.0),
        ("250ms", 0.25),
        ("1m250ms", 60.25),
        ("0s", 0.0),
    ],
)
def test_a_time_may_carry_units(text: str, seconds: float) -> None:
    assert seconds_in(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "90", "m", "-5m", "30m1h", "5m5m", "10 apples", "1h30", "10minutes", "1e3s", "5µs"]
)
def test_what_is_no_time_with_units(text: str) -> None:
    assert seconds_in(text) is None


@given(st.text(max_size=30))
def test_no_text_is_too_strange(text: str) -> None:
    seconds = seconds_in(text)

    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("time_limit", "10m", 600.0),
        ("time_limit", "never", None),
        ("time_limit", "90", 90.0),
        ("delay", "0", 0.0),
        ("delay", "500ms", 0.5),
        ("timeout", "1m", 60.0),
        ("breaker_ladder", "30s, 5m, 1h", (30.0, 300.0, 3_600.0)),
        ("recrawl_sites", "example.org=2h", {"example.org": 7_200.0}),
    ],
)
def test_every_time_among_the_settings_may(key: str, text: str, value: object) -> None:
    assert getattr(settings_of(**{key: text}), key) == value


@pytest.mark.parametrize(
    ("key", "text"), [("time_limit", "0s"), ("time_limit", "0"), ("timeout", "1 hour"), ("delay", "-1s")]
)
def test_what_is_no_time_is_told_what_would_be(key: str, text: str) -> None:
    with pytest.raises(ConfigError, match=r"expected seconds or a time like 10m, 1h30m"):
        settings_of(**{key: text})
