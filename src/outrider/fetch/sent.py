"""What did we send? The head of a request, as the archive keeps it: libcurl writes these lines, in this order."""

from outrider.fetch.header_lines import header_line, header_lines
from outrider.fetch.visit import request_headers
from outrider.model.outcome import Validators
from outrider.model.url import Url


class RequestHeads:
    """`agent` is the User-Agent header."""

    def __init__(self, agent: str) -> None:
        self._agent = header_line("User-Agent", agent)

    def of(self, url: Url, validators: Validators | None) -> bytes:
        """Of a GET. HTTP/2 has no such lines; it is written as what it means."""
        lines = header_lines(self._agent, tuple(request_headers(validators).items()))
        first = f"GET {url.target} HTTP/1.1\r\nHost: {url.authority}\r\n".encode("ascii", "replace")
        return first + b"\r\n".join(lines) + b"\r\n\r\n"
