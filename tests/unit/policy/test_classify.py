"""What does an answer mean? Whose fault, and could asking again help?"""

import inspect

import pytest

from outrider import errors
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
from outrider.policy.classify import classify, classify_error


@pytest.mark.parametrize("status", [200, 201, 203, 204, 206, 226, 299])
def test_a_2xx_is_a_success(status: int) -> None:
    """C31."""
    assert classify(status) is None


def test_a_304_is_a_success_only_when_we_asked_for_it() -> None:
    """C16, S3-16."""
    assert classify(304, conditional=True) is None
    assert classify(304) == Failure(Reason.UNSOLICITED_NOT_MODIFIED, status=304)


@pytest.mark.parametrize(
    ("status", "reason", "scope", "transient"),
    [
        (400, Reason.HTTP_400, Scope.URL, False),
        (401, Reason.HTTP_401, Scope.URL, False),
        (403, Reason.HTTP_403, Scope.URL, False),
        (404, Reason.HTTP_404, Scope.URL, False),
        (408, Reason.HTTP_408, Scope.URL, True),
        (410, Reason.HTTP_410, Scope.URL, False),
        (429, Reason.RATE_LIMITED, Scope.SITE, True),
        (451, Reason.HTTP_451, Scope.URL, False),
        (500, Reason.HTTP_500, Scope.URL, True),
        (502, Reason.HTTP_502, Scope.SITE, True),
        (503, Reason.HTTP_503, Scope.SITE, True),
        (504, Reason.HTTP_504, Scope.SITE, True),
        (508, Reason.HTTP_508, Scope.URL, True),
        (521, Reason.HTTP_5XX, Scope.URL, True),
        (101, Reason.UNEXPECTED_STATUS, Scope.URL, False),
        (300, Reason.UNEXPECTED_STATUS, Scope.URL, False),
        (999, Reason.UNEXPECTED_STATUS, Scope.URL, False),
    ],
)
def test_a_status_belongs_to_the_site_or_to_the_url(
    status: int, reason: Reason, scope: Scope, *, transient: bool
) -> None:
    """C2, S1-25, S3-14, S4-4, S4-15, S4-17, S4-18, S4-19, S4-20."""
    assert classify(status) == Failure(reason, scope, transient=transient, status=status)


def test_what_the_site_asks_for_is_kept() -> None:
    failure = classify(429, retry_after=120.0)

    assert failure is not None
    assert failure.retry_after == 120.0


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (DnsError("x"), Failure(Reason.DNS_FAILURE, Scope.SITE, transient=True)),
        (DnsError("x", exists=False), Failure(Reason.DNS_NOT_FOUND, Scope.SITE)),
        (AddressRefused("x"), Failure(Reason.BLOCKED_ADDRESS)),
        (ConnectError("x"), Failure(Reason.CONNECT_REFUSED, Scope.SITE, transient=True)),
        (ConnectError("x", refused=False), Failure(Reason.CONNECT_FAILED, Scope.SITE, transient=True)),
        (TlsError("x"), Failure(Reason.TLS_FAILURE, Scope.SITE, transient=True)),
        (TlsError("x", TlsFault.EXPIRED), Failure(Reason.TLS_EXPIRED, Scope.SITE)),
        (TlsError("x", TlsFault.WRONG_NAME), Failure(Reason.TLS_WRONG_NAME, Scope.SITE)),
        (TlsError("x", TlsFault.UNTRUSTED), Failure(Reason.TLS_UNTRUSTED, Scope.SITE)),
        (TimedOut("x", Phase.DNS), Failure(Reason.DNS_FAILURE, Scope.SITE, transient=True)),
        (TimedOut("x", Phase.CONNECT), Failure(Reason.CONNECT_TIMEOUT, Scope.SITE, transient=True)),
        (TimedOut("x", Phase.TLS), Failure(Reason.TLS_FAILURE, Scope.SITE, transient=True)),
        (TimedOut("x", Phase.FIRST_BYTE), Failure(Reason.READ_TIMEOUT, transient=True)),
        (TimedOut("x", Phase.IDLE), Failure(Reason.READ_TIMEOUT, transient=True)),
        (TimedOut("x", Phase.SLOW), Failure(Reason.READ_TIMEOUT, transient=True)),
        (TimedOut("x", Phase.TOTAL), Failure(Reason.READ_TIMEOUT, transient=True)),
        (ConnectionLost("x"), Failure(Reason.CONNECTION_LOST, transient=True)),
        (ConnectionLost("x", reused=True), Failure(Reason.CONNECTION_LOST, transient=True, stale=True)),
        (ProtocolError("x"), Failure(Reason.PROTOCOL_ERROR)),
        (BodyTooLarge("x"), Failure(Reason.BODY_TOO_LARGE)),
        (Undecodable("x"), Failure(Reason.UNDECODABLE)),
        (TransportError("x"), Failure(Reason.PROTOCOL_ERROR)),
    ],
    ids=lambda value: f"{type(value).__name__}" if isinstance(value, Exception) else None,
)
def test_every_transport_error_has_one_meaning(error: TransportError, failure: Failure) -> None:
    """S1-24, S3-3 to S3-7, S3-17 to S3-20, S4-17, H3-3: what nobody knows is not worth asking again."""
    got = classify_error(error)

    assert got.detail == "x"
    assert Failure(got.reason, got.scope, got.transient, stale=got.stale) == failure


def test_no_transport_error_is_forgotten_in_the_table_above() -> None:
    kinds = {
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, TransportError) and kind is not TransportError
    }
    table = next(
        mark.args[1]
        for mark in test_every_transport_error_has_one_meaning.pytestmark  # type: ignore[attr-defined] # set by pytest
        if mark.name == "parametrize"
    )

    assert {type(error) for error, _ in table} >= kinds
    assert {error.phase for error, _ in table if isinstance(error, TimedOut)} == set(Phase)
    assert {error.fault for error, _ in table if isinstance(error, TlsError)} == set(TlsFault)
