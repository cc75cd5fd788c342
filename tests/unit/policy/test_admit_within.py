"""Where nobody named seeds, the scope is measured from the page on which a link stands."""

import pytest

from outrider.model.url import Url
from outrider.policy.admit import Reach, admit_rules, refusal, within

PAGE = Url("https://www.example.org/news/today.html")


@pytest.mark.parametrize(
    ("reach", "inside", "outside"),
    [
        (Reach.PAGE, "https://www.example.org/news/today.html", "https://www.example.org/news/"),
        (Reach.PREFIX, "https://www.example.org/news/old.html", "https://www.example.org/sport/"),
        (Reach.HOST, "https://www.example.org/sport/", "https://shop.example.org/"),
        (Reach.DOMAIN, "https://shop.example.org/", "https://example.com/"),
    ],
)
def test_a_link_is_judged_from_its_page(reach: Reach, inside: str, outside: str) -> None:
    rules = within(admit_rules(reach=reach), PAGE)

    assert refusal(Url(inside), 0, rules) is None
    assert refusal(Url(outside), 0, rules) is not None


def test_anywhere_is_anywhere() -> None:
    rules = admit_rules(reach=Reach.ANY)

    assert within(rules, PAGE) is rules
