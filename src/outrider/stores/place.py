"""A store URL, taken apart. Options ride in its query; what nobody takes out is an error that names those known."""

import re
from typing import Final
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from outrider.errors import ConfigError

_PASSWORD: Final = re.compile(r":.*@", re.DOTALL)
"""Greedy: rather a host too much is hidden than a part of a password that holds an @ or a / is shown."""
_AUTHORITY: Final = re.compile(r"[^/?#]*")


class Place:
    """Where a store is: `redis://user:secret@host:6379/0?pool=20`. Its text never shows the password.

    With `must_exist` a backend that finds no store there makes none, and raises `ConfigError`. A cluster may be named
    by several of its `hosts`, parted by commas; a backend that asks for its `host` has one.
    """

    def __init__(self, url: str, *, must_exist: bool = False) -> None:
        try:
            authority, parts = _split(url)
            who, _, hosts = authority.rpartition("@")
            self.hosts = tuple(map(_host_and_port, hosts.split(",")))
        except ValueError as error:
            # What the parser complains about may be a part of the password, so it is not quoted.
            raise ConfigError(f"{_hidden(url)!r} is not a store URL: its host or port cannot be read") from error
        self.url = url
        self.must_exist = must_exist
        self.scheme = parts.scheme
        self.user, self.password = map(unquote, who.partition(":")[::2])
        self.path = unquote(parts.path)
        self._options = dict(parse_qsl(parts.query, keep_blank_values=True))
        self._known: list[str] = []
        self._shown = _hidden(url)

    def __str__(self) -> str:
        return self._shown

    @property
    def host(self) -> str:
        return self._only_host[0]

    @property
    def port(self) -> int | None:
        return self._only_host[1]

    @property
    def _only_host(self) -> tuple[str, int | None]:
        if len(self.hosts) > 1:
            raise ConfigError(f"{self}: expected one host, not {len(self.hosts)}")
        return self.hosts[0]

    def text(self, name: str, default: str, choices: tuple[str, ...] = ()) -> str:
        """Take an option out."""
        self._known.append(name)
        value = self._options.pop(name, default)
        if choices and value not in choices:
            raise ConfigError(f"{self}: {name}={value!r}; expected {' or '.join(choices)}")
        return value

    def number(self, name: str, default: int, least: int = 1) -> int:
        self._known.append(name)
        value = self._options.pop(name, str(default))
        if not value.isascii() or not value.isdigit() or int(value) < least:
            raise ConfigError(f"{self}: {name}={value!r}; expected a whole number from {least} up")
        return int(value)

    def end(self) -> None:
        """Every option that the backend knows has been taken."""
        if self._options:
            known = f"it knows {', '.join(sorted(self._known))}" if self._known else "it has none"
            raise ConfigError(f"{self}: no such option: {', '.join(sorted(self._options))}; {known}")


def _split(url: str) -> tuple[str, SplitResult]:
    """The authority, and all else. `urlsplit` takes no address in brackets among several hosts, since some versions."""
    scheme, separator, rest = url.partition("://")
    authority = _AUTHORITY.match(rest)[0] if separator else ""  # type: ignore[index]  # it matches everything
    return authority, urlsplit(scheme + separator + rest[len(authority) :])


def _host_and_port(text: str) -> tuple[str, int | None]:
    parts = urlsplit(f"//{text}")
    return parts.hostname or "", parts.port


def with_option(url: str, name: str, value: str) -> str:
    """The same place with an option that it does not have yet: its own wins."""
    query = _split(url)[1].query
    if any(part.partition("=")[0] == name for part in query.split("&")):
        return url
    return f"{url}{'&' if query else '?'}{name}={quote(value, safe='')}"


def _hidden(url: str) -> str:
    """Also in an option, also where the text is no URL."""
    scheme, separator, rest = url.partition("://")
    return scheme + separator + _PASSWORD.sub(":***@", rest)
