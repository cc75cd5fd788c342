"""The dashboard in a real browser, beside a crawl that runs: it lives, it acts, and the web cannot get at it.

Whatever a test does, no request leaves for elsewhere, no script breaks, nothing is refused by the content security
policy, and no dialog opens: the fixture `page` sees to that.
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request, ViewportSize, expect
from tests.e2e.dashboards import SCRIPT, Watched, watched
from tests.services.chromium import chromium

PATIENCE: Final = 20_000.0
PHONE: Final = ViewportSize(width=360, height=740)
DESK: Final = ViewportSize(width=1440, height=900)
PAGES: Final = (
    "/",
    "/sites",
    "/site?key=odd.test",
    "/site/exclude?key=odd.test",
    "/frontier",
    "/frontier?reason=too_many_redirects",
    "/url?url={far}",
    "/url?url={titled}",
    "/url?url=http%3A%2F%2Fnever.test%2Fseen",
    "/letters",
    "/settings",
    "/about",
)


expect.set_options(timeout=PATIENCE)  # a machine with other work on its hands is slow


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched(tmp_path_factory.mktemp("dashboard")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


class Notes:
    """What must not happen while a page of `origin` is open; `allowed` are parts of what may, in one test."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._taken: list[str] = []
        self.allowed: tuple[str, ...] = ()

    def unexpected(self) -> list[str]:
        return [note for note in self._taken if not any(part in note for part in self.allowed)]

    def of(self, page: Page) -> Page:
        page.on("request", self._asked)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self._taken.append(str(error)))
        page.on("dialog", self._opened)
        page.add_init_script(_REFUSALS)
        return page

    def _asked(self, asked: Request) -> None:
        if not asked.url.startswith(f"{self._origin}/"):
            self._taken.append(f"left for {asked.url}")

    def _said(self, said: ConsoleMessage) -> None:
        if said.type in {"error", "warning"}:
            self._taken.append(said.text)

    def _opened(self, dialog: Dialog) -> None:
        self._taken.append(f"a dialog: {dialog.message}")
        dialog.dismiss()


_REFUSALS: Final = """
window.refused = [];
document.addEventListener("securitypolicyviolation", (event) => refused.push(event.blockedURI));
"""


@pytest.fixture
def notes(crawl: Watched) -> Notes:
    return Notes(crawl.url)


@pytest.fixture
def page(browser: Browser, crawl: Watched, notes: Notes) -> Iterator[Page]:
    with browser.new_context(base_url=crawl.url, viewport=DESK) as context:
        context.set_default_timeout(PATIENCE)
        yield notes.of(context.new_page())
    assert notes.unexpected() == []


def test_numbers_move_and_what_a_reader_holds_stays(page: Page) -> None:
    page.goto("/")
    page.evaluate("window.before = true")
    pages = page.locator("#figure-pages").inner_text()
    page.get_by_label("A URL to explain").fill("http://half.typed/")

    page.wait_for_function("was => document.getElementById('figure-pages').innerText !== was", arg=pages)

    assert page.evaluate("window.before")  # the page was not loaded again
    assert page.evaluate("document.activeElement.id") == "ask"
    assert page.get_by_label("A URL to explain").input_value() == "http://half.typed/"
    expect(page.locator("#pulse")).to_contain_text("live")
    assert page.locator("#plot svg path").count() > 0
    assert "adds up" in page.locator("#ledger-live").inner_text()


def test_a_row_that_is_renewed_keeps_what_was_opened_and_typed_in_it(page: Page) -> None:
    page.goto("/sites?text=many")
    page.locator("summary").click()
    delay = page.get_by_label("Seconds between requests to many.test")
    delay.fill("7")
    fetched = page.locator("td[data-label=Fetched]").inner_text()

    page.wait_for_function("was => document.querySelector('td[data-label=Fetched]').innerText !== was", arg=fetched)

    expect(delay).to_be_visible()
    expect(delay).to_have_value("7")
    expect(delay).to_be_focused()


def test_a_filter_finds_the_urls_with_too_many_redirects_and_their_story_draws_the_chain(
    page: Page, crawl: Watched
) -> None:
    page.goto("/frontier")
    page.get_by_label("Reason").select_option("too_many_redirects")
    page.get_by_role("button", name="Filter").click()

    rows = page.locator("tbody tr")
    assert sorted(rows.locator("th .url").all_inner_texts()) == [crawl.odd("/far"), crawl.odd("/farther")]
    assert "reason=too_many_redirects" in page.url  # so it can be sent to somebody

    page.get_by_role("link", name=crawl.odd("/far"), exact=True).click()

    hops = page.locator(".hops > li")
    expect(hops).to_have_count(7)  # five were followed, the sixth was not
    expect(hops.last).to_contain_text("not followed: too_many_redirects")
    expect(page.locator("#timeline")).to_contain_text("Visited")
    expect(page.locator("#outlook")).to_contain_text("max_redirects")


def test_a_dead_letter_is_replayed_and_fetched(page: Page, crawl: Watched) -> None:
    lost = crawl.odd("/lost")
    asked = crawl.web.requests("odd.test", "/lost")
    crawl.web.odd["/lost"] = crawl.web.odd["/"]
    page.goto("/letters?reason=http_404")

    page.get_by_label(f"Choose {lost}").check()
    page.get_by_role("button", name="Replay the chosen").click()

    expect(page.get_by_role("status").filter(has_text="will be visited again")).to_contain_text("1 of 1")
    expect(page.get_by_text("No dead letter matches.")).to_be_visible()
    crawl.web.until(lambda: crawl.web.requests("odd.test", "/lost") > asked)
    page.goto(f"/url?url={quote(lost, safe='')}")
    expect(page.locator("#verdict")).to_contain_text("fetched")


def test_a_paused_site_stays_silent_and_a_resumed_one_does_not(page: Page, crawl: Watched) -> None:
    web = crawl.web
    page.goto("/sites?text=quiet")
    row = page.locator("tbody tr")

    row.get_by_role("button", name="Pause").click()

    expect(row).to_contain_text("paused")
    assert any(web.is_silent("quiet.test") for _ in range(10))  # within a moment, by the server's own log
    assert web.is_silent("quiet.test")
    before = web.requests("quiet.test")

    row.get_by_role("button", name="Resume").click()

    expect(row).not_to_contain_text("paused")
    web.until(lambda: web.requests("quiet.test") > before)


def test_a_site_that_is_down_says_when_it_is_asked_again(page: Page) -> None:
    page.goto("/sites?state=down")

    row = page.locator("tbody tr")
    expect(row).to_contain_text("down.test")
    expect(row).to_contain_text("asked again in")


@pytest.mark.parametrize("path", ["/frontier?text=/titled&state=fetched", "/url?url={titled}", "/site?key=odd.test"])
def test_a_title_with_a_script_in_it_does_nothing(page: Page, crawl: Watched, path: str) -> None:
    page.goto(path.format(titled=quote(crawl.odd("/titled"), safe="")))

    visible = SCRIPT.replace("\u202e", r"\u202e")
    expect(page.locator("main")).to_contain_text(visible)
    sources = page.evaluate("[...document.scripts].map(script => script.src)")
    assert all(urlsplit(source).path.startswith("/static/") for source in sources)
    assert page.evaluate("[typeof window.pwned, document.images.length, refused.length]") == ["undefined", 0, 0]


def test_a_redirect_to_a_script_is_no_link(page: Page, crawl: Watched) -> None:
    page.goto(f"/url?url={quote(crawl.odd('/scripted'), safe='')}")

    expect(page.locator("main")).to_contain_text("javascript:alert(1)")
    assert page.locator("a[href^='javascript']").count() == 0


def test_everything_is_reached_by_keyboard_and_enter_works(page: Page) -> None:
    page.goto("/sites?text=odd")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.locator("summary").press("Enter")
    expect(page.get_by_label("Seconds between requests to odd.test")).to_be_visible()
    page.get_by_text("Skip to content").focus()
    reached = _tabbed_through(page)

    wanted = page.evaluate(
        """() => [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
            .filter(e => e.checkVisibility() && e.type !== 'hidden').map(e => e.outerHTML.slice(0, 120))"""
    )
    assert set(wanted) <= set(reached)
    page.get_by_label("Name contains").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("quiet")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("tbody th a").focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("quiet.test")


def _tabbed_through(page: Page) -> list[str]:
    """From where the focus is to the end of the page, once; each has an outline that can be seen."""
    reached = []
    for _ in range(200):
        element = page.evaluate("document.activeElement.outerHTML.slice(0, 120)")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        if element in reached:
            break
        assert outline != "none", element
        reached.append(element)
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
    return reached


def test_a_letter_is_dropped_without_any_script_after_a_question(
    browser: Browser, crawl: Watched, notes: Notes
) -> None:
    context = browser.new_context(base_url=crawl.url, java_script_enabled=False)
    page = notes.of(context.new_page())
    page.goto("/letters?reason=http_410")

    page.get_by_label(f"Choose {crawl.odd('/hopeless')}").check()
    page.get_by_role("button", name="Drop the chosen").click()
    expect(page.locator("h1")).to_have_text("Drop this URL?")
    expect(page.locator("main")).to_contain_text(crawl.odd("/hopeless"))
    page.get_by_role("button", name="Yes, drop it").click()

    expect(page.get_by_text("1 of 1 will not be visited any more.")).to_be_visible()
    page.goto(f"/url?url={quote(crawl.odd('/hopeless'), safe='')}")
    expect(page.locator("#verdict")).to_contain_text("dismissed")
    context.close()
    assert notes.unexpected() == []


def test_a_server_that_is_away_is_said_politely(page: Page, notes: Notes) -> None:
    notes.allowed = ("ERR_INTERNET_DISCONNECTED",)
    page.add_init_script(_HURRY)
    page.goto("/")

    page.context.set_offline(True)
    expect(page.locator("#told")).to_contain_text("does not answer")
    expect(page.locator("#pulse")).to_contain_text("server is away")
    page.context.set_offline(False)

    expect(page.locator("#told")).to_have_text("The server answers again.")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#pulse")).to_contain_text("paused")


_HURRY: Final = """
new MutationObserver(() => {
    const main = document.getElementById("main");
    if (main) main.dataset.every = "0.2";
}).observe(document, { childList: true, subtree: true });
"""
"""Asks ten times as often as usual."""


def test_no_page_is_wider_than_a_phone_and_every_page_can_be_understood(
    browser: Browser, crawl: Watched, notes: Notes
) -> None:
    """Labels, headings, landmarks, names: what a screen reader lives by; then the same page at 360 pixels."""
    context = browser.new_context(base_url=crawl.url, viewport=PHONE, color_scheme="dark")
    page = notes.of(context.new_page())
    urls = {name: quote(crawl.odd(f"/{name}"), safe="") for name in ("far", "titled")}
    found = {}
    for path in PAGES:
        answer = page.goto(path.format(**urls))
        assert answer is not None
        assert answer.status == 200, path
        found[path] = page.evaluate(_FAULTS)
    context.close()

    assert {path: faults for path, faults in found.items() if faults} == {}
    assert notes.unexpected() == []


_FAULTS: Final = """() => {
    const faults = [];
    const all = (selector) => [...document.querySelectorAll(selector)];
    const told = (element) => element.outerHTML.slice(0, 100);
    if (document.documentElement.scrollWidth > innerWidth) {
        const is_out = (e) => e.getBoundingClientRect().right > innerWidth && !e.closest('.scroll, .robots');
        const wide = all('body *').filter(is_out);
        faults.push('wider than the screen: ' + wide.map(told).join(' | '));
    }
    if (!document.documentElement.lang || !document.title.includes('outrider')) faults.push('no language or title');
    if (all('h1').length !== 1) faults.push('not one h1');
    if (all('main').length !== 1 || all('nav[aria-label]').length < 1) faults.push('landmarks');
    let level = 0;
    for (const heading of all('h1, h2, h3, h4')) {
        const next = Number(heading.tagName[1]);
        if (next > level + 1) faults.push('a heading is left out before ' + told(heading));
        level = next;
    }
    for (const field of all('input:not([type=hidden]), select')) {
        if (!field.labels.length && !field.ariaLabel) faults.push('no label: ' + told(field));
    }
    for (const name of all('a, button')) {
        if (!(name.textContent.trim() || name.ariaLabel)) faults.push('no name: ' + told(name));
    }
    for (const svg of all('svg')) {
        if (!svg.ariaLabel && svg.ariaHidden !== 'true') faults.push('no text: ' + told(svg));
    }
    for (const head of all('table th')) if (!head.scope) faults.push('no scope: ' + told(head));
    for (const box of all('.scroll')) {
        if (box.tabIndex !== 0 || !box.role) faults.push('not scrolled by keys: ' + told(box));
    }
    for (const named of all('[aria-labelledby]')) {
        const name = document.getElementById(named.getAttribute('aria-labelledby'));
        if (!name || !name.textContent.trim()) faults.push('named by nothing: ' + told(named));
    }
    const ids = all('[id]').map(e => e.id);
    const twice = ids.filter((id, place) => ids.indexOf(id) !== place);
    if (twice.length) faults.push('the same id twice: ' + twice);
    return faults;
}"""
