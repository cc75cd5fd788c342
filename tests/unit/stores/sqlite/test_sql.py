"""What is said to SQLite."""

import re
from importlib.resources import files

import pytest

_FILES = sorted(one.name for one in files("outrider.stores.sqlite").iterdir() if one.name.endswith(".sql"))


@pytest.mark.parametrize("name", _FILES)
def test_no_statement_numbers_its_values(name: str) -> None:
    """Python 3.12.0 to 3.12.3 take ?1 for a name, and warn each time (python/cpython#117995)."""
    assert re.findall(r"\?[0-9]", files("outrider.stores.sqlite").joinpath(name).read_text(encoding="utf-8")) == []
