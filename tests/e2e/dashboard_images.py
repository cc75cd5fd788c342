"""Takes the pictures of the dashboard that the documentation shows: the demo, while it runs and when it is over.

./scripts/screenshots
"""

import sys
import tempfile
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Final
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize
from tests.e2e.dashboards import PATIENCE, address_of, running
from tests.services.chromium import chromium

WIDE: Final = ViewportSize(width=1280, height=960)
TALL: Final = ViewportSize(width=1280, height=1010)
_COLOURS: Final = 192
PHONE: Final = ViewportSize(width=360, height=760)
_ENOUGH: Final = 1_200
"""Pages that the demo has fetched when its picture is taken: about half of them."""


def main(into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, running("demo", "-d", "demo", "--json", folder=Path(name)) as demo:
        where = Path(name) / "demo"
        _wait(lambda: (where / "outrider.toml").exists() and (where / "crawl.db").exists())
        with (
            running("serve", "demo", "--listen", "127.0.0.1:0", folder=Path(name)) as serving,
            chromium() as browser,
        ):
            url = address_of(serving)
            page, dark = _opened(browser, url), _opened(browser, url, dark=True)
            phone = _opened(browser, url, dark=True, size=PHONE)
            page.goto("/")
            page.wait_for_function(
                "n => Number(document.getElementById('figure-pages').innerText.replace(/\\D/g, '')) > n", arg=_ENOUGH
            )
            _shoot(page, into, "overview")
            phone.goto("/")
            _shoot(phone, into, "phone")
            dark.goto("/sites")
            _shoot(dark, into, "sites")
            demo.wait(PATIENCE * 3)
            page.goto("/frontier?reason=too_many_redirects&text=/c/six")
            longest = page.locator("tbody th .url").first.inner_text()
            page.goto(f"/url?url={quote(longest, safe='')}")
            page.set_viewport_size(TALL)
            _shoot(page, into, "story")
            page.set_viewport_size(WIDE)
            page.goto("/letters")
            _shoot(page, into, "letters")


def _opened(browser: Browser, url: str, *, dark: bool = False, size: ViewportSize = WIDE) -> Page:
    context = browser.new_context(base_url=url, viewport=size, color_scheme="dark" if dark else "light")
    context.set_default_timeout(PATIENCE * 1_000)
    return context.new_page()


def _shoot(page: Page, into: Path, name: str) -> None:
    path = into / f"dashboard-{name}.png"
    picture = Image.open(BytesIO(page.screenshot(animations="disabled")))
    # A page has few colours: so many are enough, and take a third of the room.
    picture.convert("RGB").quantize(_COLOURS).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size:,} bytes")


def _wait(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError("the demo did not begin")
        time.sleep(0.1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
