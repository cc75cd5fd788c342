"""What is a URL? Text, parsed by the URL Standard, http and https only.

A `Url` *is* the text that goes on the wire: without userinfo and fragment, otherwise byte for byte what the standard
makes of the author's text (an escape such as `%7e` stays as it was written; the case of path and query is never
touched). Which URLs are the same page is another question: see `identity`. Making a `Url` from a link is the hottest
call of the product, so it is one library call and a few slices, and every part of it is cut out on demand.
"""

import hashlib
from functools import cache, lru_cache
from typing import Final, Literal, Self

from ada_url import join_url
from publicsuffixlist import PublicSuffixList

from outrider.errors import InvalidUrl

SiteBy = Literal["domain", "host"]

LONGEST: Final = 65_536
"""Longer texts are refused unparsed; what a crawl admits is far shorter and a setting."""

_LONGEST_AUTHORITY: Final = 260
"""RFC 1035 2.3.4: a name has at most 253 characters (and a dot); then a port. The longer ones would fill our caches."""

_DEFAULT_PORT: Final = {"http": 80, "https": 443}


class Url(str):
    __slots__ = ()

    def __new__(cls, text: str, base: str | None = None) -> Self:
        """Parse `text`, relative to `base` when there is one. Raises `InvalidUrl` and nothing else."""
        if len(text) > LONGEST:
            raise InvalidUrl(text, f"is longer than {LONGEST} characters")
        try:
            # Joining nothing to a URL parses it and drops the fragment: cheaper than the library's other ways.
            href: str = join_url(text, "") if base is None else join_url(base, text)
        except ValueError:
            raise InvalidUrl(text, _what_is_wrong(text, base)) from None
        fragment = href.find("#")
        if fragment >= 0:
            href = href[:fragment]
        if href.startswith("https://"):
            start = 8
        elif href.startswith("http://"):
            start = 7
        else:
            raise InvalidUrl(text, f"has the scheme {href.partition(':')[0]!r}; only http and https are crawled")
        if "@" in href:
            # The parser escapes an @ inside userinfo, and no host can hold one: the last @ before the path ends it.
            userinfo_end = href.rfind("@", start, href.find("/", start)) + 1
            if userinfo_end:
                href = href[:start] + href[userinfo_end:]
        if href.find("/", start) - start > _LONGEST_AUTHORITY:
            raise InvalidUrl(text, f"has a host of more than {_LONGEST_AUTHORITY} characters")
        return str.__new__(cls, href)

    @classmethod
    def trusted(cls, text: str) -> Self:
        """Text that came out of a `Url` before, such as a row of our own store: not parsed again."""
        return str.__new__(cls, text)

    def resolve(self, link: str) -> "Url":
        return Url(link, self)

    @property
    def scheme(self) -> str:
        return "https" if self.startswith("https:") else "http"

    @property
    def authority(self) -> str:
        """Host, and port unless it is the scheme's own."""
        start = 8 if self.startswith("https:") else 7
        return self[start : self.find("/", start)]

    @property
    def origin(self) -> str:
        """Scheme, host and port: what one robots.txt speaks for."""
        return self[: self.find("/", 8)]

    @property
    def host(self) -> str:
        """Lower case, in ASCII; an IPv6 address keeps its brackets."""
        return _split_authority(self.authority, 0)[0]

    @property
    def port(self) -> int:
        return _split_authority(self.authority, _DEFAULT_PORT[self.scheme])[1]

    @property
    def target(self) -> str:
        """Path and query: what the request line carries, and what robots rules match."""
        return self[self.find("/", 8) :]

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    @property
    def sha256(self) -> str:
        """Of the fetch form, in hex: the name of its cached content (S4-33)."""
        return hashlib.sha256(self.encode()).hexdigest()

    def site(self, by: SiteBy = "domain") -> str:
        """The politeness unit. An IP address or a localhost name is its own, with its port (C22, H2-26)."""
        host, port = _split_authority(self.authority, _DEFAULT_PORT[self.scheme])
        return _site_name(host, by) or f"{host.rstrip('.')}:{port}"


def _split_authority(authority: str, default_port: int) -> tuple[str, int]:
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        return authority, default_port
    return host, int(port)


@lru_cache(maxsize=65_536)
def _site_name(host: str, by: SiteBy) -> str | None:
    """None when the host has no name of its own: then its address and port are all we know it by."""
    bare = host.rstrip(".")
    last_label = bare.rpartition(".")[2]
    # The parser turns every host whose last label is a number into four decimal bytes, or refuses it.
    if host.startswith("[") or last_label.isdigit() or last_label in {"localhost", ""}:
        return None
    if by == "host":
        return bare
    # A host that is itself a public suffix (github.io) has no registrable domain above it.
    return _suffixes().privatesuffix(bare) or bare


@cache
def _suffixes() -> PublicSuffixList:
    """Read from the package on first use: it takes a tenth of a second, which `outrider --help` should not."""
    return PublicSuffixList()


def _what_is_wrong(text: str, base: str | None) -> str:
    bare = text.strip()
    if not bare:
        return "is empty"
    if base is not None or "://" in bare:
        return "cannot be parsed as a URL"
    if ":" in bare:
        return "is not an http or https URL"
    return f"is not an absolute URL; did you mean https://{bare.lstrip('/')[:40]} ?"
