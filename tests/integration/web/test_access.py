"""Who may look and who may act, asked of a server that really listens: the wrong name, page, token and size."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

import pytest
from tests.integration.web.conftest import Crawled
from tests.integration.web.dashboards import ACTING, Dashboard

TOKEN = "a-token-of-the-tests"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ORDER = "/api/v1/site/order"
PAUSE = {"site": "other.test", "paused": True}


@pytest.fixture(scope="module")
def locked(crawled: Crawled) -> Iterator[Dashboard]:
    with Dashboard(crawled.folder, token=TOKEN, serve_names="crawl.example.org") as running:
        yield running


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "[::1", "10.0.0.1:{port}"]
)
def test_a_name_that_nobody_serves_under_is_refused(dashboard: Dashboard, host: str) -> None:
    port = dashboard.address.rpartition(":")[2]

    for path in ("/api/v1/overview", "/", "/static/style.css", "/login"):
        answer = dashboard.ask(path, headers={"Host": host.format(port=port)})

        assert answer.status == 421, path


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_this_machine_may_be_called_by_its_usual_names(dashboard: Dashboard, host: str) -> None:
    port = dashboard.address.rpartition(":")[2]

    assert dashboard.ask("/api/v1/overview", headers={"Host": host.format(port=port)}).status == 200


def test_a_name_of_the_settings_is_served_whatever_the_port(locked: Dashboard) -> None:
    for host in ("crawl.example.org", "crawl.example.org:8443"):
        answer = locked.ask("/api/v1/overview", headers={"Host": host, "Authorization": f"Bearer {TOKEN}"})

        assert answer.status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "application/json"},
        {"X-Outrider": "1", "Origin": "http://evil.example"},
        {"X-Outrider": "1", "Origin": "null"},
        {"X-Outrider": "1", "Origin": "http://127.0.0.1:1"},
        {"X-Outrider": "1", "Sec-Fetch-Site": "cross-site"},
        {"X-Outrider": "1", "Sec-Fetch-Site": "same-site"},
    ],
)
def test_what_another_page_sends_changes_nothing(dashboard: Dashboard, headers: Mapping[str, str]) -> None:
    answer = dashboard.ask(ORDER, method="POST", headers=headers, body=PAUSE)

    assert (answer.status, answer.json["code"]) == (403, "cross_site")
    assert dashboard.look("site", key="other.test")["row"]["order"] is None


def test_our_own_page_may_act(own: Crawled) -> None:
    with Dashboard(own.folder) as dashboard:
        headers = {**ACTING, "Origin": dashboard.url, "Sec-Fetch-Site": "same-origin"}

        assert dashboard.ask(ORDER, method="POST", headers=headers, body=PAUSE).status == 200


@pytest.mark.parametrize("path", [ORDER, "/api/v1/letters/replay", "/api/v1/letters/drop"])
def test_nothing_is_changed_by_looking(dashboard: Dashboard, path: str) -> None:
    for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
        assert dashboard.ask(path, method=method, headers=ACTING).status == 405, method


def test_without_the_token_there_is_nothing_to_see(locked: Dashboard) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer a-token-of-others"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": TOKEN},
        {"Cookie": f"outrider={TOKEN}"},
        {"Cookie": "outrider="},
        {"Cookie": "="},
    ):
        answer = locked.ask("/api/v1/overview", headers=headers)

        assert (answer.status, answer.json["code"]) == (401, "not_authorized")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_token_in_the_url_does_not_count(locked: Dashboard) -> None:
    assert locked.ask(f"/api/v1/overview?{urlencode({'token': TOKEN})}").status == 401


def test_a_browser_without_the_token_is_shown_the_way_in(locked: Dashboard) -> None:
    answer = locked.ask("/sites")

    assert (answer.status, answer.headers["location"]) == (303, "/login")


def test_a_login_is_remembered_by_a_cookie_that_is_not_the_token(locked: Dashboard) -> None:
    wrong = locked.ask("/login", method="POST", headers=FORM, raw=b"token=nonsense")
    right = locked.ask("/login", method="POST", headers=FORM, raw=urlencode({"token": TOKEN}).encode())

    cookie = right.headers["set-cookie"]
    assert "set-cookie" not in wrong.headers
    assert (right.status, right.headers["location"]) == (303, "/")
    assert TOKEN not in cookie
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert locked.ask("/api/v1/overview", headers={"Cookie": cookie.partition(";")[0]}).status == 200


def test_a_page_of_somebody_else_cannot_log_us_in(locked: Dashboard) -> None:
    headers = {**FORM, "Origin": "http://evil.example"}

    answer = locked.ask("/login", method="POST", headers=headers, raw=urlencode({"token": TOKEN}).encode())

    assert answer.status == 403


def test_a_cookie_ends_with_its_server(locked: Dashboard, crawled: Crawled) -> None:
    cookie = locked.ask("/login", method="POST", headers=FORM, raw=urlencode({"token": TOKEN}).encode())

    with Dashboard(crawled.folder, token=TOKEN) as another:
        answer = another.ask("/api/v1/overview", headers={"Cookie": cookie.headers["set-cookie"].partition(";")[0]})

    assert answer.status == 401


@pytest.mark.parametrize(
    "path", ["/api/v1/overview", "/api/v1/nothing", "/api/v1/url?url=x", "/", "/nothing", "/api/v1/openapi.json"]
)
def test_every_answer_tells_browsers_to_be_careful(dashboard: Dashboard, path: str) -> None:
    headers = dashboard.ask(path).headers

    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"  # with none at all, a form of ours has no origin
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_more_than_anybody_reads_is_refused(dashboard: Dashboard) -> None:
    answer = dashboard.ask(ORDER, method="POST", headers={**ACTING, "Content-Length": "99999999999999"})

    assert answer.status == 413


def test_more_than_anybody_reads_is_refused_also_when_nobody_said_how_much(dashboard: Dashboard) -> None:
    chunk = b"x" * 65_536
    parts = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for _ in range(17)) + b"0\r\n\r\n"

    answer = dashboard.ask(ORDER, method="POST", headers={**ACTING, "Transfer-Encoding": "chunked"}, raw=parts)

    assert answer.status == 413


def test_the_description_names_no_other_machine(dashboard: Dashboard) -> None:
    told = dashboard.ask("/api/v1/openapi.json")

    assert told.json["openapi"].startswith("3.1")
    assert b"http://" not in told.body.replace(b"http://json-schema.org", b"")
    assert b"https://" not in told.body
    assert dashboard.ask("/docs").status == 404
