"""A place goes out as text and comes back as it was; nothing else comes back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.msgpack import Decoder

from outrider.errors import ConfigError
from outrider.stores.bookmark import Bookmarks

Place = tuple[str, int, float]
decoder: Decoder[Place] = Decoder(Place)
MINE = Bookmarks("mine", decoder, 7)
PLACE: Place = ("a.org", -3, 0.1)


@given(st.text(st.characters(codec="utf-8")), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(0, 1e12))
def test_a_place_comes_back_as_it_went_out(name: str, number: int, due: float) -> None:
    text = MINE.write((name, number, due))

    assert MINE.read(text) == (name, number, due)
    assert all(char.isalnum() or char in "-_" for char in text), "it may stand in a URL as it is"


@given(st.text())
def test_what_was_never_written_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not where a page of this store ended"):
        MINE.read(text)


@given(st.integers(0, 200), st.characters(codec="ascii"))
def test_a_place_that_was_changed_is_refused(at: int, char: str) -> None:
    text = MINE.write(PLACE)
    changed = text[: at % len(text)] + char + text[at % len(text) + 1 :]

    if changed != text:
        with pytest.raises(ConfigError):
            MINE.read(changed)


@pytest.mark.parametrize("other", [Bookmarks("another", decoder, 7), Bookmarks("mine", decoder, 8)])
def test_a_place_in_another_store_is_refused(other: Bookmarks[Place]) -> None:
    with pytest.raises(ConfigError):
        MINE.read(other.write(PLACE))
