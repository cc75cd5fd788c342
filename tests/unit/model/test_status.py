"""What does a status say?"""

import pytest

from outrider.model.status import PHRASES


@pytest.mark.parametrize(
    ("code", "phrase"),
    [
        (200, "OK"),
        (404, "Not Found"),
        (413, "Content Too Large"),
        (414, "URI Too Long"),
        (416, "Range Not Satisfiable"),
        (422, "Unprocessable Content"),
        (511, "Network Authentication Required"),
    ],
)
def test_a_status_is_called_as_the_standard_calls_it_by_every_python(code: int, phrase: str) -> None:
    assert PHRASES[code] == phrase


def test_a_status_that_nobody_registered_has_no_phrase() -> None:
    assert 599 not in PHRASES
