"""What a page says is plain: no text from the web turns into markup, and no state is told by a colour alone."""

from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.model.ledger import State
from outrider.model.record import PageStatus
from outrider.model.robots import RobotsStatus
from outrider.model.site import BreakerState
from outrider.ops.story import Prospect
from outrider.web.phrases import CHIPS, ago, chip, grouped, link, shown, when
from outrider.web.shapes import SiteState


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_no_text_becomes_markup_or_hides_something(text: str) -> None:
    told = shown(text)

    bare = str(told).replace('<span class="escape">', "").replace("</span>", "")
    assert "<" not in bare
    assert ">" not in bare
    assert told.isprintable()
    told.encode()


def test_a_character_that_turns_the_direction_of_writing_is_spelled_out() -> None:
    assert shown("a\u202eb") == 'a<span class="escape">\\u202e</span>b'
    assert shown("a\x00\nb") == 'a<span class="escape">\\x00</span><span class="escape">\\n</span>b'


def test_a_password_in_a_text_is_not_shown() -> None:
    assert shown("redis://me:secret@host/") == "redis://me:***@host/"


@pytest.mark.parametrize("kind", [State, PageStatus, SiteState, BreakerState, RobotsStatus, Prospect])
def test_every_state_has_a_mark_and_a_word(kind: type[StrEnum]) -> None:
    names = {str(one) for one in kind}

    assert names <= CHIPS.keys()
    assert all(mark and word for name in names for _, mark, word in [CHIPS[name]])


def test_states_that_look_alike_differ_in_mark_or_word() -> None:
    assert len(set(CHIPS.values())) >= len(CHIPS) - 2


def test_a_state_of_a_later_version_is_told_by_its_name() -> None:
    assert "brand new" in chip("brand_new")
    assert "&lt;b&gt;" in chip("<b>")


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (100.0, "now"),
        (99.6, "now"),
        (88.0, "12 s ago"),
        (-140.0, "4 min ago"),
        (107.4, "in 7 s"),
        (100.0 + 3 * 86_400, "in 3 d"),
        (100.0 - 2 * 3_600, "2 h ago"),
    ],
)
def test_a_moment_is_told_by_its_distance(at: float, words: str) -> None:
    assert ago(at, 100.0) == words


def test_the_moment_itself_is_there_for_people_and_programs() -> None:
    told = when(1_700_000_000.0, 1_700_000_060.0)

    assert told == ('<time datetime="2023-11-14T22:13:20.000Z" title="2023-11-14 22:13:20 UTC">1 min ago</time>')


@pytest.mark.parametrize("at", [None, float("inf"), float("nan"), 1e30])
def test_a_moment_that_is_none_is_no_error(at: float | None) -> None:
    assert when(at, 0.0, "never") == "never"


def test_thousands_are_parted_by_a_thin_space_that_no_line_breaks_at() -> None:
    assert grouped(1_234_567) == "1\u202f234\u202f567"


def test_a_place_carries_its_filters_and_nothing_that_is_empty() -> None:
    assert link("/frontier", reason="http_404", site="", text=None) == "/frontier?reason=http_404"
    assert link("/url", url="http://a/?b=c&d") == "/url?url=http%3A%2F%2Fa%2F%3Fb%3Dc%26d"
