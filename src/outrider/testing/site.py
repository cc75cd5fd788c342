"""A `Transport` that answers from a table: the whole web of a test, with no socket."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from outrider.errors import DnsError, TransportError
from outrider.ports import Clock, Request, Response

Answer: TypeAlias = Response | TransportError
Script: TypeAlias = Answer | Iterable[Answer]


class ScriptedSite:
    """Answers by URL, or by `"METHOD URL"` where the method matters.

    An answer is a `Response`, or a `TransportError` to raise; a sequence of them is given out one a request, and its
    last one for ever after. A URL that is not in the table is a name that does not exist, unless it ends in
    /robots.txt: most sites have none. `asked` is the referee's log: what was asked for, and when.
    """

    def __init__(self, table: Mapping[str, Script], clock: Clock | None = None) -> None:
        self._table: dict[str, list[Answer]] = {url: _as_list(script) for url, script in table.items()}
        self._clock = clock
        self.asked: list[tuple[float, Request]] = []

    async def request(self, request: Request) -> Response:
        self.asked.append((self._clock.now() if self._clock else 0.0, request))
        answers = self._table.get(f"{request.method} {request.url}") or self._table.get(request.url)
        if answers is None:
            if request.url.path == "/robots.txt":
                return Response(404, (), b"")
            raise DnsError(f"{request.url.host} is not in the script", exists=False)
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, TransportError):
            raise answer
        return answer


def page(body: bytes | str = b"<title>a page</title>", status: int = 200, **headers: str) -> Response:
    """A response with headers given as keywords: `etag='"1"'`, `retry_after="3"`."""
    data = body.encode() if isinstance(body, str) else body
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    named = {"content-type": "text/html; charset=utf-8", "content-length": str(len(data))} | given
    return Response(status, tuple(named.items()), data)


def _as_list(script: Script) -> list[Answer]:
    answers = [script] if isinstance(script, Response | TransportError) else list(script)
    if not answers:
        raise ValueError("a script needs at least one answer")
    return answers
