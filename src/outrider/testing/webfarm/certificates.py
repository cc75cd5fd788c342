"""Certificates made at run time: one authority to trust, and every way in which a server's certificate can fail.

The name that a client sends (SNI) chooses what it is shown, so one TLS port serves them all; a name that is not listed
gets a good certificate of its own. Needs `trustme`, which only tests have.
"""

import ssl
import tempfile
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final, assert_never

if TYPE_CHECKING:
    import trustme

_A_DAY: Final = timedelta(days=1)


class Flaw(StrEnum):
    """What is wrong with the certificate of a name."""

    EXPIRED = "expired"
    NOT_YET_VALID = "not_yet_valid"
    WRONG_NAME = "wrong_name"
    UNTRUSTED = "untrusted"
    SELF_SIGNED = "self_signed"
    CUT = "cut"
    """No certificate at all: the handshake is cut short."""


FLAWED: Final[Mapping[str, Flaw]] = {
    "expired.test": Flaw.EXPIRED,
    "notyet.test": Flaw.NOT_YET_VALID,
    "wrongname.test": Flaw.WRONG_NAME,
    "untrusted.test": Flaw.UNTRUSTED,
    "selfsigned.test": Flaw.SELF_SIGNED,
    "cut.test": Flaw.CUT,
}


class Certificates:
    """`good` names share one certificate, which is what a farm of many sites wants; each other name has its own."""

    def __init__(self, good: Iterable[str] = ("localhost",), flawed: Mapping[str, Flaw] = FLAWED) -> None:
        import trustme  # noqa: PLC0415  a dependency of tests only

        self._authority = trustme.CA(organization_name="Farm")
        self._flawed = dict(flawed)
        shared = _server_context(self._authority.issue_cert(*good))
        self._contexts: dict[str | None, ssl.SSLContext] = dict.fromkeys(good, shared)
        self._nameless = shared

    @property
    def authority(self) -> bytes:
        """The PEM of what a client must trust."""
        return self._authority.cert_pem.bytes()

    def client_context(self) -> ssl.SSLContext:
        """Trusts the farm's authority and nothing else."""
        return ssl.create_default_context(cadata=self.authority.decode())

    def server_context(self, heard: Callable[[str | None], None]) -> ssl.SSLContext:
        """For the listener: every hello is told to `heard`, then answered by name."""
        door = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

        def choose(connection: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> int | None:
            heard(name)
            if name is not None and self._flawed.get(name) is Flaw.CUT:
                return ssl.ALERT_DESCRIPTION_HANDSHAKE_FAILURE
            connection.context = self._context_for(name)
            return None

        door.sni_callback = choose
        return door

    def _context_for(self, name: str | None) -> ssl.SSLContext:
        if name is None:
            return self._nameless
        if name not in self._contexts:
            self._contexts[name] = self._make(name, self._flawed.get(name))
        return self._contexts[name]

    def _make(self, name: str, flaw: Flaw | None) -> ssl.SSLContext:
        import trustme  # noqa: PLC0415  a dependency of tests only

        now = datetime.now(UTC)
        issue = self._authority.issue_cert
        match flaw:
            case None | Flaw.CUT:
                return _server_context(issue(name))
            case Flaw.EXPIRED:
                return _server_context(issue(name, not_before=now - 30 * _A_DAY, not_after=now - _A_DAY))
            case Flaw.NOT_YET_VALID:
                return _server_context(issue(name, not_before=now + _A_DAY, not_after=now + 30 * _A_DAY))
            case Flaw.WRONG_NAME:
                return _server_context(issue(f"not-{name}"))
            case Flaw.UNTRUSTED:
                return _server_context(trustme.CA(organization_name="Stranger").issue_cert(name))
            case Flaw.SELF_SIGNED:
                return _self_signed(name)
            case _:
                assert_never(flaw)


def _server_context(leaf: "trustme.LeafCert") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    leaf.configure_cert(context)
    return context


def _self_signed(name: str) -> ssl.SSLContext:
    from cryptography import x509  # noqa: PLC0415  comes with trustme
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415  the same
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415  the same

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - _A_DAY)
        .not_valid_after(now + _A_DAY)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # The ssl module reads a key from a file only; the file is gone again when this returns.
    with tempfile.NamedTemporaryFile(suffix=".pem") as both:
        both.write(secret + certificate.public_bytes(serialization.Encoding.PEM))
        both.flush()
        context.load_cert_chain(both.name)
    return context
