"""Who do we say we are? The User-Agent, and the product token in it that a robots.txt speaks to (RFC 9309 2.2.1)."""

import re
from typing import Final

_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_COMPATIBLE: Final = re.compile(r"Mozilla/[\d.]+ \(compatible; *([A-Za-z0-9._-]+)")
_URL: Final = re.compile(r"https?://[^\s/:?#]", re.IGNORECASE)
_EMAIL: Final = re.compile(r"[^\s@()<>;,:]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")


def is_header_safe(text: str) -> bool:
    """Printable ASCII and nothing else: no line can be smuggled into a request."""
    return text.isascii() and text.isprintable()


def product_token(user_agent: str) -> str | None:
    """The name before the version; of a browser's disguise (`Mozilla/5.0 (compatible; Name/1.0)`), the name inside."""
    disguised = _COMPATIBLE.match(user_agent)
    if disguised:
        return disguised[1]
    token = _TOKEN.match(user_agent)
    return token[0] if token else None


def holds_contact(text: str) -> bool:
    """Is there a URL or an e-mail address anywhere in it?"""
    return bool(_URL.search(text) or _EMAIL.search(text))


def is_contact(text: str) -> bool:
    """A URL or an e-mail address, fit to stand inside the brackets of a User-Agent comment."""
    bare = text.removeprefix("mailto:")
    safe = is_header_safe(text) and not re.search(r"[\s()\\]", text)
    return safe and bool(_URL.match(text) or _EMAIL.fullmatch(bare))


def full_agent(user_agent: str, contact: str | None) -> str:
    """The header's value: the contact is appended as a comment unless it is there already."""
    return user_agent if contact is None or contact in user_agent else f"{user_agent} (+{contact})"
