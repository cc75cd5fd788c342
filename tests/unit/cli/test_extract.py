"""What `outrider extract` refuses before it reads a page; how it runs is shown with real stores."""

import pytest

from outrider.app.extract import extract_places, extract_rules
from outrider.cli import main
from outrider.cli.exit_codes import ExitCode
from outrider.policy.admit import Reach
from outrider.settings import settings_of


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--scope", "page"), "a single page leads nowhere"),
        (("--scope", "everywhere"), "everywhere"),
        (("--content", "memory:"), "from redis: alone"),
        (("--content", "ftp://x"), "no content store is named by ftp:"),
        (("--group", " "), "--group: expected a name"),
        (("--log-format", "xml"), "expected text or json"),
        (("--profile", "slow"), "slow"),
        (("--until-idle", "-1"), "--until-idle"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(
    arguments: tuple[str, str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["extract", "--frontier", "memory:", *arguments])

    assert (code, says in capsys.readouterr().err) == (ExitCode.USAGE, True)


def test_places_are_those_of_the_workers() -> None:
    """S4-37, S4-38."""
    usual = extract_places(settings_of(), "us")
    named = extract_places(
        settings_of(frontier="postgresql://db/x", contents="redis://c/1", events="kafka://a:1,b:2/pages?session=9"),
        "us",
    )
    own = extract_places(settings_of(events="kafka://a:1/pages?group=them"), "us")

    assert (usual.frontier, usual.contents) == ("redis://localhost:6379", "redis://localhost:6379")
    assert usual.events == "kafka://localhost:9092/webpage_log?group=us"
    assert (named.frontier, named.contents) == ("postgresql://db/x", "redis://c/1")
    assert named.events == "kafka://a:1,b:2/pages?session=9&group=us"
    assert own.events == "kafka://a:1/pages?group=them"


def test_following_links_is_what_it_is_for_whatever_the_workers_do() -> None:
    rules = extract_rules(settings_of(profile="service", scope="prefix"))

    assert (rules.follow, rules.feeds, rules.from_page) == (True, True, True)
    assert (rules.admit.reach, rules.listing.reach) == (Reach.PREFIX, Reach.HOST)
