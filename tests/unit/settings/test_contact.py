"""Who do we say we are, and when must we? (DESIGN 2.8)"""

import pytest

from outrider.errors import ConfigError
from outrider.model.url import Url
from outrider.settings import is_loopback, require_contact, settings_of


@pytest.mark.parametrize(
    ("keys", "agent"),
    [
        ({"user_agent": "bot/1"}, "bot/1"),
        ({"user_agent": "bot/1", "contact": "https://example.org/bot"}, "bot/1 (+https://example.org/bot)"),
        ({"user_agent": "bot/1", "contact": "me@example.org"}, "bot/1 (+me@example.org)"),
        (
            {"user_agent": "bot/1 (+https://example.org/bot)", "contact": "https://example.org/bot"},
            "bot/1 (+https://example.org/bot)",
        ),
    ],
)
def test_the_user_agent_carries_the_contact_once(keys: dict[str, object], agent: str) -> None:
    assert settings_of(**keys).agent == agent


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        ("OttoBot/1.0", "OttoBot"),
        ("AEO-Audit-Bot/1.0", "AEO-Audit-Bot"),
        ("outrider", "outrider"),
        ("bot (+https://example.org)", "bot"),
        ("Mozilla/5.0 (compatible; OttoBot/1.0; +https://example.org)", "OttoBot"),
    ],
)
def test_robots_txt_is_asked_about_the_product_name(user_agent: str, token: str) -> None:
    assert settings_of(user_agent=user_agent).agent_token == token


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000/",
        "http://localhost./",
        "http://shop.localhost/",
        "http://127.0.0.1/",
        "http://127.8.9.1:1/",
        "http://0x7f.1/",
        "http://[::1]:8080/",
    ],
)
def test_this_machine_may_be_crawled_without_a_contact(url: str) -> None:
    require_contact(settings_of(), [Url(url)])

    assert is_loopback(Url(url))
    assert settings_of().contact is None


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "http://10.0.0.1/",
        "http://[::2]/",
        "http://127.example.org/",
        "http://localhost.example.org/",
        "http://notlocalhost/",
        "http://[::ffff:7f00:1]/",
    ],
)
def test_beyond_this_machine_a_contact_is_needed(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        require_contact(settings_of(), [Url("http://localhost/"), Url(url)])

    assert Url(url).host in str(caught.value)
    assert "say how (--contact you@example.org" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "keys",
    [
        {"contact": "mailto:me@example.org"},
        {"contact": "https://example.org/bot"},
        {"user_agent": "bot/1 (me@example.org)"},
        {"user_agent": "bot/1 (+https://example.org)"},
    ],
)
def test_a_contact_may_stand_in_the_user_agent(keys: dict[str, object]) -> None:
    require_contact(settings_of(**keys), [Url("http://example.org/")])

    assert "example.org" in settings_of(**keys).agent
