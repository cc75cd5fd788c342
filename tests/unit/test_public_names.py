"""The public names are few, pinned, and all importable."""

import subprocess
import sys

import pytest

import outrider

PINNED = """
Client Confidence ConfigError Evidence Failed Failure Fetch Fetched InvalidUrl Moved NotModified Outcome OutriderError
Page Reason Skipped Url Validators __version__ Crawl CrawlResult CrawledPage crawl
"""


def test_the_public_names_are_pinned() -> None:
    assert sorted(outrider.__all__) == sorted(PINNED.split())


def test_every_public_name_is_there_and_no_other() -> None:
    for name in outrider.__all__:
        assert getattr(outrider, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = outrider.Nothing


def test_importing_the_package_loads_no_http_client() -> None:
    code = "import sys, outrider; print([name for name in ('pycurl', 'pydantic', 'aiodns') if name in sys.modules])"

    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert run.stdout.strip() == "[]"
