"""What does libcurl's error mean? One row a number; a number without a row fails a test, so a new one is noticed.

Numbers alone do not decide: 56 is a reset as well as a broken chunk, 60 an expired certificate as well as a wrong name.
So each row is given the operating system's errno, the verdict on the certificate, the words, and how far we were.
"""

import errno
import re
from collections.abc import Callable, Mapping
from typing import Final

import pycurl
from msgspec import Struct
from msgspec.structs import replace

from outrider.errors import (
    ConnectError,
    ConnectionLost,
    DnsError,
    Phase,
    ProtocolError,
    TimedOut,
    TlsError,
    TlsFault,
    TransportError,
)


class Facts(Struct, frozen=True):
    """How a transfer ended. `ready`: the request was about to be sent; `answered`: bytes of an answer had come."""

    number: int
    message: str
    os_errno: int = 0
    verify_result: int = 0
    ready: bool = False
    answered: bool = False
    reused: bool = False


def error_from(facts: Facts) -> TransportError:
    """Name the failure. An unknown number is a `ProtocolError`: nothing that is known to help when tried again."""
    return MEANING.get(facts.number, _protocol)(replace(facts, message=_harmless(facts.message)))


def _harmless(message: str) -> str:
    """The words quote the peer's own bytes: what cannot be printed, or not even be encoded, is escaped."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in message)


# The certificate's verdicts (X509_V_ERR_* of OpenSSL's x509_vfy.h): not yet valid, expired; name or address mismatch.
_OUT_OF_DATE: Final = frozenset({9, 10})
_MISMATCH: Final = frozenset({62, 64})

_WRONG_NAME: Final = re.compile(r"subject name|common name|host ?name", re.IGNORECASE)
_BROKEN_FRAMING: Final = re.compile(r"chunk|malformed|illegal|invalid|too (long|large)", re.IGNORECASE)
_TLS_ALERT: Final = re.compile(r"\balert\b", re.IGNORECASE)


def _dns(facts: Facts) -> TransportError:
    return DnsError(facts.message)


def _no_such_name(facts: Facts) -> TransportError:
    # Only a host that no name server can know passes the URL Standard and not libcurl, such as `a,b.example`.
    return DnsError(facts.message, exists=False)


def _connect(facts: Facts) -> TransportError:
    if facts.os_errno == errno.ETIMEDOUT:
        return TimedOut(facts.message, Phase.CONNECT)
    return ConnectError(facts.message, refused=facts.os_errno == errno.ECONNREFUSED)


def _proxy(facts: Facts) -> TransportError:
    return ConnectError(f"proxy: {facts.message}", refused=False)


def _handshake(facts: Facts) -> TransportError:
    return TlsError(facts.message, TlsFault.HANDSHAKE)


def _untrusted(facts: Facts) -> TransportError:
    return TlsError(facts.message, TlsFault.UNTRUSTED)


def _certificate(facts: Facts) -> TransportError:
    if facts.verify_result in _OUT_OF_DATE:
        return TlsError(facts.message, TlsFault.EXPIRED)
    # libcurl compares the name itself, and before it asks for OpenSSL's verdict: then only its words tell.
    if facts.verify_result in _MISMATCH or _WRONG_NAME.search(facts.message):
        return TlsError(facts.message, TlsFault.WRONG_NAME)
    return TlsError(facts.message, TlsFault.UNTRUSTED)


def _timeout(facts: Facts) -> TransportError:
    # Our own sweep is stricter than libcurl; what is left is the kernel giving up on a connection.
    return TimedOut(facts.message, Phase.TOTAL if facts.ready else Phase.CONNECT)


def _lost(facts: Facts) -> TransportError:
    return ConnectionLost(facts.message, reused=facts.reused and not facts.answered)


def _receive(facts: Facts) -> TransportError:
    if "CONNECT tunnel" in facts.message or "Proxy CONNECT" in facts.message:
        return _proxy(facts)
    if facts.os_errno:
        return _lost(facts)
    if not facts.answered and _TLS_ALERT.search(facts.message):
        # TLS 1.3 lets a server refuse us after our side of the handshake is done.
        return _handshake(facts)
    if _BROKEN_FRAMING.search(facts.message):
        return _protocol(facts)
    return _lost(facts)


def _protocol(facts: Facts) -> TransportError:
    return ProtocolError(f"{facts.message} (libcurl {facts.number})")


# Numbers that libcurl has and pycurl does not name.
HTTP2_STREAM: Final = 92
PROXY: Final = 97
TOO_LARGE: Final = 100

MEANING: Final[Mapping[int, Callable[[Facts], TransportError]]] = {
    pycurl.E_UNSUPPORTED_PROTOCOL: _protocol,  # HTTP/0.9, or a status line that is none
    pycurl.E_URL_MALFORMAT: _no_such_name,
    pycurl.E_COULDNT_RESOLVE_PROXY: _proxy,
    pycurl.E_COULDNT_RESOLVE_HOST: _dns,
    pycurl.E_COULDNT_CONNECT: _connect,
    pycurl.E_FTP_WEIRD_SERVER_REPLY: _protocol,  # of any protocol since libcurl 7.51: a header that is none
    pycurl.E_HTTP2: _protocol,
    pycurl.E_PARTIAL_FILE: _lost,
    pycurl.E_OPERATION_TIMEDOUT: _timeout,
    pycurl.E_SSL_CONNECT_ERROR: _handshake,
    pycurl.E_INTERFACE_FAILED: _connect,
    pycurl.E_GOT_NOTHING: _lost,
    pycurl.E_SEND_ERROR: _lost,
    pycurl.E_RECV_ERROR: _receive,
    pycurl.E_SSL_CIPHER: _handshake,
    pycurl.E_PEER_FAILED_VERIFICATION: _certificate,
    pycurl.E_BAD_CONTENT_ENCODING: _protocol,  # a transfer coding that we did not ask for
    pycurl.E_SSL_CACERT_BADFILE: _untrusted,
    pycurl.E_SSL_SHUTDOWN_FAILED: _lost,
    pycurl.E_SSL_ISSUER_ERROR: _untrusted,
    pycurl.E_SSL_INVALIDCERTSTATUS: _untrusted,
    HTTP2_STREAM: _protocol,
    PROXY: _proxy,
    TOO_LARGE: _protocol,
}

_OTHER_PROTOCOL: Final = "only http and https are allowed"
_UPLOAD: Final = "no request has a body"
_CALLER: Final = "a mistake in how libcurl is called, not a fate of a transfer"
_RESUME: Final = "no range is asked for"
_ENGINE: Final = "no crypto engine, client certificate or pin of a key is set"
_OURS: Final = "the transport stopped the transfer itself and knows why before it asks here"
_GONE: Final = "libcurl does not return it any more"

IMPOSSIBLE: Final[Mapping[int, str]] = {
    **dict.fromkeys((pycurl.E_WRITE_ERROR, pycurl.E_ABORTED_BY_CALLBACK), _OURS),
    **dict.fromkeys((9, 10, 11, 12, 13, 14, 15, 17, 19, 21, 30, 31, 64, 84, 87, 88), f"FTP: {_OTHER_PROTOCOL}"),
    **dict.fromkeys((37, 78), f"FILE: {_OTHER_PROTOCOL}"),
    **dict.fromkeys((38, 39, 62), f"LDAP: {_OTHER_PROTOCOL}"),
    **dict.fromkeys((68, 69, 71, 72, 74), f"TFTP: {_OTHER_PROTOCOL}"),
    **dict.fromkeys((70, 73), f"uploads to other servers: {_OTHER_PROTOCOL}"),
    **dict.fromkeys((48, 49), f"TELNET, or an unknown option: {_OTHER_PROTOCOL}; {_CALLER}"),
    **dict.fromkeys((79, 85, 86), f"SSH and RTSP: {_OTHER_PROTOCOL}"),
    **dict.fromkeys((25, 26, 34, 65), _UPLOAD),
    **dict.fromkeys((33, 36), _RESUME),
    **dict.fromkeys((53, 54, 58, 66, 82, 90, 98), _ENGINE),
    **dict.fromkeys((2, 4, 41, 43, 81, 93), _CALLER),
    **dict.fromkeys((20, 24, 29, 32, 40, 44, 46, 50, 51, 57, 75, 76), _GONE),
    -1: _GONE,
    0: "no error",
    22: "FAILONERROR is off: a status is an answer",
    27: "out of memory: nothing of ours survives it",
    47: "redirects are not followed here",
    63: "MAXFILESIZE is not set: the cap is ours",
    67: "no credentials are sent",
    89: "connections in flight are not bounded in libcurl",
    94: "no authentication is asked for",
    95: "HTTP/3 is off",
    96: "HTTP/3 is off",
    99: "poll is the event loop's, not libcurl's",
    101: "encrypted client hello is not asked for",
    99_999: "pycurl's own number for a handle used twice",
}
