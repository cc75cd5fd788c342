"""The dashboard for programs: the same desk, as JSON. Described at /api/v1/openapi.json.

What is shown are the shapes, encoded as they are; what is asked for is judged by FastAPI, and every refusal is one
shape. Acts are POSTs that say `X-Outrider`, so that no page of somebody else's can make a browser send one.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response
from msgspec import UNSET, DecodeError, Meta, Struct, UnsetType, ValidationError

from outrider.errors import ConfigError
from outrider.model.codec import from_json, to_json
from outrider.model.ledger import Search, State
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.web.desk import Desk, OrderChange
from outrider.web.shapes import SiteState
from outrider.web.site_book import SORTS, SiteQuery

T = TypeVar("T")
Answering = TypeVar("Answering", bound=Callable[..., Awaitable[Response]])

BY: Final = "api"
MOST_URLS: Final = 1_000
LONGEST: Final = 8_192
"""Characters of a URL: what a crawl admits is shorter, and a request line must hold it with every byte escaped."""

After = Annotated[
    str | None,
    Query(max_length=2_000, description="Where to go on: `after` of the page before."),
]
Limit = Annotated[int, Query(ge=1, le=500, description="At most so many.")]
Text = Annotated[str | None, Query(max_length=500, description="A part of the URL.")]
SiteName = Annotated[str | None, Query(max_length=300, description="A politeness unit, such as example.org.")]
Status = Annotated[int | None, Query(ge=0, le=999, description="An HTTP status.")]
Instant = Annotated[float | None, Query(ge=0, le=1e11)]
Why = Annotated[Reason | None, Query(description="Why it ended.")]
Acting = Annotated[
    str, Header(alias="X-Outrider", description="Any value: a page of somebody else's cannot send it.", min_length=1)
]


class SiteOrdering(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be different about a site; what is not given stays as it was. A `delay` of null takes it back."""

    site: Annotated[str, Meta(min_length=1, max_length=300)]
    paused: bool | UnsetType = UNSET
    excluded: bool | UnsetType = UNSET
    delay: Annotated[float, Meta(ge=0, le=86_400)] | UnsetType | None = UNSET


class Letters(Struct, frozen=True, forbid_unknown_fields=True):
    """Dead letters by their URLs."""

    urls: Annotated[tuple[Annotated[str, Meta(max_length=LONGEST)], ...], Meta(min_length=1, max_length=MOST_URLS)]


def shown(name: str, description: str) -> dict[int | str, dict[str, Any]]:
    """For the description: what a route answers, and the shape of every refusal."""
    wrong = {"application/json": {"schema": {"$ref": "#/components/schemas/Wrong"}}}
    return {
        200: {
            "description": description,
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}},
        },
        400: {"description": "It cannot be answered as asked.", "content": wrong},
        401: {"description": "The token is missing or wrong.", "content": wrong},
        403: {"description": "It would change something, and does not come from here.", "content": wrong},
        409: {"description": "This frontier takes no orders: it can only be looked at.", "content": wrong},
        413: {"description": "Too much was sent.", "content": wrong},
        421: {"description": "Nothing is served under this name.", "content": wrong},
        422: {"description": "A value does not fit.", "content": wrong},
        503: {"description": "A store cannot be used.", "content": wrong},
    }


def taken(name: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
    return {"requestBody": {"required": True, "content": content}}


def api_router(desk: Callable[[], Desk]) -> APIRouter:
    """`desk` is asked for when somebody asks: whoever only wants the description needs none."""
    api = APIRouter(prefix="/api/v1")
    _add_looks(api, desk)
    _add_acts(api, desk)
    return api


def _add_looks(api: APIRouter, desk: Callable[[], Desk]) -> None:
    def look(path: str, shape: str, description: str, tag: str) -> Callable[[Answering], Answering]:
        return api.get(path, response_class=Response, responses=shown(shape, description), tags=[tag])

    @look("/overview", "Overview", "The whole of it at one moment.", "look")
    async def overview() -> Response:
        """Rate, outcomes over time, errors, bytes, worker time, the ledger's states: renewed every two seconds."""
        return _json(await desk().overview())

    @look("/sites", "SitePage", "Some sites.", "look")
    async def sites(
        sort: Annotated[
            str, Query(description=f"One of {', '.join(SORTS)}; with a minus in front, the greatest first.")
        ] = "-owed",
        text: Annotated[str, Query(max_length=300, description="A part of the name.")] = "",
        state: Annotated[SiteState | None, Query(description="Only those in this state.")] = None,
        after: After = None,
        limit: Limit = 100,
    ) -> Response:
        """Sites in order: state, delay, breaker, queue, robots.txt, last error and what an operator ordered."""
        return _json(await desk().sites(SiteQuery(sort, text, state), after, limit))

    @look("/site", "SiteShown", "One site.", "look")
    async def site(
        key: Annotated[str, Query(min_length=1, max_length=300, description="Its name, such as example.org.")],
    ) -> Response:
        """One site, all of it, with its latest failures; also one that is not known."""
        return _json(await desk().site(key))

    @look("/urls", "UrlPage", "Some URLs.", "look")
    async def urls(
        state: Annotated[State | None, Query(description="Only those in this state.")] = None,
        reason: Why = None,
        site: SiteName = None,
        status: Status = None,
        text: Text = None,
        after: After = None,
        limit: Limit = 100,
    ) -> Response:
        """The ledger, page by page at any size: what is owed, then what has ended, then what was fetched."""
        return _json(await desk().urls(Search(state, reason, site, status, text or None), after, limit))

    @look("/url", "StoryShown", "The story of one URL.", "look")
    async def url(
        url: Annotated[str, Query(min_length=1, max_length=LONGEST, description="As somebody wrote it.")],
    ) -> Response:
        """How it was found, what was decided, every visit with its chain, its state, and what comes next."""
        return _json(await desk().story(Url(url)))

    @look("/letters", "LetterPage", "Some dead letters.", "letters")
    async def letters(  # noqa: PLR0913, PLR0917 - one argument for each filter
        reason: Why = None,
        site: SiteName = None,
        status: Status = None,
        text: Text = None,
        since: Annotated[
            float | None, Query(ge=0, le=1e11, description="Visited last at this moment or later.")
        ] = None,
        until: Annotated[
            float | None, Query(ge=0, le=1e11, description="Visited last at this moment or before.")
        ] = None,
        after: After = None,
        limit: Limit = 100,
    ) -> Response:
        """URLs that were given up, with counts of all of them by reason."""
        search = Search(None, reason, site, status, text or None)
        return _json(await desk().letters(search, after, limit, since=since, until=until))

    @look("/settings", "SettingsShown", "Every setting.", "look")
    async def settings() -> Response:
        """Every setting with its value and where it came from; passwords are hidden."""
        return _json(desk().settings())


def _add_acts(api: APIRouter, desk: Callable[[], Desk]) -> None:
    def act(path: str, shape: str, description: str, body: str, tag: str) -> Callable[[Answering], Answering]:
        answers = shown(shape, description)
        return api.post(path, response_class=Response, responses=answers, openapi_extra=taken(body), tags=[tag])

    @act("/site/order", "OrderShown", "The order that is in force now.", "SiteOrdering", "act")
    async def order(request: Request, _acting: Acting) -> Response:
        """Pause or resume a site, exclude it, or set its delay. Workers obey within about a second."""
        asked = _taken(await request.body(), SiteOrdering)
        change = OrderChange(asked.paused, asked.excluded, asked.delay)
        return _json(await desk().order(asked.site, change, BY))

    @act("/letters/replay", "Acted", "How many are owed a visit again.", "Letters", "act")
    async def replay(request: Request, _acting: Acting) -> Response:
        """Owe dead letters a visit again, with fresh counts. Of two who replay one letter, one does."""
        return _json(await desk().replay(_urls(_taken(await request.body(), Letters).urls), BY))

    @act("/letters/drop", "Acted", "How many were dropped.", "Letters", "act")
    async def drop(request: Request, _acting: Acting) -> Response:
        """End dead letters for good: nothing brings them back. Of two who drop one letter, one does."""
        return _json(await desk().drop(_urls(_taken(await request.body(), Letters).urls), BY))


def _json(value: object) -> Response:
    return Response(to_json(value), media_type="application/json")


def _taken(body: bytes, kind: type[T]) -> T:
    try:
        return from_json(body, kind)
    except (DecodeError, ValidationError, UnicodeDecodeError) as error:
        raise ConfigError(f"the body cannot be read: {error}") from error


def _urls(texts: Sequence[str]) -> list[Url]:
    return list(dict.fromkeys(map(Url, texts)))
