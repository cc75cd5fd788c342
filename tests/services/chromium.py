"""A real browser for tests: the Chromium of this machine, without a window. Where it is missing, a test skips or fails.

It skips on a laptop, and fails in CI.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from playwright.sync_api import Browser, sync_playwright

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS: Final = (
    "--no-sandbox",  # tests run as root in a container, where there is none
    "--disable-dev-shm-usage",
    "--disable-gpu",
)


def require_chromium() -> str:
    binary = next((found for name in _NAMES if (found := shutil.which(name)) is not None), None)
    if binary is None:
        why = "chromium is not installed, so that nothing can be shown about the dashboard in a browser"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    return binary


@contextmanager
def chromium() -> Iterator[Browser]:
    """Nothing is downloaded: the driver is told where the browser is."""
    binary = require_chromium()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=binary, args=list(_OPTIONS))
        try:
            yield browser
        finally:
            browser.close()
