"""What forked workers need is there before they are forked."""

import subprocess
import sys
from typing import Final

import pytest

from outrider.app.workers import Places, load_backends

LOADED: Final = """
import sys
from outrider.app.workers import Places, load_backends
load_backends(Places("sqlite:///a.db", "sqlite:///a.db", "warc:///a", "file:///a"))
print(*sorted(name for name in sys.modules if name.startswith("outrider.stores.")))
"""


def test_the_backends_of_all_places_are_imported() -> None:
    loaded = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True).stdout.split()

    assert {
        "outrider.stores.sqlite.frontier",
        "outrider.stores.sqlite.records",
        "outrider.stores.warc.contents",
        "outrider.stores.files.events",
    } <= set(loaded)


@pytest.mark.parametrize("url", ["mongo://h/x", "redis://h:port/", "nothing", "postgres://h/x?nosuch=1"])
def test_what_is_wrong_with_a_place_is_told_later(url: str) -> None:
    """By whoever opens it, who can say more."""
    load_backends(Places(url, url, url, url))
