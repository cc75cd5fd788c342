"""The closed list of reasons."""

import pytest

from outrider.model.reason import Family, Reason

# Stored in databases and dashboards: a name may be added, never changed.
OF_THE_DESIGN = """
too_many_redirects redirect_loop invalid_redirect robots_disallowed robots_unreachable skip_pattern out_of_scope
too_deep url_too_long non_text_extension excluded_site site_quota blocked_address dns_failure connect_refused
connect_timeout
tls_failure read_timeout connection_lost protocol_error body_too_large unsupported_content_type empty_body undecodable
rate_limited site_unreachable lease_expired_too_often http_404 http_500
"""


def test_the_reasons_of_the_design_are_there_under_their_names() -> None:
    """S0-15, S0-18, S0-20: one canonical string each."""
    assert set(OF_THE_DESIGN.split()) <= set(Reason)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (404, Reason.HTTP_404),
        (410, Reason.HTTP_410),
        (429, Reason.RATE_LIMITED),
        (499, Reason.HTTP_4XX),
        (503, Reason.HTTP_503),
        (521, Reason.HTTP_5XX),
        (0, Reason.UNEXPECTED_STATUS),
        (306, Reason.UNEXPECTED_STATUS),
        (999, Reason.UNEXPECTED_STATUS),
    ],
)
def test_a_status_has_one_reason(status: int, reason: Reason) -> None:
    assert Reason.of_status(status) is reason


def test_every_reason_has_a_family() -> None:
    families = {reason: reason.family for reason in Reason}

    assert families[Reason.TOO_MANY_REDIRECTS] is families[Reason.REDIRECT_LOOP] is Family.REDIRECT
    not_http = {reason for reason, family in families.items() if family is not Family.HTTP}
    assert {Reason.RATE_LIMITED, Reason.UNEXPECTED_STATUS} == {
        reason for reason in set(Reason) - not_http if not reason.startswith("http_")
    }
