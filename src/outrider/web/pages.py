"""The pages that people look at, on the same desk as the API: a path, a question to the desk, a template.

Each is whole without any script, and its filters are in its address, so that what one sees can be sent to another.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.staticfiles import StaticFiles

from outrider import __version__
from outrider.errors import ConfigError, InvalidUrl, OutriderError
from outrider.model.ledger import Search, State
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.web.access import Access
from outrider.web.desk import Desk, SiteQuery
from outrider.web.forms import add_forms
from outrider.web.phrases import link
from outrider.web.render import LIVE_HEADER, STATIC, rendered
from outrider.web.shapes import SiteState
from outrider.web.views import (
    Question,
    crawl_in_words,
    overview_parts,
    reasons_by_family,
    shares,
    site_columns,
    told_story,
)

ROWS = 50
_STATES = [("", [state.value for state in State])]

Show: TypeAlias = Callable[[Request], Awaitable[dict[str, Any]]]


def add_pages(app: FastAPI, desk: Desk, access: Access) -> None:
    """Every page, the style and the script; what a form asks for is checked by `access`."""
    pages = Pages(desk, access)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for path, template, show in (
        ("/", "overview.html", pages.overview),
        ("/sites", "sites.html", pages.sites),
        ("/site", "site.html", pages.site),
        ("/site/exclude", "confirm.html", pages.exclude),
        ("/frontier", "frontier.html", pages.frontier),
        ("/url", "url.html", pages.url),
        ("/letters", "letters.html", pages.letters),
        ("/settings", "settings.html", pages.settings),
        ("/about", "about.html", pages.about),
    ):
        app.add_api_route(path, pages.page(template, show), methods=["GET"], include_in_schema=False)
    app.add_api_route("/login", _login, methods=["GET"], include_in_schema=False)
    add_forms(app, desk, access, pages)


class Pages:
    def __init__(self, desk: Desk, access: Access) -> None:
        self._desk = desk
        self._access = access

    def page(self, template: str, show: Show) -> Callable[[Request], Awaitable[Response]]:
        async def shown(request: Request) -> Response:
            try:
                values = await show(request)
            except OutriderError as error:
                return await self.wrong(request, error)
            return await self.respond(request, template, values)

        return shown

    async def wrong(self, request: Request, error: OutriderError, status: int | None = None) -> Response:
        """What we cannot do is a page as well, with a sentence and a status that says whose fault it is."""
        status = status or (400 if isinstance(error, ConfigError | InvalidUrl) else 503)
        return await self.respond(request, "error.html", {"sentence": str(error), "is_ours": status >= 500}, status)

    async def respond(self, request: Request, template: str, values: dict[str, Any], status: int = 200) -> Response:
        frame = await self._frame(request)
        text = rendered(template, frame | values, is_part=LIVE_HEADER in request.headers)
        return HTMLResponse(text, status_code=status, headers={"Cache-Control": "no-store", "Vary": LIVE_HEADER})

    async def _frame(self, request: Request) -> dict[str, Any]:
        """What every page has. When the stores are away, the frame stands all the same."""
        path = request.url.path
        query = {name: value for name, value in request.query_params.items() if name not in _TOLD}
        frame: dict[str, Any] = {
            "place": {"/site": "/sites", "/url": "/frontier"}.get("/" + path.split("/")[1], "/" + path.split("/")[1]),
            "here": link(path, **query) if request.method == "GET" else "/",
            "csrf": self._access.form_token,
            "version": __version__,
            "note": _note(request),
            "can_act": self._desk.can_act,
            "needs_token": self._access.needs_token,
            "most": ROWS,
        }
        try:
            view = await self._desk.overview()
        except OutriderError:
            return frame | {"name": "", "crawl_state": "its stores cannot be read", "now": 0.0}
        return frame | {"name": view.name, "crawl_state": crawl_in_words(view), "now": view.at}

    async def overview(self, _: Request) -> dict[str, Any]:
        view = await self._desk.overview()
        return {"view": view, "now": view.at, **overview_parts(view)}

    async def sites(self, request: Request) -> dict[str, Any]:
        asked = _asked(request, "text", "state", "sort", "after")
        asked["sort"] = asked["sort"] or "state"
        query = SiteQuery(asked["sort"], asked["text"], _one_of(SiteState, "state", asked["state"]))
        view = await self._desk.sites(query, asked["after"] or None, ROWS)
        filters = {"text": asked["text"], "state": asked["state"]}
        return {
            "view": view,
            "asked": asked,
            "columns": site_columns(asked["sort"], self._desk.can_act, **filters),
            "states": [state.value for state in SiteState],
            "first": link("/sites", sort=asked["sort"], **filters),
            "next": link("/sites", sort=asked["sort"], **filters, after=view.after),
        }

    async def site(self, request: Request) -> dict[str, Any]:
        view = await self._desk.site(_needed(request, "key"))
        return {"view": view, "now": view.at}

    async def exclude(self, request: Request) -> dict[str, Any]:
        key = _needed(request, "key")
        back = link("/site", key=key)
        question = Question(
            title="Exclude this site?",
            text="It is not asked any more, and every URL that it owes ends as skipped for good. "
            "To leave it alone for a while, pause it.",
            about=(key,),
            yes="Yes, exclude it",
            action="/site/order",
            fields=(("key", key), ("act", "exclude"), ("back", back)),
            back=back,
        )
        return {"question": question}

    async def frontier(self, request: Request) -> dict[str, Any]:
        asked = _asked(request, "state", "reason", "site", "status", "text", "after")
        view = await self._desk.urls(_search(asked), asked["after"] or None, ROWS)
        return {"view": view, "states": _STATES, **_listing("/frontier", asked, view.after)}

    async def letters(self, request: Request) -> dict[str, Any]:
        asked = _asked(request, "reason", "site", "status", "text", "after")
        view = await self._desk.letters(_search(asked), asked["after"] or None, ROWS)
        widths = shares([one.count for one in view.counts])
        return {
            "view": view,
            "counts": list(zip(view.counts, widths, strict=True)),
            **_listing("/letters", asked, view.after),
        }

    async def url(self, request: Request) -> dict[str, Any]:
        given = _needed(request, "url").strip()
        view = await self._desk.story(Url(given if "://" in given else f"https://{given}"))
        told = told_story(view)
        drawn = [one for one in told if one.hops]
        return {"view": view, "now": view.at, "told": told, "drawn": drawn[-1] if drawn else None}

    async def settings(self, _: Request) -> dict[str, Any]:
        return {"view": self._desk.settings()}

    async def about(self, _: Request) -> dict[str, Any]:
        return {}


async def _login(request: Request) -> Response:
    """The one page for who has said no token yet: there is nothing of the crawl on it."""
    return HTMLResponse(rendered("login.html", {"is_wrong": "wrong" in request.query_params}))


def _asked(request: Request, *names: str) -> dict[str, str]:
    return {name: request.query_params.get(name, "").strip() for name in names}


def _needed(request: Request, name: str) -> str:
    value = request.query_params.get(name, "")
    if not value:
        raise ConfigError(f"{name}: is missing in the address of this page")
    return value


def _search(asked: dict[str, str]) -> Search:
    status = asked["status"]
    if status and not (status.isascii() and status.isdigit() and len(status) == 3):
        raise ConfigError(f"status = {status!r}: expected three digits, such as 404")
    return Search(
        state=_one_of(State, "state", asked.get("state", "")),
        reason=_one_of(Reason, "reason", asked["reason"]),
        site=asked["site"].lower() or None,
        status=int(status) if status else None,
        text=asked["text"] or None,
    )


def _one_of(kind: Any, name: str, text: str) -> Any:  # noqa: ANN401 - an enumeration, and a member of it
    if not text:
        return None
    try:
        return kind(text)
    except ValueError:
        raise ConfigError(f"{name} = {text!r}: expected one of {', '.join(kind)}") from None


def _listing(path: str, asked: dict[str, str], after: str | None) -> dict[str, Any]:
    filters = {name: value for name, value in asked.items() if name != "after"}
    return {
        "asked": asked,
        "reasons": reasons_by_family(),
        "is_filtered": any(filters.values()),
        "first": link(path, **filters) if asked["after"] else "",
        "next": link(path, **filters, after=after),
    }


_DONE = {
    "replayed": "{n} of {of} will be visited again, with fresh counts.",
    "dropped": "{n} of {of} will not be visited any more.",
    "pause": "Paused: workers leave it alone within about a second.",
    "resume": "Resumed: what it owes is visited again.",
    "exclude": "Excluded: what it owed ends as skipped.",
    "include": "Included again.",
    "delay": "The delay is changed.",
    "clear": "All orders for this site are taken back.",
    "nothing": "Nothing was chosen, so nothing was done.",
}


_TOLD = frozenset({"did", "n", "of"})
"""In an address, what a form has just done: said once."""


def _note(request: Request) -> dict[str, str] | None:
    """What a form has just done. Only our own sentences: an address can make none of its own."""
    sentence = _DONE.get(request.query_params.get("did", ""))
    if sentence is None:
        return None
    numbers = {name: _digits(request.query_params.get(name, "")) for name in ("n", "of")}
    is_less = numbers["n"] != numbers["of"] or request.query_params["did"] == "nothing"
    return {"kind": "wait" if is_less else "ok", "mark": "!" if is_less else "✓", "text": sentence.format(**numbers)}


def _digits(text: str) -> str:
    return text if text.isascii() and text.isdigit() and len(text) < 10 else "0"
