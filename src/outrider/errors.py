"""What can go wrong with *us*. The web failing is a value (`model.outcome.Failed`), never one of these.

`TransportError` is the one exception to that rule: it is born in `fetch/transport.py` and dies in `fetch/visit.py`,
where `policy.classify` turns it into a `Failure`. Its attributes are all that the decision needs.
"""

import re
from enum import StrEnum
from typing import Final

_USERINFO: Final = re.compile(r"(?<=//)[^/?#\s]*@")


class OutriderError(Exception):
    """The root: catching it catches everything that Outrider raises on purpose."""


class ConfigError(OutriderError):
    """You can fix it: the message names the key, the value and what was expected."""


class InvalidUrl(OutriderError, ValueError):
    """The text is not an http or https URL. Carries the text as given, shortened for display."""

    SHOWN = 120

    def __init__(self, text: str, why: str) -> None:
        shown = text if len(text) <= self.SHOWN else f"{text[: self.SHOWN]}… ({len(text)} characters)"
        super().__init__(f"{_USERINFO.sub('***@', shown)!r} {why}")
        self.text = text
        self.why = why


class StoreError(OutriderError):
    """A backend broke; the driver's error is the cause."""


class StoreUnavailable(StoreError):
    """The backend is away: worth trying again."""


class SchemaMismatch(StoreError):
    """The stored data belongs to another version: migrate first."""


class LeaseLost(StoreError):
    """Another worker has the site now: drop the work."""


class Phase(StrEnum):
    """Where in a request time ran out."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    FIRST_BYTE = "first_byte"
    IDLE = "idle"
    SLOW = "slow"
    TOTAL = "total"


class TlsFault(StrEnum):
    """What was wrong with the handshake."""

    EXPIRED = "expired"
    WRONG_NAME = "wrong_name"
    UNTRUSTED = "untrusted"
    HANDSHAKE = "handshake"


class TransportError(OutriderError):
    """One request failed before a whole response was there."""


class DnsError(TransportError):
    """The name could not be resolved; `exists` is False when the DNS said that there is no such name."""

    def __init__(self, message: str, *, exists: bool = True) -> None:
        super().__init__(message)
        self.exists = exists


class AddressRefused(TransportError):
    """Our own guard refused the address or the port; nothing was sent."""


class ConnectError(TransportError):
    """No connection; `refused` tells a closed port from an unreachable network."""

    def __init__(self, message: str, *, refused: bool = True) -> None:
        super().__init__(message)
        self.refused = refused


class TlsError(TransportError):
    """The handshake failed, or the certificate was not acceptable."""

    def __init__(self, message: str, fault: TlsFault = TlsFault.HANDSHAKE) -> None:
        super().__init__(message)
        self.fault = fault


class TimedOut(TransportError):
    """A limit of ours ran out, in `phase`."""

    def __init__(self, message: str, phase: Phase) -> None:
        super().__init__(message)
        self.phase = phase


class ConnectionLost(TransportError):
    """The peer went away. `reused`: on a kept connection, before any answer, so that it may just have been stale."""

    def __init__(self, message: str, *, reused: bool = False) -> None:
        super().__init__(message)
        self.reused = reused


class ProtocolError(TransportError):
    """The peer does not speak HTTP, or speaks it brokenly."""


class BodyTooLarge(TransportError):
    """A cap on bytes or on the decompression ratio was reached."""


class Undecodable(TransportError):
    """The body's encoding is unknown, nested too deep, or broken."""
