"""One request, one response: HTTP/1.1 and HTTP/2 on libcurl, to an address that we chose ourselves.

- The address comes from `resolve` and is pinned with CONNECT_TO, so that name, SNI and Host stay the URL's. It is
  checked again when the socket is made, and once more on a kept connection before the request is sent. Behind a proxy
  the connection goes to the proxy: the pin cannot hold there, but the target has still been resolved and judged.
- A request is sent once. libcurl would send it again when a kept connection turns out to be dead; that is forbidden and
  ends as `ConnectionLost(reused=True)`, so that every try is counted by whoever decides about tries.
- Redirects, retries, cookies, credentials and decoding are not here. Phases are ended by `limits`, not by libcurl,
  which knows one timeout for TCP and TLS together and none for a stall.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from time import monotonic
from types import TracebackType
from typing import Final, Self

import pycurl
from msgspec import Struct

from outrider.errors import (
    AddressRefused,
    ConfigError,
    ConnectError,
    ConnectionLost,
    Phase,
    ProtocolError,
    TimedOut,
    TransportError,
)
from outrider.fetch.answer import Answer, Stop
from outrider.fetch.curl_errors import Facts, error_from
from outrider.fetch.curl_loop import CurlLoop, Easy, Line
from outrider.fetch.header_lines import header_line, header_lines
from outrider.fetch.limits import Limits
from outrider.model.outcome import Timing
from outrider.model.url import Url
from outrider.ports import Request, Response

__all__ = ["CurlTransport", "Limits", "Pin"]

# Without the post-quantum group, whose key share costs about 8 % of a handshake; public pages are no secret to keep for
# decades. P-384 stays, because some servers know nothing else.
_CURVES: Final = "X25519:P-256:P-384"

_BUFFER: Final = 131_072
"""Bytes that libcurl may read at once, eight times its own default: most pages come in one piece. All share it."""


class Pin(Struct, frozen=True):
    """The addresses that a name may be reached at, judged and in order of preference; IPv6 without brackets."""

    addresses: tuple[str, ...]


Resolve = Callable[[Url], Awaitable[Pin]]
Recall = Callable[[Url], Pin | None]


def _forgetful(_url: Url) -> None:
    return None


class CurlTransport:
    """An async context manager; one for each event loop. Leaving it ends every request that is still in flight."""

    def __init__(  # noqa: PLR0913 - each keyword is one promise to the composition root
        self,
        resolve: Resolve,
        limits: Limits,
        *,
        user_agent: str,
        check_address: Callable[[str, int], bool],
        recall: Recall = _forgetful,
        http2: bool = True,
        verify: bool | Callable[[Url], bool] = True,
        ca_file: str | None = None,
        proxy: str | None = None,
        max_connections: int = 1_000,
    ) -> None:
        """`check_address` vetoes (address, port) at socket creation; `verify` may decide for each URL.

        `recall` is asked before `resolve` and may know the answer: nothing is waited for then, and no timer is set.
        """
        self._resolve = resolve
        self._recall = recall
        self._limits = limits
        self._agent = header_line("User-Agent", user_agent)
        self._check = check_address
        self._http2 = http2
        self._verify = verify
        self._ca_file = ca_file or ssl.get_default_verify_paths().cafile
        self._proxy = proxy
        self._max_connections = max_connections
        self._curl: CurlLoop | None = None
        self._idle: list[Line] = []
        self._in_flight: dict[Easy, Line] = {}
        self._sweeper: asyncio.TimerHandle | None = None
        self._swept_at = 0.0
        self._patient = 0.0
        if ca_file is not None:
            _check_readable(ca_file)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._curl = CurlLoop(self._on_done, self._max_connections)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        for line in list(self._in_flight.values()):
            self._give_up(line, ConnectionLost("the transport was closed"))
        curl, self._curl = self._curl, None
        for line in self._idle:
            line.easy.close()
        self._idle.clear()
        if curl is not None:
            curl.close()

    async def request(self, request: Request) -> Response:
        """Ask once. Raises `TransportError`, or `ConfigError` when a header of our own could break the request."""
        if request.method not in {"GET", "HEAD"}:
            raise ConfigError(f"method is {request.method!r}; expected GET or HEAD")
        lines = header_lines(self._agent, tuple(request.headers.items()))
        started = monotonic()
        deadline = started + self._limits.total
        pin = self._recall(request.url) or await self._look_up(request.url)
        resolved = connecting = monotonic()
        connect_until = resolved + self._limits.connect
        addresses = pin.addresses if self._proxy is None else pin.addresses[:1]
        for left in range(len(addresses), 0, -1):
            # Each address may take its share of what is left, so that a black hole leaves time for the next one.
            budget = (connect_until - connecting) / left
            line = self._line()
            try:
                await self._run(line, request, lines, addresses[-left], deadline, budget)
            except (ConnectError, TimedOut) as error:
                is_connecting = isinstance(error, ConnectError) or error.phase is Phase.CONNECT
                connecting = monotonic()
                if left == 1 or not is_connecting or connecting >= connect_until:
                    raise
                continue
            return self._response(line, resolved - started, connecting - started)
        raise AddressRefused(f"no address to connect to for {request.url.host}")

    async def _look_up(self, url: Url) -> Pin:
        try:
            async with asyncio.timeout(self._limits.total):
                return await self._resolve(url)
        except TimeoutError:
            raise TimedOut(f"no address within {self._limits.total:g} s", Phase.DNS) from None

    async def _run(
        self,
        line: Line,
        request: Request,
        header_lines: tuple[bytes, ...],
        address: str,
        deadline: float,
        budget: float,
    ) -> None:
        """Carry one attempt to its end. The line is out of libcurl afterwards, whatever happens."""
        if self._curl is None:
            raise ConnectionLost("the transport is closed")
        ended: asyncio.Future[TransportError | None] = self._loop.create_future()
        easy = line.easy
        is_head = request.method == "HEAD"
        # An answer to HEAD is over with its headers: stopping it would only cost the connection.
        line.answer.reset(request.body_cap, frozenset() if is_head else request.wanted_types)
        line.start(address, ended, deadline, budget)
        easy.setopt(pycurl.URL, request.url)
        if is_head != line.is_head:
            easy.setopt(pycurl.NOBODY if is_head else pycurl.HTTPGET, 1)
            line.is_head = is_head
        # libcurl rewrites escapes in a path (%2f to %2F): where there are any, it is given the text to send.
        target = request.url.target if "%" in request.url and self._proxy is None else None
        if target != line.target:
            easy.setopt(pycurl.REQUEST_TARGET, target)
            line.target = target
        if line.header_lines is not header_lines:
            easy.setopt(pycurl.HTTPHEADER, list(header_lines))
            line.header_lines = header_lines
        if callable(self._verify) and request.url.startswith("https:"):
            self._set_verify(line, is_on=self._verify(request.url))
        self._in_flight[easy] = line
        self._curl.add(easy)
        if self._sweeper is None:
            self._swept_at = monotonic()
            self._sweeper = self._loop.call_later(self._limits.sweep, self._sweep)
        try:
            error = await ended
        except asyncio.CancelledError:
            # The transfer may have ended in this very moment: then it is out already.
            if easy in self._in_flight:
                self._give_up(line, None)
            easy.close()
            raise
        if error is not None:
            # A handle that has failed is not used again: its errno and its state are its own.
            easy.close()
            raise error

    def _line(self) -> Line:
        if self._idle:
            return self._idle.pop()
        easy = pycurl.Curl()
        for option, value in (
            (pycurl.NOSIGNAL, 1),
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
            (pycurl.FOLLOWLOCATION, 0),
            (pycurl.PATH_AS_IS, 1),  # a Url is what goes on the wire, dots and all
            (pycurl.HTTP_CONTENT_DECODING, 0),
            (pycurl.HTTP09_ALLOWED, 0),
            (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS if self._http2 else pycurl.CURL_HTTP_VERSION_1_1),
            (pycurl.SSL_EC_CURVES, _CURVES),
            (pycurl.NETRC, pycurl.NETRC_IGNORED),
            # Empty texts, so that no variable of the environment chooses a proxy for us, or a way around ours.
            (pycurl.PROXY, self._proxy or ""),
            (pycurl.NOPROXY, ""),
            (pycurl.BUFFERSIZE, _BUFFER),
        ):
            easy.setopt(option, value)
        if self._ca_file is not None:
            easy.setopt(pycurl.CAINFO, self._ca_file)
        line = Line(easy, Answer(self._limits.max_header_bytes), self._check if self._proxy is None else None)
        self._set_verify(line, is_on=self._verify is not False)
        return line

    @staticmethod
    def _set_verify(line: Line, *, is_on: bool) -> None:
        if is_on is not line.verifies:
            line.easy.setopt(pycurl.SSL_VERIFYPEER, 1 if is_on else 0)
            line.easy.setopt(pycurl.SSL_VERIFYHOST, 2 if is_on else 0)
            line.verifies = is_on

    def _on_done(self, easy: Easy, number: int, message: str) -> None:
        line = self._in_flight.pop(easy)
        line.end(self._error(line, number, message))

    def _error(self, line: Line, number: int, message: str) -> TransportError | None:
        answer = line.answer
        if number == 0:
            # The peer closed in good order, but too soon.
            return None if answer.final else ConnectionLost("the answer ends inside its headers")
        if answer.stopped in {Stop.CAP, Stop.TYPE}:
            return None
        if answer.stopped is not None:
            return ProtocolError(answer.stopped.value)
        if line.veto is not None:
            return AddressRefused(f"{line.veto} is not an approved address")
        if line.socket_error is not None:
            return ConnectError(f"no socket: {line.socket_error}", refused=False)
        reused = not line.opened
        if line.resent:
            return ConnectionLost("the connection gave no answer, and nothing is sent twice", reused=reused)
        return error_from(
            Facts(
                number=number,
                message=message,
                os_errno=line.easy.getinfo(pycurl.OS_ERRNO),
                verify_result=line.easy.getinfo(pycurl.SSL_VERIFYRESULT),
                ready=answer.ready,
                answered=answer.arrived > 0,
                reused=reused,
            )
        )

    def _response(self, line: Line, dns: float, offset: float) -> Response:
        """Make the response and give the line back. `offset`: from the start of the request to that of the attempt."""
        info = line.easy.getinfo
        answer = line.answer
        tls = info(pycurl.APPCONNECT_TIME) if line.opened else 0.0
        response = Response(
            status=answer.status,
            headers=answer.headers(),
            body=answer.body(),
            complete=answer.stopped is None,
            timing=Timing(
                dns=dns,
                connect=offset + info(pycurl.CONNECT_TIME) if line.opened else 0.0,
                tls=offset + tls if tls else 0.0,
                first_byte=offset + info(pycurl.STARTTRANSFER_TIME),
                total=offset + info(pycurl.TOTAL_TIME),
            ),
            address=line.address,
            http_version=answer.version,
            reused=not line.opened,
        )
        if self._curl is not None and len(self._idle) < self._max_connections:
            answer.reset(body_cap=0, wanted=frozenset())  # a resting line holds no body
            self._idle.append(line)
        else:
            line.easy.close()
        return response

    def _sweep(self) -> None:
        """Look at every request in flight and end those that are overdue; sleep when there are none."""
        self._sweeper = None
        if self._curl is None:
            return
        interval = self._limits.sweep
        now = monotonic()
        self._patient += min(now - self._swept_at, 2 * interval)
        self._swept_at = now
        self._curl.turn()
        for line in list(self._in_flight.values()):
            phase = line.watch.overdue(
                line.phase(), line.answer.arrived, self._patient, self._limits, line.connect_budget
            )
            if phase is None and now >= line.real_deadline:
                phase = Phase.TOTAL
            if phase is not None:
                self._give_up(line, TimedOut(f"too long in phase {phase}", phase))
        if self._in_flight:
            self._sweeper = self._loop.call_later(interval, self._sweep)

    def _give_up(self, line: Line, error: TransportError | None) -> None:
        del self._in_flight[line.easy]
        if self._curl is not None:
            self._curl.remove(line.easy)
        line.end(error)


def _check_readable(ca_file: str) -> None:
    try:
        ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"ca_file is {ca_file!r}; expected a file of PEM certificates: {error}") from error
