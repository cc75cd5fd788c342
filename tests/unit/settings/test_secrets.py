"""What must never be printed?"""

import pytest

from outrider.settings import settings_of
from outrider.settings.describe import plain, shown
from outrider.settings.secrets import masked


@pytest.mark.parametrize(
    ("text", "shown_as"),
    [
        ("redis://:hunter2@h:1/2", "redis://:***@h:1/2"),
        ("redis://user:hunter2@h", "redis://user:***@h"),
        ("redis://u:p@ss/w:rd with blanks@h/0", "redis://u:***@h/0"),
        ("postgresql://h/db?user=a&password=hunter2&x=1", "postgresql://h/db?user=a&password=***&x=1"),
        ("see http://a:b@c for more", "see http://a:***@c for more"),
        ("https://example.org:8080/@me", "https://example.org:8080/@me"),
        ("https://example.org/", "https://example.org/"),
        ("me@example.org", "me@example.org"),
    ],
)
def test_the_password_of_a_url_is_masked_and_nothing_else(text: str, shown_as: str) -> None:
    assert masked(text) == shown_as


def test_neither_repr_nor_show_nor_json_tells_a_password() -> None:
    """S2-40."""
    settings = settings_of(redis_url="redis://:hunter2@h", proxy="http://u:hunter2@h")

    told = [repr(settings), str(settings), shown("redis_url", settings.redis_url), str(plain(settings.proxy))]

    assert not any("hunter2" in text for text in told)
    assert settings.redis_url == "redis://:hunter2@h"
