"""The honest behaviours: pages with validators, statuses, redirects of every kind, and choices between them."""

from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import Final, TypeAlias

from msgspec import Struct

from outrider.testing.webfarm.kinds import Behaviour, Choice, Instant, Place
from outrider.testing.webfarm.wire import Asked, HeaderFields, HeaderValue, Reply, render

HTML: Final = "text/html; charset=utf-8"
HELLO: Final = "<!doctype html><title>Hello</title><p>Hello from the farm."


class Fixed(Instant, frozen=True):
    """The same answer to everyone."""

    answer: Reply

    def reply(self, asked: Asked, place: Place) -> Reply:  # noqa: ARG002  everyone gets the same
        return self.answer


class Page(Instant, frozen=True):
    """A page that knows conditional requests: 304 to a client that has it already (RFC 9110 13.1)."""

    answer: Reply
    not_modified: Reply
    etag: str | None = None
    last_modified: str | None = None

    def reply(self, asked: Asked, place: Place) -> Reply:  # noqa: ARG002  the same everywhere
        return self.not_modified if self._is_known(asked) else self.answer

    def _is_known(self, asked: Asked) -> bool:
        known_tags = asked.header("If-None-Match")
        if known_tags is not None:
            # RFC 9110 13.1.3: with tags, the date is not looked at, even if no tag matches.
            return known_tags == "*" or _opaque(self.etag or "") in map(_opaque, known_tags.split(","))
        since = asked.header("If-Modified-Since")
        if since is None or self.last_modified is None:
            return False
        try:
            return parsedate_to_datetime(self.last_modified) <= parsedate_to_datetime(since)
        except ValueError:
            return False


def _opaque(tag: str) -> str:
    return tag.strip().removeprefix("W/")


def page(
    body: str | bytes = HELLO,
    *,
    content_type: HeaderValue | None = HTML,
    headers: HeaderFields = (),
    etag: str | None = None,
    last_modified: str | None = None,
    code: int = 200,
) -> Instant:
    """`etag` with its quotes, `last_modified` as an HTTP date, as they go on the wire; None leaves a header out."""
    validators: dict[str, HeaderValue] = {}
    if etag is not None:
        validators["ETag"] = etag
    if last_modified is not None:
        validators["Last-Modified"] = last_modified
    typed: dict[str, HeaderValue] = {} if content_type is None else {"Content-Type": content_type}
    answer = render(code, [*typed.items(), *validators.items(), *_pairs(headers)], _as_bytes(body))
    if not validators:
        return Fixed(answer)
    return Page(answer, render(304, validators), etag, last_modified)


def text(body: str | bytes, *, code: int = 200) -> Instant:
    """Plain text, such as a robots.txt."""
    return page(body, content_type="text/plain; charset=utf-8", code=code)


def empty() -> Instant:
    """A 200 with nothing in it."""
    return page(b"")


def status(code: int, body: str | bytes = b"", headers: HeaderFields = (), *, reason: str | None = None) -> Instant:
    return Fixed(render(code, [("Content-Type", "text/plain"), *_pairs(headers)], _as_bytes(body), reason=reason))


def too_many(retry_after: str | None = None) -> Instant:
    """429; `retry_after` goes out as it is: seconds, a date, or nonsense."""
    return status(429, "slow down", {} if retry_after is None else {"Retry-After": retry_after})


def in_charset(
    content: str, actual: str, *, said: str | None = None, meta: str | None = None, bom: bytes = b""
) -> Instant:
    """Text whose bytes are `actual`, whatever the header (`said`), the meta element and the byte order mark claim."""
    claim = f'<meta charset="{meta}">' if meta else ""
    document = f"<!doctype html>{claim}<p>{content}".encode(actual)
    return page(bom + document, content_type="text/html" if said is None else f"text/html; charset={said}")


class Elsewhere(Struct, frozen=True):
    """A place in this farm, on another host or scheme: its port is known only when the farm runs."""

    host: str
    path: str = "/"
    tls: bool = False


Location: TypeAlias = str | bytes | Elsewhere | None


class Redirect(Instant, frozen=True):
    code: int
    location: Location
    headers: tuple[tuple[str, HeaderValue], ...] = ()

    def reply(self, asked: Asked, place: Place) -> Reply:  # noqa: ARG002  everyone is sent the same way
        location = self.location
        if isinstance(location, Elsewhere):
            location = place.url(location.host, location.path, tls=location.tls)
        where: dict[str, HeaderValue] = {} if location is None else {"Location": location}
        return render(self.code, [("Content-Type", "text/plain"), *where.items(), *self.headers], b"moved")


def redirect(code: int, location: Location = None, headers: HeaderFields = ()) -> Redirect:
    """Any 3xx code; `location` goes out byte for byte, and None sends no Location at all."""
    return Redirect(code, location, tuple(_pairs(headers)))


def chain(path: str, hops: int, then: Behaviour | None = None, *, code: int = 302) -> dict[str, Behaviour]:
    """Paths to put into a site: `path` reaches `then` after `hops` redirects, by way of `path/1`, `path/2` …"""
    stations = [path, *(f"{path}/{hop}" for hop in range(1, hops + 1))]
    return {
        **{here: redirect(code, there) for here, there in pairwise(stations)},
        stations[-1]: then or page(),
    }


def loop(path: str, hops: int, *, code: int = 302) -> dict[str, Behaviour]:
    """Paths to put into a site: after `hops` redirects you are where you began."""
    return chain(path, hops - 1, redirect(code, path), code=code)


class InTurn(Choice, frozen=True):
    """The n-th request for the path gets the n-th; from then on all get the last."""

    behaviours: tuple[Behaviour, ...]

    def choose(self, asked: Asked, nth: int) -> Behaviour:  # noqa: ARG002  only the count matters
        return self.behaviours[min(nth, len(self.behaviours) - 1)]


def in_turn(*behaviours: Behaviour) -> InTurn:
    if not behaviours:
        raise ValueError("nothing to choose from")
    return InTurn(behaviours)


def flaky(failures: Sequence[int | Behaviour], then: Behaviour | None = None) -> InTurn:
    """Each failure once, by status or by behaviour; afterwards all is well."""
    return in_turn(*(status(each) if isinstance(each, int) else each for each in failures), then or page())


class ByMethod(Choice, frozen=True):
    methods: Mapping[str, Behaviour]
    otherwise: Behaviour

    def choose(self, asked: Asked, nth: int) -> Behaviour:  # noqa: ARG002  only the method matters
        return self.methods.get(asked.method, self.otherwise)


def refuses_head(then: Behaviour | None = None, *, code: int = 405) -> ByMethod:
    return ByMethod({"HEAD": status(code, headers={"Allow": "GET"})}, then or page())


def _pairs(headers: HeaderFields) -> list[tuple[str, HeaderValue]]:
    return list(headers.items() if isinstance(headers, Mapping) else headers)


def _as_bytes(body: str | bytes) -> bytes:
    return body if isinstance(body, bytes) else body.encode()
