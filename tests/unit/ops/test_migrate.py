"""Lines of the older layouts are read as they were meant."""

import pytest

from outrider.ops.migrate import split_line


@pytest.mark.parametrize(
    ("line", "url", "depth"),
    [
        ("http://example.com/|3", "http://example.com/", 3),
        ("http://example.com/a|b|0", "http://example.com/a|b", 0),
        ("http://example.com/a|b", "http://example.com/a|b", 0),
        ("http://example.com/", "http://example.com/", 0),
        ("http://example.com/|", "http://example.com/|", 0),
        ("http://example.com/|²", "http://example.com/|²", 0),
    ],
)
def test_the_depth_is_what_follows_the_last_bar(line: str, url: str, depth: int) -> None:
    """S2-2, H2-18."""
    assert split_line(line) == (url, depth)
