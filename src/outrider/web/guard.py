"""Every request passes here, before anything looks at it: who asks, how much they send, and what a browser may do.

Pure ASGI, without a router above it: there is no path around it. What it refuses is one JSON shape for programs and
plain text, or the way in, for people.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from outrider.errors import OutriderError
from outrider.model.codec import to_json
from outrider.web.access import API, STATIC, Access, Refusal
from outrider.web.shapes import Wrong

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BODY: Final = 1 << 20
_TOO_MUCH: Final = "more was sent than anybody here reads"

_POLICY: Final = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'; img-src 'self'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # Not "no-referrer": a browser would then say "null" in place of where our own forms come from.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_SENTENCES: Final = {
    Refusal.WRONG_HOST: (
        421,
        "nothing is served under this name: use the printed address, or add it to serve_names",
    ),
    Refusal.NOT_KNOWN: (401, "the token is missing or wrong: send it as Authorization: Bearer TOKEN, or log in"),
    Refusal.CROSS_SITE: (403, "this would change something, and does not come from here; programs say X-Outrider: 1"),
}


class TooMuch(OutriderError):
    """More is sent than anybody here reads, and nobody had said how much it would be."""


class Guard:
    def __init__(self, app: App, access: Access, most_body: int = MOST_BODY) -> None:
        self._app = app
        self._access = access
        self._most_body = most_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # there is nothing else here
        headers = _headers(scope)
        path = str(scope["path"])
        is_static = path.startswith(STATIC)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_ours(list(message.get("headers", ())), is_static=is_static)
            await send(message)

        refusal = self._access.refusal(str(scope["method"]), path, headers, _cookies(headers.get("cookie", "")))
        if refusal is not None:
            await _refuse(refusal, path, str(scope["method"]), guarded)
            return
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length[:20]) > self._most_body:
            await _answer(413, "too_much", _TOO_MUCH, path, guarded)
            return
        read = 0

        async def bounded() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most_body:
                raise TooMuch(_TOO_MUCH)
            return message

        await self._app(scope, bounded, guarded)


def _headers(scope: Scope) -> dict[str, str]:
    """Of one that is sent twice, the first: two hosts or two origins are not for us to choose from."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in found and key in {"host", "origin"}:
            found[key] = ""
        found.setdefault(key, value.decode("latin-1"))
    return found


def _cookies(header: str) -> dict[str, str]:
    """Leniently: other programs of this machine set cookies for the same host, and ours is plain."""
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return {name: value for name, _, value in pairs}


def _with_ours(headers: list[tuple[bytes, bytes]], *, is_static: bool) -> list[tuple[bytes, bytes]]:
    """What is data is kept by nobody; what looks the same for everybody may be."""
    names = {name.lower() for name, _ in headers}
    caching = [] if is_static or b"cache-control" in names else [(b"cache-control", b"no-store")]
    return [*headers, *(pair for pair in _HEADERS if pair[0] not in names), *caching]


async def _refuse(refusal: Refusal, path: str, method: str, send: Send) -> None:
    status, sentence = _SENTENCES[refusal]
    if refusal is Refusal.NOT_KNOWN and not path.startswith(API) and method == "GET":
        await send({"type": "http.response.start", "status": 303, "headers": [(b"location", b"/login")]})
        await send({"type": "http.response.body", "body": b""})
        return
    await _answer(status, refusal.value, sentence, path, send)


async def _answer(status: int, code: str, sentence: str, path: str, send: Send) -> None:
    if path.startswith(API):
        kind, body = b"application/json", to_json(Wrong(sentence, code))
    else:
        kind, body = b"text/plain; charset=utf-8", f"{sentence}\n".encode()
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
