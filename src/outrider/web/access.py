"""Who may look, and who may act? Decisions on one request, from its head alone; `guard` obeys them.

- A name that nobody serves under is refused: else a page of somebody else's, whose name suddenly means this machine,
  could read what only this machine may (DNS rebinding).
- Where there is a token, everything needs it but the way in: as a bearer, or as the cookie that a login sets. The
  cookie is not the token, so that no copy of it lies in a browser.
- What changes something comes from our own pages or from a program: a browser says where a request comes from, and a
  program says a header that no foreign page can.
"""

import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from outrider.errors import ConfigError

COOKIE: Final = "outrider"
ACT_HEADER: Final = "x-outrider"
"""Whoever changes something by the API says it, with any value."""
LEAST_TOKEN: Final = 16
API: Final = "/api/"
LOGIN: Final = "/login"
STATIC: Final = "/static/"
"""These may be asked for without a token: the way in, and what it looks like."""
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_USUAL_PORT: Final = 80
_LOCAL: Final = ("localhost", "127.0.0.1", "[::1]")


class Refusal(StrEnum):
    WRONG_HOST = "wrong_host"
    NOT_KNOWN = "not_authorized"
    CROSS_SITE = "cross_site"


class Access:
    """`host` and `port` are where it listens; `token` is None on loopback alone."""

    def __init__(self, host: str, port: int, token: str | None = None, names: tuple[str, ...] = ()) -> None:
        self._token = None if token is None else token.encode()
        self._secret = secrets.token_bytes(32)
        self._port = port
        self._names = frozenset(name.lower() for name in names)
        self._hosts = _served_as(host, tuple(self._names))
        self._has_any_address = _is_unspecified(host)

    @property
    def needs_token(self) -> bool:
        return self._token is not None

    @property
    def form_token(self) -> str:
        """What a form of ours carries in its field `csrf`; nobody else's page can read it."""
        return self._signed(b"form")

    @property
    def cookie(self) -> str:
        """What a login is remembered by; it ends with this process."""
        return self._signed(b"login")

    def is_token(self, text: str) -> bool:
        return self._token is not None and hmac.compare_digest(text.encode(), self._token)

    def is_form_token(self, text: object) -> bool:
        return isinstance(text, str) and hmac.compare_digest(text.encode(), self.form_token.encode())

    def refusal(self, method: str, path: str, headers: Mapping[str, str], cookies: Mapping[str, str]) -> Refusal | None:
        """None: go on. `headers` are by name in lower case."""
        if not self._is_served(headers.get("host", "")):
            return Refusal.WRONG_HOST
        bearer = self._has_bearer(headers.get("authorization", ""))
        is_open = path == LOGIN or path.startswith(STATIC)
        if self.needs_token and not is_open and not bearer and not self._has_cookie(cookies):
            return Refusal.NOT_KNOWN
        if method not in _SAFE and not self._is_from_us(path, headers):
            return Refusal.CROSS_SITE
        return None

    def _is_from_us(self, path: str, headers: Mapping[str, str]) -> bool:
        if headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}:
            return False
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower():
            return False
        return not path.startswith(API) or ACT_HEADER in headers

    def _is_served(self, host: str) -> bool:
        """An address is no name that somebody could point elsewhere: where all are listened at, each is ours."""
        name, colon, port = host.lower().rpartition(":")
        if not colon or port.endswith("]"):
            name, port = host.lower(), str(_USUAL_PORT)
        is_ours = name in self._hosts or (self._has_any_address and _is_address(name))
        # Behind a proxy a name has the proxy's port, which nobody here knows.
        return is_ours and (port == str(self._port) or name in self._names)

    def _has_bearer(self, header: str) -> bool:
        scheme, _, token = header.partition(" ")
        return scheme.lower() == "bearer" and self.is_token(token.strip())

    def _has_cookie(self, cookies: Mapping[str, str]) -> bool:
        return hmac.compare_digest(cookies.get(COOKIE, "").encode(), self.cookie.encode())

    def _signed(self, what: bytes) -> str:
        return hmac.new(self._secret, what + (self._token or b""), hashlib.sha256).hexdigest()


def is_loopback(host: str) -> bool:
    """Of an address: nobody but this machine can ask there."""
    return ipaddress.ip_address(host).is_loopback if _is_address(host) else host == "localhost"


def token_for(host: str, given: str | None) -> str | None:
    """Raises `ConfigError` for an address that others can reach without a token, and for a token one could guess."""
    if given is None:
        if is_loopback(host):
            return None
        raise ConfigError(
            f"{host} can be reached by others, who must then say a token: set OUTRIDER_SERVE_TOKEN, "
            "or let outrider serve make one with --token new"
        )
    if len(given) < LEAST_TOKEN or not given.isascii() or not given.isprintable() or " " in given:
        raise ConfigError(f"the token: expected at least {LEAST_TOKEN} printable characters without blanks")
    return given


def new_token() -> str:
    return secrets.token_urlsafe(24)


def _served_as(host: str, names: tuple[str, ...]) -> frozenset[str]:
    """As a browser writes them, without the port."""
    own = f"[{host}]" if ":" in host else host
    is_here = is_loopback(host) or _is_unspecified(host)
    return frozenset({own.lower(), *names, *(_LOCAL if is_here else ())})


def _is_unspecified(host: str) -> bool:
    return _is_address(host) and ipaddress.ip_address(host).is_unspecified


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
