"""What do the forms do? Each is a POST with the secret of our own pages, and ends on a page that says what it did.

What cannot be undone is asked about first, on a page of its own: no script is needed for that.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData

from outrider.errors import ConfigError, OutriderError
from outrider.model.url import Url
from outrider.web.access import Access
from outrider.web.desk import Desk, OrderChange
from outrider.web.phrases import link
from outrider.web.views import Question, back_path

if TYPE_CHECKING:
    from outrider.web.pages import Pages

BY: Final = "dashboard"
MOST_URLS: Final = 1_000
_SLOWEST: Final = 86_400.0
_OTHER_FIELDS: Final = 10

_CHANGES: Final = {
    "pause": OrderChange(paused=True),
    "resume": OrderChange(paused=False),
    "exclude": OrderChange(excluded=True),
    "include": OrderChange(excluded=False),
    "clear": OrderChange(paused=False, excluded=False, delay=None),
}

Act: TypeAlias = Callable[[Request, FormData], Awaitable[Response]]


def add_forms(app: FastAPI, desk: Desk, access: Access, pages: "Pages") -> None:
    forms = _Forms(desk, access, pages)
    for path, act in (("/site/order", forms.order), ("/letters/replay", forms.replay), ("/letters/drop", forms.drop)):
        app.add_api_route(path, forms.checked(act), methods=["POST"], include_in_schema=False)


class _Forms:
    def __init__(self, desk: Desk, access: Access, pages: "Pages") -> None:
        self._desk = desk
        self._access = access
        self._pages = pages

    def checked(self, act: Act) -> Callable[[Request], Awaitable[Response]]:
        """Nothing is done for a form that is not ours."""

        async def acted(request: Request) -> Response:
            form = await request.form(max_files=0, max_fields=MOST_URLS + _OTHER_FIELDS)
            if not self._access.is_form_token(form.get("csrf")):
                stale = ConfigError("this form is not of this server's making, or older than it: load the page again")
                return await self._pages.wrong(request, stale, 403)
            try:
                return await act(request, form)
            except OutriderError as error:
                return await self._pages.wrong(request, error)

        return acted

    async def order(self, _: Request, form: FormData) -> Response:
        act, site = _text(form, "act"), _text(form, "key")
        if not site:
            raise ConfigError("key: the form does not say which site is meant")
        if act != "delay" and act not in _CHANGES:
            raise ConfigError(f"act = {act!r}: expected one of delay, {', '.join(_CHANGES)}")
        await self._desk.order(site, OrderChange(delay=_delay(form)) if act == "delay" else _CHANGES[act], BY)
        return _back(form, link("/site", key=site), did=act)

    async def replay(self, _: Request, form: FormData) -> Response:
        urls = _urls(form)
        if not urls:
            return _back(form, "/letters", did="nothing")
        acted = await self._desk.replay(urls, BY)
        return _back(form, "/letters", did="replayed", n=acted.done, of=acted.asked)

    async def drop(self, request: Request, form: FormData) -> Response:
        urls = _urls(form)
        if not urls:
            return _back(form, "/letters", did="nothing")
        if _text(form, "sure") != "yes":
            return await self._pages.respond(request, "confirm.html", {"question": _question(urls, form)})
        acted = await self._desk.drop(urls, BY)
        return _back(form, "/letters", did="dropped", n=acted.done, of=acted.asked)


def _question(urls: list[Url], form: FormData) -> Question:
    back = back_path(form.get("back"), "/letters")
    is_one = len(urls) == 1
    return Question(
        title="Drop this URL?" if is_one else f"Drop {len(urls):,} URLs?",
        text="What is dropped ends as skipped, and is not visited any more: no replay brings it back. "
        "What is on record of it stays.",
        about=tuple(map(str, urls)),
        yes="Yes, drop it" if is_one else "Yes, drop them",
        action="/letters/drop",
        fields=(("sure", "yes"), ("back", back), *(("url", str(url)) for url in urls)),
        back=back,
    )


def _back(form: FormData, otherwise: str, **told: object) -> Response:
    """To where the form was; 303: the next request is a GET, so that reloading does nothing twice."""
    path = back_path(form.get("back"), otherwise)
    query = link("", **told)
    return RedirectResponse(path + ("&" + query[1:] if "?" in path else query), status_code=303)


def _text(form: FormData, name: str) -> str:
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def _urls(form: FormData) -> list[Url]:
    return list(dict.fromkeys(Url(text) for text in form.getlist("url") if isinstance(text, str)))


def _delay(form: FormData) -> float | None:
    """Empty is the setting's own."""
    text = _text(form, "delay")
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _SLOWEST:
        raise ConfigError(f"delay = {text!r}: expected seconds from 0 to {_SLOWEST:,.0f}, or nothing")
    return seconds
