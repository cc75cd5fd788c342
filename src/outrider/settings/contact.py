"""May we go out without a name? Only on this machine: whoever is visited must be able to reach the visitor."""

from collections.abc import Iterable

from outrider.errors import ConfigError
from outrider.model.url import Url
from outrider.settings.agent import holds_contact
from outrider.settings.keys import Settings


def require_contact(settings: Settings, urls: Iterable[Url]) -> None:
    """Raises `ConfigError` when a URL leads off this machine and neither contact nor user agent says who we are."""
    if settings.contact is not None or holds_contact(settings.user_agent):
        return
    for url in urls:
        if not is_loopback(url):
            raise ConfigError(
                f"contact = none: to visit {url.host}, its owner must be able to reach you: "
                "say how (--contact you@example.org, OUTRIDER_CONTACT=…, or contact in outrider.toml)"
            )


def is_loopback(url: Url) -> bool:
    """By name, or by a literal address: nothing is resolved here. The guard judges every address later."""
    host = url.host.rstrip(".")
    # The URL parser has turned every spelling of an IPv4 address into four decimal bytes.
    is_ipv4 = host.rpartition(".")[2].isdigit()
    return host in {"localhost", "[::1]"} or host.endswith(".localhost") or (is_ipv4 and host.startswith("127."))
