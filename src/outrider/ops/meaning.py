"""What does a reason mean, in one sentence, and what would have to change? For every member of the closed list.

Only rules of our own have a setting to be changed: what a site asks for, we offer no way around.
"""

from typing import Final

from outrider.model.reason import Family, Reason
from outrider.model.status import PHRASES

_MEANING: Final[dict[Reason, str]] = {
    Reason.INVALID_URL: "it is not a URL that could be asked for",
    Reason.UNSUPPORTED_SCHEME: "only http and https are crawled",
    Reason.URL_TOO_LONG: "its text is longer than we accept",
    Reason.TOO_DEEP: "it is more links away from a seed than we go",
    Reason.OUT_OF_SCOPE: "the crawl does not go there",
    Reason.EXCLUDED_SITE: "its site is excluded",
    Reason.SKIP_PATTERN: "its path matches a pattern that is skipped",
    Reason.NON_TEXT_EXTENSION: "its extension names a kind of file that is not read",
    Reason.SITE_QUOTA: "its site has had as many URLs or pages as one site may have",
    Reason.TRAP: "it looks like one of endlessly many",
    Reason.ROBOTS_DISALLOWED: "the site's robots.txt forbids it",
    Reason.ROBOTS_UNREACHABLE: "the site's robots.txt cannot be had, so nobody knows whether we may",
    Reason.CRAWL_DELAY_TOO_LONG: "the site asks for longer pauses than we keep a queue for",
    Reason.TOO_MANY_REDIRECTS: "its redirects go on for longer than we follow",
    Reason.REDIRECT_LOOP: "its redirects lead in a circle",
    Reason.INVALID_REDIRECT: "it redirects to something that cannot be asked for",
    Reason.REDIRECT_NOT_FOLLOWED: "it redirects, and redirects are not followed",
    Reason.BLOCKED_ADDRESS: "its address is not a public one",
    Reason.DNS_FAILURE: "the name of its host could not be resolved",
    Reason.DNS_NOT_FOUND: "the name of its host does not exist",
    Reason.CONNECT_REFUSED: "its host refused the connection",
    Reason.CONNECT_FAILED: "its host could not be connected to",
    Reason.CONNECT_TIMEOUT: "its host did not answer to a connection in time",
    Reason.TLS_FAILURE: "no secure connection could be made",
    Reason.TLS_EXPIRED: "its certificate has expired",
    Reason.TLS_WRONG_NAME: "its certificate is for another name",
    Reason.TLS_UNTRUSTED: "its certificate is not trusted",
    Reason.READ_TIMEOUT: "its answer did not come in time",
    Reason.CONNECTION_LOST: "the connection broke before the answer was whole",
    Reason.PROTOCOL_ERROR: "its answer was not HTTP as we know it",
    Reason.BODY_TOO_LARGE: "its content is larger than we read",
    Reason.UNSUPPORTED_CONTENT_TYPE: "its content is of a type that is not wanted",
    Reason.EMPTY_BODY: "its answer had no content",
    Reason.UNDECODABLE: "its content could not be decoded",
    Reason.UNSOLICITED_NOT_MODIFIED: "it answered 304 to a request that did not ask for that",
    Reason.SITE_UNREACHABLE: "its site was down for so long that it was set aside",
    Reason.LEASE_EXPIRED_TOO_OFTEN: "workers that held it died again and again",
    Reason.INTERNAL_ERROR: "we made a mistake; please report it",
    Reason.DISMISSED: "an operator has dismissed it",
    Reason.RATE_LIMITED: "the site asked us to slow down (429 Too Many Requests)",
    Reason.UNEXPECTED_STATUS: "it answered with a status that means nothing here",
    Reason.HTTP_4XX: "it answered with a client error that nobody registered",
    Reason.HTTP_5XX: "it answered with a server error that nobody registered",
}

SETTINGS: Final[dict[Reason, str]] = {
    Reason.URL_TOO_LONG: "max_url_length",
    Reason.TOO_DEEP: "max_depth",
    Reason.OUT_OF_SCOPE: "scope, include or exclude",
    Reason.EXCLUDED_SITE: "excluded_sites",
    Reason.SKIP_PATTERN: "skip_patterns",
    Reason.NON_TEXT_EXTENSION: "skip_extensions",
    Reason.SITE_QUOTA: "site_quota or max_site_pages",
    Reason.TRAP: "trap_repeats, trap_segments or trap_parameters",
    Reason.CRAWL_DELAY_TOO_LONG: "max_crawl_delay",
    Reason.TOO_MANY_REDIRECTS: "max_redirects",
    Reason.REDIRECT_NOT_FOLLOWED: "follow_redirects",
    Reason.BLOCKED_ADDRESS: "allow_private",
    Reason.BODY_TOO_LARGE: "max_body or max_decoded",
    Reason.UNSUPPORTED_CONTENT_TYPE: "content_types",
}
"""Which setting of ours is behind it."""

JUDGED_AGAIN: Final = frozenset(
    {
        *(reason for reason in Reason if reason.family is Family.ADMISSION),
        Reason.ROBOTS_DISALLOWED,
    }
    - {Reason.SITE_QUOTA, Reason.TOO_DEEP}
)
"""What the rules can be asked about again. A quota of pages is none of them, and a depth may be known to nobody."""


def meaning(reason: Reason) -> str:
    """A clause that follows "because"; every reason has one."""
    if reason in _MEANING:
        return _MEANING[reason]
    code = int(reason.removeprefix("http_"))
    return f"it answered {code} {PHRASES[code]}" if code in PHRASES else f"it answered {code}"
