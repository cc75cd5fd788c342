"""The pages over a crawl that has ended, as bytes on the wire: escaped, guarded, whole without any script."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import quote, urlencode

import pytest
from tests.integration.web.conftest import TITLE, Crawled
from tests.integration.web.dashboards import Answer, Dashboard

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
HOSTILE = "\"><script>alert(1)</script>'"


class Tags(HTMLParser):
    """Every element of a page, with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def text_of(answer: Answer) -> str:
    return answer.body.decode()


def posted(dashboard: Dashboard, path: str, *fields: tuple[str, str], **others: str) -> Answer:
    """As a browser sends a form of ours."""
    secret = re.search(r'name="csrf" value="(\w+)"', text_of(dashboard.ask("/site?key=site.test")))
    assert secret is not None
    body = urlencode([("csrf", secret[1]), *fields, *others.items()])
    return dashboard.ask(path, method="POST", headers=FORM, raw=body.encode())


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/sites",
        "/sites?sort=-fetched&text=site&state=idle",
        "/site?key=site.test",
        "/site?key=nobody.test",
        "/site/exclude?key=site.test",
        "/frontier",
        "/frontier?state=dead&reason=http_404&site=site.test&status=404&text=lost",
        "/url?url=http://elsewhere.test/",
        "/letters",
        "/letters?reason=redirect_loop",
        "/settings",
        "/about",
        "/login",
    ],
)
def test_every_page_is_there_and_loads_nothing_but_our_own(dashboard: Dashboard, path: str) -> None:
    answer = dashboard.ask(path)

    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    tags = Tags(text_of(answer)).found
    loaded = [attributes.get("src") or attributes.get("href") for tag, attributes in tags if tag in {"script", "link"}]
    assert all((place or "").startswith("/static/") for place in loaded)
    assert not any(name == "style" or name.startswith("on") for _, attributes in tags for name in attributes)


@pytest.mark.parametrize(
    "path",
    [
        "/sites?text={}",
        "/sites?sort={}",
        "/site?key={}",
        "/site/exclude?key={}",
        "/frontier?text={}&site={}&reason={}",
        "/frontier?text={}&site={}",
        "/frontier?after={}",
        "/url?url={}",
        "/url?url=http://site.test/{}",
        "/letters?text={}&status={}",
        "/?did={}&n={}",
        "/sites?did=replayed&n={}&of={}",
    ],
)
def test_what_stands_in_an_address_is_shown_and_never_run(dashboard: Dashboard, path: str) -> None:
    answer = dashboard.ask(path.replace("{}", quote(HOSTILE, safe="")))

    assert answer.status in {200, 400}
    scripts = [attributes for tag, attributes in Tags(text_of(answer)).found if tag == "script"]
    assert all((attributes.get("src") or "").startswith("/static/") for attributes in scripts)
    assert "<script>alert" not in text_of(answer)


def test_a_script_in_a_title_is_a_text(dashboard: Dashboard) -> None:
    shown = text_of(dashboard.ask("/frontier?state=fetched&text=/titled"))

    assert TITLE not in shown
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in shown


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/frontier?status=many", 400),
        ("/frontier?state=lost", 400),
        ("/frontier?reason=because", 400),
        ("/frontier?after=nonsense", 400),
        ("/sites?sort=luck", 400),
        ("/sites?after=x", 400),
        ("/url?url=", 400),
        ("/url?url=ftp://files.test/", 400),
        ("/site", 400),
        ("/nothing", 404),
    ],
)
def test_what_cannot_be_shown_is_said_on_a_page(dashboard: Dashboard, path: str, status: int) -> None:
    answer = dashboard.ask(path)

    assert answer.status == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert 'role="alert"' in text_of(answer)


def test_a_part_of_a_page_is_what_changes_and_nothing_around_it(dashboard: Dashboard) -> None:
    whole = dashboard.ask("/")
    part = dashboard.ask("/", headers={"X-Outrider-Part": "live"})

    regions = [attributes["id"] for _, attributes in Tags(text_of(whole)).found if "data-live" in attributes]
    found = {attributes.get("id") for _, attributes in Tags(text_of(part)).found}
    assert len(regions) > 5
    assert set(regions) <= found
    assert "<nav" not in text_of(part)
    assert part.headers["vary"] == "x-outrider-part"


def test_the_overview_says_what_the_api_says(dashboard: Dashboard) -> None:
    told = dashboard.look("overview")

    shown = text_of(dashboard.ask("/"))

    assert f'id="figure-pages">{told["totals"]["pages"]}<' in shown
    assert "adds up" in shown
    assert all(one["name"] in shown for one in told["dead"])


def test_a_site_shows_its_rules_line_by_line(dashboard: Dashboard) -> None:
    shown = text_of(dashboard.ask("/site?key=site.test"))

    assert "<li>User-agent: *</li><li>Disallow: /private</li>" in shown
    assert "too_many_redirects" in shown


def test_a_story_tells_the_rule_and_its_evidence(dashboard: Dashboard, crawled: Crawled) -> None:
    refused = text_of(dashboard.ask(f"/url?url={quote(crawled.origin + '/b.zip', safe='')}"))
    chained = text_of(dashboard.ask(f"/url?url={quote(crawled.origin + '/far', safe='')}"))

    assert "non_text_extension" in refused
    assert "skip_extensions" in refused
    assert chained.count('<ol class="hops">') == 1
    assert "not followed: too_many_redirects" in chained


@pytest.mark.parametrize("secret", ["", "0" * 64])
@pytest.mark.parametrize("path", ["/site/order", "/letters/replay", "/letters/drop"])
def test_a_form_without_our_secret_does_nothing(own: Crawled, path: str, secret: str) -> None:
    url = f"{own.origin}/gone"
    body = urlencode({"csrf": secret, "key": "site.test", "act": "pause", "url": url, "sure": "yes"})

    with Dashboard(own.folder) as dashboard:
        answer = dashboard.ask(path, method="POST", headers=FORM, raw=body.encode())
        site = dashboard.look("site", key="site.test")
        story = dashboard.look("url", url=url)

    assert answer.status == 403
    assert (site["row"]["order"], story["standing"]["state"]) == (None, "dead")


def test_orders_are_given_by_forms_and_taken_back(own: Crawled) -> None:
    with Dashboard(own.folder) as dashboard:
        key = {"key": "site.test", "back": "/sites?sort=name"}
        paused = posted(dashboard, "/site/order", act="pause", **key)
        slowed = posted(dashboard, "/site/order", act="delay", delay="2.5", **key)
        ordered = dashboard.look("site", key="site.test")["row"]["order"]
        wrong = posted(dashboard, "/site/order", act="delay", delay="soon", **key)
        cleared = posted(dashboard, "/site/order", act="clear", **key)
        after = dashboard.look("site", key="site.test")["row"]["order"]
        note = text_of(dashboard.ask(paused.headers["location"]))

    assert (paused.status, paused.headers["location"]) == (303, "/sites?sort=name&did=pause")
    assert (slowed.status, cleared.status, wrong.status) == (303, 303, 400)
    assert (ordered["paused"], ordered["delay"], after) == (True, 2.5, None)
    assert "Paused: workers leave it alone" in note


def test_letters_are_replayed_and_dropped_after_a_question(own: Crawled) -> None:
    lost, gone = f"{own.origin}/lost", f"{own.origin}/gone"

    with Dashboard(own.folder) as dashboard:
        replayed = posted(dashboard, "/letters/replay", ("url", lost), ("url", f"{own.origin}/a"))
        question = posted(dashboard, "/letters/drop", ("url", gone), back="/letters?reason=http_410")
        between = dashboard.look("url", url=gone)
        dropped = posted(dashboard, "/letters/drop", ("url", gone), sure="yes")
        again = posted(dashboard, "/letters/drop", ("url", gone), sure="yes")
        nothing = posted(dashboard, "/letters/replay")
        stories = [dashboard.look("url", url=url)["standing"] for url in (lost, gone)]

    assert replayed.headers["location"] == "/letters?did=replayed&n=1&of=2"
    assert (question.status, between["standing"]["state"]) == (200, "dead")
    assert 'name="sure" value="yes"' in text_of(question)
    assert dropped.headers["location"] == "/letters?did=dropped&n=1&of=1"
    assert again.headers["location"] == "/letters?did=dropped&n=0&of=1"
    assert nothing.headers["location"] == "/letters?did=nothing"
    assert [(one["state"], one["reason"]) for one in stories] == [("pending", None), ("skipped", "dismissed")]


def test_what_forms_did_is_told_by_whom(own: Crawled) -> None:
    with Dashboard(own.folder) as dashboard:
        posted(dashboard, "/site/order", key="site.test", act="pause")

    lines = [line for file in (own.folder / "events").glob("*.jsonl") for line in file.read_text().splitlines()]
    told = [event for line in lines if (event := json.loads(line))["type"] == "site_ordered"]
    assert [(event["site"], event["paused"], event["by"]) for event in told] == [("site.test", True, "dashboard")]


def test_a_form_does_not_lead_elsewhere(own: Crawled) -> None:
    with Dashboard(own.folder) as dashboard:
        answer = posted(dashboard, "/letters/replay", back="//elsewhere.test/")

    assert answer.headers["location"] == "/letters?did=nothing"


def test_nobody_sees_a_page_without_the_token_but_the_way_in(own: Crawled) -> None:
    token = "a-token-that-is-long-enough"

    with Dashboard(own.folder, token) as dashboard:
        refused = dashboard.ask("/sites")
        way_in = dashboard.ask("/login")
        wrong = dashboard.ask("/login?wrong=1")
        style = dashboard.ask("/static/style.css")
        entered = dashboard.ask("/login", method="POST", headers=FORM, raw=urlencode({"token": token}).encode())
        cookie = entered.headers["set-cookie"].partition(";")[0]
        inside = dashboard.ask("/sites", headers={"Cookie": cookie})

    assert (refused.status, refused.headers["location"]) == (303, "/login")
    assert (way_in.status, style.status, inside.status) == (200, 200, 200)
    assert "site.test" not in text_of(way_in)
    assert "That is not the token." in text_of(wrong)
    assert "Log out" in text_of(inside)
