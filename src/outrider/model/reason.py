"""Why did a URL end as it did? One closed list; members are stored, so they are added and never renamed.

There is no `retries_exhausted`: a dead letter names what failed the last time, and its attempts say how often.
"""

from enum import StrEnum
from typing import Final


class Family(StrEnum):
    """What a reason is about, for filters and dashboards."""

    ADMISSION = "admission"
    ROBOTS = "robots"
    REDIRECT = "redirect"
    NETWORK = "network"
    CONTENT = "content"
    HTTP = "http"
    ENGINE = "engine"


class Reason(StrEnum):
    # admission: refused before any request
    INVALID_URL = "invalid_url"
    UNSUPPORTED_SCHEME = "unsupported_scheme"
    URL_TOO_LONG = "url_too_long"
    TOO_DEEP = "too_deep"
    OUT_OF_SCOPE = "out_of_scope"
    EXCLUDED_SITE = "excluded_site"
    SKIP_PATTERN = "skip_pattern"
    NON_TEXT_EXTENSION = "non_text_extension"
    SITE_QUOTA = "site_quota"
    TRAP = "trap"
    # robots
    ROBOTS_DISALLOWED = "robots_disallowed"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    CRAWL_DELAY_TOO_LONG = "crawl_delay_too_long"
    # redirects
    TOO_MANY_REDIRECTS = "too_many_redirects"
    REDIRECT_LOOP = "redirect_loop"
    INVALID_REDIRECT = "invalid_redirect"
    REDIRECT_NOT_FOLLOWED = "redirect_not_followed"
    # network
    BLOCKED_ADDRESS = "blocked_address"
    DNS_FAILURE = "dns_failure"
    DNS_NOT_FOUND = "dns_not_found"
    CONNECT_REFUSED = "connect_refused"
    CONNECT_FAILED = "connect_failed"
    CONNECT_TIMEOUT = "connect_timeout"
    TLS_FAILURE = "tls_failure"
    TLS_EXPIRED = "tls_expired"
    TLS_WRONG_NAME = "tls_wrong_name"
    TLS_UNTRUSTED = "tls_untrusted"
    READ_TIMEOUT = "read_timeout"
    CONNECTION_LOST = "connection_lost"
    PROTOCOL_ERROR = "protocol_error"
    # content
    BODY_TOO_LARGE = "body_too_large"
    UNSUPPORTED_CONTENT_TYPE = "unsupported_content_type"
    EMPTY_BODY = "empty_body"
    UNDECODABLE = "undecodable"
    UNSOLICITED_NOT_MODIFIED = "unsolicited_not_modified"
    # the engine's own ends
    SITE_UNREACHABLE = "site_unreachable"
    LEASE_EXPIRED_TOO_OFTEN = "lease_expired_too_often"
    INTERNAL_ERROR = "internal_error"
    DISMISSED = "dismissed"
    # HTTP, by code
    RATE_LIMITED = "rate_limited"
    UNEXPECTED_STATUS = "unexpected_status"
    HTTP_400 = "http_400"
    HTTP_401 = "http_401"
    HTTP_402 = "http_402"
    HTTP_403 = "http_403"
    HTTP_404 = "http_404"
    HTTP_405 = "http_405"
    HTTP_406 = "http_406"
    HTTP_407 = "http_407"
    HTTP_408 = "http_408"
    HTTP_409 = "http_409"
    HTTP_410 = "http_410"
    HTTP_411 = "http_411"
    HTTP_412 = "http_412"
    HTTP_413 = "http_413"
    HTTP_414 = "http_414"
    HTTP_415 = "http_415"
    HTTP_416 = "http_416"
    HTTP_417 = "http_417"
    HTTP_418 = "http_418"
    HTTP_421 = "http_421"
    HTTP_422 = "http_422"
    HTTP_423 = "http_423"
    HTTP_424 = "http_424"
    HTTP_425 = "http_425"
    HTTP_426 = "http_426"
    HTTP_428 = "http_428"
    HTTP_431 = "http_431"
    HTTP_451 = "http_451"
    HTTP_4XX = "http_4xx"
    HTTP_500 = "http_500"
    HTTP_501 = "http_501"
    HTTP_502 = "http_502"
    HTTP_503 = "http_503"
    HTTP_504 = "http_504"
    HTTP_505 = "http_505"
    HTTP_506 = "http_506"
    HTTP_507 = "http_507"
    HTTP_508 = "http_508"
    HTTP_510 = "http_510"
    HTTP_511 = "http_511"
    HTTP_5XX = "http_5xx"

    @property
    def family(self) -> Family:
        return _FAMILY.get(self, Family.HTTP)

    @classmethod
    def of_status(cls, status: int) -> "Reason":
        """The reason of an unhappy status; codes that nobody registered fall under their class."""
        return _BY_STATUS.get(status) or _BY_CLASS.get(status // 100, cls.UNEXPECTED_STATUS)


_FAMILY: Final[dict[Reason, Family]] = {
    reason: family
    for family, reasons in {
        Family.ADMISSION: (
            Reason.INVALID_URL,
            Reason.UNSUPPORTED_SCHEME,
            Reason.URL_TOO_LONG,
            Reason.TOO_DEEP,
            Reason.OUT_OF_SCOPE,
            Reason.EXCLUDED_SITE,
            Reason.SKIP_PATTERN,
            Reason.NON_TEXT_EXTENSION,
            Reason.SITE_QUOTA,
            Reason.TRAP,
        ),
        Family.ROBOTS: (Reason.ROBOTS_DISALLOWED, Reason.ROBOTS_UNREACHABLE, Reason.CRAWL_DELAY_TOO_LONG),
        Family.REDIRECT: (
            Reason.TOO_MANY_REDIRECTS,
            Reason.REDIRECT_LOOP,
            Reason.INVALID_REDIRECT,
            Reason.REDIRECT_NOT_FOLLOWED,
        ),
        Family.NETWORK: (
            Reason.BLOCKED_ADDRESS,
            Reason.DNS_FAILURE,
            Reason.DNS_NOT_FOUND,
            Reason.CONNECT_REFUSED,
            Reason.CONNECT_FAILED,
            Reason.CONNECT_TIMEOUT,
            Reason.TLS_FAILURE,
            Reason.TLS_EXPIRED,
            Reason.TLS_WRONG_NAME,
            Reason.TLS_UNTRUSTED,
            Reason.READ_TIMEOUT,
            Reason.CONNECTION_LOST,
            Reason.PROTOCOL_ERROR,
        ),
        Family.CONTENT: (
            Reason.BODY_TOO_LARGE,
            Reason.UNSUPPORTED_CONTENT_TYPE,
            Reason.EMPTY_BODY,
            Reason.UNDECODABLE,
            Reason.UNSOLICITED_NOT_MODIFIED,
        ),
        Family.ENGINE: (
            Reason.SITE_UNREACHABLE,
            Reason.LEASE_EXPIRED_TOO_OFTEN,
            Reason.INTERNAL_ERROR,
            Reason.DISMISSED,
        ),
    }.items()
    for reason in reasons
}
_BY_STATUS: Final[dict[int, Reason]] = {
    int(reason[5:]): reason for reason in Reason if reason.startswith("http_") and reason[5:].isdigit()
} | {429: Reason.RATE_LIMITED}
_BY_CLASS: Final[dict[int, Reason]] = {4: Reason.HTTP_4XX, 5: Reason.HTTP_5XX}
