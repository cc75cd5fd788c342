"""Every error of libcurl has one meaning, or a reason why it cannot happen."""

import errno

import pycurl
import pytest

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
from outrider.fetch.curl_errors import HTTP2_STREAM, IMPOSSIBLE, MEANING, PROXY, TOO_LARGE, Facts, error_from

NAMED = sorted(
    {getattr(pycurl, name) for name in dir(pycurl) if name.startswith("E_") and not name.startswith("E_MULTI_")}
)
LAST = 101
"""The last number of the libcurl that we pin; pycurl does not name them all."""


@pytest.mark.parametrize("number", sorted({*NAMED, *range(LAST + 1)}))
def test_every_number_is_either_mapped_or_impossible_for_a_reason(number: int) -> None:
    assert (number in MEANING) != bool(IMPOSSIBLE.get(number)), pycurl.easy_strerror(number)


def test_the_number_after_the_last_is_still_unknown_to_libcurl() -> None:
    assert pycurl.easy_strerror(LAST + 1) == "Unknown error"


@pytest.mark.parametrize(
    ("facts", "kind", "attributes"),
    [
        (Facts(pycurl.E_COULDNT_RESOLVE_HOST, "no"), DnsError, {"exists": True}),
        (Facts(pycurl.E_URL_MALFORMAT, "no"), DnsError, {"exists": False}),
        (Facts(pycurl.E_COULDNT_CONNECT, "no", os_errno=errno.ECONNREFUSED), ConnectError, {"refused": True}),
        (Facts(pycurl.E_COULDNT_CONNECT, "no", os_errno=errno.EHOSTUNREACH), ConnectError, {"refused": False}),
        (Facts(pycurl.E_COULDNT_CONNECT, "no", os_errno=errno.ENETUNREACH), ConnectError, {"refused": False}),
        (Facts(pycurl.E_COULDNT_CONNECT, "no", os_errno=errno.ETIMEDOUT), TimedOut, {"phase": Phase.CONNECT}),
        (Facts(pycurl.E_COULDNT_RESOLVE_PROXY, "no"), ConnectError, {"refused": False}),
        (Facts(PROXY, "no"), ConnectError, {"refused": False}),
        (Facts(pycurl.E_OPERATION_TIMEDOUT, "slow"), TimedOut, {"phase": Phase.CONNECT}),
        (Facts(pycurl.E_OPERATION_TIMEDOUT, "slow", ready=True), TimedOut, {"phase": Phase.TOTAL}),
        (Facts(pycurl.E_SSL_CONNECT_ERROR, "no"), TlsError, {"fault": TlsFault.HANDSHAKE}),
        (Facts(pycurl.E_SSL_CONNECT_ERROR, "no", os_errno=errno.ECONNRESET), TlsError, {"fault": TlsFault.HANDSHAKE}),
        (Facts(pycurl.E_PEER_FAILED_VERIFICATION, "x", verify_result=10), TlsError, {"fault": TlsFault.EXPIRED}),
        (Facts(pycurl.E_PEER_FAILED_VERIFICATION, "x", verify_result=9), TlsError, {"fault": TlsFault.EXPIRED}),
        (Facts(pycurl.E_PEER_FAILED_VERIFICATION, "x", verify_result=18), TlsError, {"fault": TlsFault.UNTRUSTED}),
        (Facts(pycurl.E_PEER_FAILED_VERIFICATION, "x", verify_result=20), TlsError, {"fault": TlsFault.UNTRUSTED}),
        (Facts(pycurl.E_PEER_FAILED_VERIFICATION, "x", verify_result=62), TlsError, {"fault": TlsFault.WRONG_NAME}),
        (
            Facts(pycurl.E_PEER_FAILED_VERIFICATION, "no alternative certificate subject name", verify_result=1),
            TlsError,
            {"fault": TlsFault.WRONG_NAME},
        ),
        (Facts(pycurl.E_GOT_NOTHING, "empty", ready=True), ConnectionLost, {"reused": False}),
        (Facts(pycurl.E_GOT_NOTHING, "empty", ready=True, reused=True), ConnectionLost, {"reused": True}),
        (Facts(pycurl.E_SEND_ERROR, "pipe", os_errno=errno.EPIPE, reused=True), ConnectionLost, {"reused": True}),
        (Facts(pycurl.E_PARTIAL_FILE, "short", answered=True, reused=True), ConnectionLost, {"reused": False}),
        (Facts(pycurl.E_RECV_ERROR, "Recv failure", os_errno=errno.ECONNRESET), ConnectionLost, {"reused": False}),
        (Facts(pycurl.E_RECV_ERROR, "OpenSSL SSL_read: unexpected eof while reading"), ConnectionLost, {}),
        (Facts(pycurl.E_RECV_ERROR, "chunk hex-length char not a hex digit"), ProtocolError, {}),
        (Facts(pycurl.E_RECV_ERROR, "a reset inside a chunk", os_errno=errno.ECONNRESET), ConnectionLost, {}),
        (Facts(pycurl.E_RECV_ERROR, "CONNECT tunnel failed, response 403"), ConnectError, {"refused": False}),
        (
            Facts(pycurl.E_RECV_ERROR, "SSL_read: tlsv13 alert certificate required"),
            TlsError,
            {"fault": TlsFault.HANDSHAKE},
        ),
        (Facts(pycurl.E_UNSUPPORTED_PROTOCOL, "Received HTTP/0.9 when not allowed"), ProtocolError, {}),
        (Facts(pycurl.E_HTTP2, "framing"), ProtocolError, {}),
        (Facts(HTTP2_STREAM, "stream"), ProtocolError, {}),
        (Facts(TOO_LARGE, "large"), ProtocolError, {}),
        (Facts(12_345, "from a libcurl to come"), ProtocolError, {}),
    ],
)
def test_a_failure_gets_its_name(facts: Facts, kind: type[TransportError], attributes: dict[str, object]) -> None:
    error = error_from(facts)

    assert type(error) is kind
    assert {name: getattr(error, name) for name in attributes} == attributes
    assert facts.message in str(error)
