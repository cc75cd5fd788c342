"""The web application: the API and the pages, behind one guard. Every error of ours is an answer of one shape."""

import re
from functools import cache
from http import HTTPStatus
from typing import Any, Final

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

from outrider import __version__
from outrider.errors import ConfigError, InvalidUrl, OutriderError, StoreError
from outrider.model.codec import to_json
from outrider.model.url import Url
from outrider.web import shapes
from outrider.web.access import API, Access
from outrider.web.api import Letters, SiteOrdering, api_router
from outrider.web.desk import Desk, ReadOnly
from outrider.web.guard import App, Guard, TooMuch
from outrider.web.login import add_login
from outrider.web.pages import add_pages
from outrider.web.render import rendered
from outrider.web.story_shapes import StoryShown

DESCRIPTION: Final = f"{API}v1/openapi.json"
_SHAPES: Final = (
    shapes.Overview,
    shapes.SitePage,
    shapes.SiteShown,
    shapes.UrlPage,
    StoryShown,
    shapes.LetterPage,
    shapes.SettingsShown,
    shapes.OrderShown,
    shapes.Acted,
    shapes.Wrong,
    SiteOrdering,
    Letters,
)
_ANSWERS: Final[dict[type[OutriderError], tuple[int, str]]] = {
    TooMuch: (413, "too_much"),
    ReadOnly: (409, "read_only"),
    InvalidUrl: (400, "invalid_url"),
    ConfigError: (400, "bad_request"),
    StoreError: (503, "store"),
    OutriderError: (503, "unavailable"),
}


def create_app(desk: Desk, access: Access) -> App:
    """What a server runs. The desk is open, and stays so."""
    app = FastAPI(title="Outrider", version=__version__, openapi_url=None, docs_url=None, redoc_url=None)
    app.include_router(api_router(lambda: desk))

    @app.get(DESCRIPTION, include_in_schema=False)
    async def description() -> Response:
        return Response(msgspec.json.encode(described()), media_type="application/json")

    add_login(app, access)
    add_pages(app, desk, access)
    app.add_exception_handler(OutriderError, _told)
    app.add_exception_handler(RequestValidationError, _does_not_fit)
    app.add_exception_handler(HTTPException, _not_here)
    app.add_exception_handler(Exception, _bug)
    return Guard(app, access)


@cache
def described() -> dict[str, Any]:
    """OpenAPI: the routes are FastAPI's, the shapes are ours."""
    document = get_openapi(
        title="Outrider",
        version=__version__,
        summary="What a crawl does, explained and steered.",
        description=(
            "Instants are seconds since 1970, spans are seconds, sizes are bytes. Acts are POSTs that say `X-Outrider`."
        ),
        routes=api_router(_nobody).routes,
        tags=[
            {"name": "look", "description": "What is going on."},
            {"name": "letters", "description": "What was given up."},
            {"name": "act", "description": "What an operator may do; each act is told as an event."},
        ],
    )
    _, components = msgspec.json.schema_components(
        _SHAPES, schema_hook=_as_text, ref_template="#/components/schemas/{name}"
    )
    ours = {name: _in_json(schema) for name, schema in components.items()}
    kept = {"schemas": {**document.get("components", {}).get("schemas", {}), **ours}}
    kept["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return {**document, "components": kept, "security": [{}, {"token": []}]}


def _in_json(schema: dict[str, Any]) -> dict[str, Any]:
    """What a docstring says of fields, by the names that they have in JSON."""
    names = set(schema.get("properties", ()))
    told = schema.get("description", "").replace(" None", " null")
    told = re.sub(
        r"`([a-z_]+)`", lambda found: f"`{_camel(found[1]) if _camel(found[1]) in names else found[1]}`", told
    )
    return {**schema, "description": " ".join(told.split())} if told else schema


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _nobody() -> Desk:
    raise ReadOnly("nobody is asked for a description")


def _as_text(kind: type) -> dict[str, Any]:
    if kind is Url:
        return {"type": "string"}
    raise NotImplementedError


async def _told(request: Request, error: Exception) -> Response:
    status, code = next(_ANSWERS[kind] for kind in type(error).__mro__ if kind in _ANSWERS)
    return _wrong(request, status, code, str(error))


async def _does_not_fit(request: Request, error: Exception) -> Response:
    """Named, but not repeated: a value that does not fit may be anything."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - it is registered for this one
    told = [f"{detail['loc'][-1]}: {detail['msg']}" for detail in error.errors()]
    return _wrong(request, 422, "does_not_fit", "; ".join(told))


async def _not_here(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - the same
    code = HTTPStatus(error.status_code).name.lower()
    answer = _wrong(request, error.status_code, code, str(error.detail))
    answer.headers.update(error.headers or {})
    return answer


async def _bug(request: Request, _: Exception) -> Response:
    """Its traceback goes to the error output, and to nobody who asks."""
    return _wrong(request, 500, "bug", "a bug of ours: the traceback is on the server's error output, please report it")


def _wrong(request: Request, status: int, code: str, sentence: str) -> Response:
    if request.url.path.startswith(API):
        return Response(to_json(shapes.Wrong(sentence, code)), status, media_type="application/json")
    return HTMLResponse(rendered("lost.html", {"sentence": sentence, "status": status}), status)
