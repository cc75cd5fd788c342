"""Certificates that do not hold: each with its reason, and no way around them but by name."""

from pathlib import Path

import pytest
from tests.integration.fetch.visiting import fetched, impatient, scene

from outrider.model.outcome import Failed, Scope
from outrider.model.reason import Reason
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.testing.webfarm import Certificates, blurts_out, page
from outrider.testing.webfarm.holes import TLS_ALERT

SITES = {"*": {"/": page("secret")}}


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    return Certificates(good=("shop.test",))


@pytest.fixture(scope="module")
def ca_file(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    path.write_bytes(certificates.authority)
    return path


async def test_a_certificate_that_holds_is_no_obstacle(certificates: Certificates, ca_file: Path) -> None:
    async with scene(SITES, certificates=certificates, ca_file=ca_file) as web:
        haul = await web.visit("/", "shop.test", tls=True)

    assert haul.content == b"secret"
    assert haul.visit.hops[0].timing.tls >= 0.0


@pytest.mark.parametrize("respect_robots", [True, False])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("expired.test", Reason.TLS_EXPIRED),
        ("notyet.test", Reason.TLS_EXPIRED),
        ("wrongname.test", Reason.TLS_WRONG_NAME),
        ("untrusted.test", Reason.TLS_UNTRUSTED),
        ("selfsigned.test", Reason.TLS_UNTRUSTED),
    ],
)
async def test_a_certificate_that_does_not_hold_has_its_reason(
    certificates: Certificates,
    ca_file: Path,
    name: str,
    reason: Reason,
    respect_robots: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """C34: a matter of the site, that no second try would change; nothing was asked for."""
    async with scene(SITES, certificates=certificates, ca_file=ca_file, respect_robots=respect_robots) as web:
        haul = await web.visit("/", name, tls=True)

        assert web.asked == []
    outcome = haul.visit.outcome
    assert isinstance(outcome, Failed)
    assert (outcome.failure.reason, outcome.failure.scope) == (reason, Scope.SITE)
    assert not outcome.failure.transient
    assert haul.visit.requests == 1


async def test_a_handshake_that_is_cut_may_be_a_blip(certificates: Certificates, ca_file: Path) -> None:
    """S3-5: tried once more."""
    async with scene(SITES, certificates=certificates, ca_file=ca_file) as web:
        haul = await web.visit("/", "cut.test", tls=True)

        assert web.farm.connections.accepted == 2
    outcome = haul.visit.outcome
    assert isinstance(outcome, Failed)
    assert (outcome.failure.reason, outcome.failure.scope) == (Reason.TLS_FAILURE, Scope.SITE)
    assert haul.visit.requests == 2


@pytest.mark.parametrize("flaw", ["expired.test", "notyet.test", "wrongname.test", "untrusted.test", "selfsigned.test"])
@pytest.mark.parametrize("by_name", [True, False])
async def test_verification_may_be_turned_off_for_all_or_for_one(
    certificates: Certificates,
    ca_file: Path,
    flaw: str,
    by_name: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """C34."""
    settings = impatient(insecure_hosts=flaw) if by_name else impatient(verify_tls=False)
    async with scene(SITES, certificates=certificates, ca_file=ca_file, settings=settings) as web:
        haul = await web.visit("/", flaw, tls=True)
        other = await web.visit("/", "other.test", tls=True)

    assert fetched(haul).status == 200
    assert fetched(other).status == 200


async def test_an_exception_for_one_host_is_none_for_another(certificates: Certificates, ca_file: Path) -> None:
    """C34: also on the connection that was made a moment ago."""
    async with scene(SITES, certificates=certificates, ca_file=ca_file, insecure_hosts="expired.test") as web:
        await web.visit("/", "expired.test", tls=True)
        haul = await web.visit("/", "selfsigned.test", tls=True)

    assert isinstance(haul.visit.outcome, Failed)
    assert haul.visit.outcome.failure.reason is Reason.TLS_UNTRUSTED


@pytest.mark.parametrize("words", [b"220 mail.test ESMTP\r\n", TLS_ALERT])
async def test_a_port_that_speaks_something_else_is_a_tls_failure(ca_file: Path, words: bytes) -> None:

    async with blurts_out(words) as (_, port), scene({}, ca_file=ca_file, max_retries=0) as web:
        haul = await web.visit_task(Task(Url(f"https://shop.test:{port}/")))

    assert isinstance(haul.visit.outcome, Failed)
    assert haul.visit.outcome.failure.reason is Reason.TLS_FAILURE
