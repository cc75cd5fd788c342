"""What does this answer, or this lack of one, mean? Whose fault is it, and could asking again help?

C2, C16, C17, C31; DESIGN 2.2. Unknown errors are not worth asking again (H3-3).
"""

from typing import Final

from outrider.errors import (
    AddressRefused,
    BodyTooLarge,
    ConnectError,
    ConnectionLost,
    DnsError,
    Phase,
    ProtocolError,
    TimedOut,
    TlsError,
    TlsFault,
    TransportError,
    Undecodable,
)
from outrider.model.outcome import Failure, Scope
from outrider.model.reason import Reason

_SITE_WIDE: Final = frozenset({429, 502, 503, 504})
# Nothing says that a 4xx will change, save for these: a server that was busy, or an early request.
_PASSING_4XX: Final = frozenset({408, 425, 429})

_TLS: Final = {
    TlsFault.EXPIRED: Reason.TLS_EXPIRED,
    TlsFault.WRONG_NAME: Reason.TLS_WRONG_NAME,
    TlsFault.UNTRUSTED: Reason.TLS_UNTRUSTED,
    TlsFault.HANDSHAKE: Reason.TLS_FAILURE,
}
_TIMED_OUT: Final = {
    Phase.DNS: (Reason.DNS_FAILURE, Scope.SITE),
    Phase.CONNECT: (Reason.CONNECT_TIMEOUT, Scope.SITE),
    Phase.TLS: (Reason.TLS_FAILURE, Scope.SITE),
    Phase.FIRST_BYTE: (Reason.READ_TIMEOUT, Scope.URL),
    Phase.IDLE: (Reason.READ_TIMEOUT, Scope.URL),
    Phase.SLOW: (Reason.READ_TIMEOUT, Scope.URL),
    Phase.TOTAL: (Reason.READ_TIMEOUT, Scope.URL),
}


def classify(status: int, *, retry_after: float | None = None, conditional: bool = False) -> Failure | None:
    """None is a success: a 2xx, or a 304 that we asked for. Redirects are `policy.redirect`'s to read."""
    if 200 <= status < 300 or (status == 304 and conditional):
        return None
    if status == 304:
        return Failure(Reason.UNSOLICITED_NOT_MODIFIED, status=status)
    return Failure(
        Reason.of_status(status),
        Scope.SITE if status in _SITE_WIDE else Scope.URL,
        transient=500 <= status < 600 or status in _PASSING_4XX,
        status=status,
        retry_after=retry_after,
    )


def classify_error(error: TransportError) -> Failure:
    reason, scope, transient = _meaning(error)
    return Failure(
        reason,
        scope,
        transient=transient,
        detail=str(error),
        stale=isinstance(error, ConnectionLost) and error.reused,
    )


def _meaning(error: TransportError) -> tuple[Reason, Scope, bool]:  # noqa: C901 - a table, one row an error
    match error:
        case DnsError(exists=False):
            return Reason.DNS_NOT_FOUND, Scope.SITE, False
        case DnsError():
            return Reason.DNS_FAILURE, Scope.SITE, True
        case AddressRefused():
            return Reason.BLOCKED_ADDRESS, Scope.URL, False
        case ConnectError(refused=True):
            return Reason.CONNECT_REFUSED, Scope.SITE, True
        case ConnectError():
            return Reason.CONNECT_FAILED, Scope.SITE, True
        case TlsError(fault=fault):
            # A certificate belongs to the host, never to one of its URLs; only a broken handshake may pass.
            return _TLS[fault], Scope.SITE, fault is TlsFault.HANDSHAKE
        case TimedOut(phase=phase):
            return *_TIMED_OUT[phase], True
        case ConnectionLost():
            return Reason.CONNECTION_LOST, Scope.URL, True
        case BodyTooLarge():
            return Reason.BODY_TOO_LARGE, Scope.URL, False
        case Undecodable():
            return Reason.UNDECODABLE, Scope.URL, False
        case ProtocolError() | _:
            return Reason.PROTOCOL_ERROR, Scope.URL, False
