"""How much may a reader rely on a record?"""

import pytest

from outrider.model.outcome import Body, Failed, Failure, Fetched, Moved, NotModified, Outcome, Skipped
from outrider.model.reason import Reason
from outrider.model.record import Confidence
from outrider.model.robots import RobotsBasis, RobotsVerdict
from outrider.model.url import Url
from outrider.policy.confidence import confidence, robots_confidence

HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW
A = Url("http://example.com/")
ALLOWED = RobotsVerdict(True, RobotsBasis.NO_RULE_MATCHED)
MISSING = RobotsVerdict(True, RobotsBasis.NO_FILE)
BLOCKED = RobotsVerdict(False, RobotsBasis.RULE, 1, "Disallow: /", "*")
WHOLE, CUT = Fetched(A, 200, Body(1, "")), Fetched(A, 200, Body(1, "", truncated=True))


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (ALLOWED, HIGH),
        (RobotsVerdict(True, RobotsBasis.RULE, 1, "Allow: /", "*"), HIGH),
        (RobotsVerdict(True, RobotsBasis.EMPTY_FILE), HIGH),
        (MISSING, MEDIUM),
        (RobotsVerdict(True, RobotsBasis.UNREACHABLE), MEDIUM),
        (RobotsVerdict(True, RobotsBasis.NOT_ASKED), MEDIUM),
        (BLOCKED, LOW),
        (RobotsVerdict(False, RobotsBasis.UNREACHABLE), LOW),
    ],
)
def test_robots_found_and_allowing_is_high_missing_is_medium_forbidding_is_low(
    verdict: RobotsVerdict, expected: Confidence
) -> None:
    """S1-13."""
    assert robots_confidence(verdict) is expected
    assert verdict.reason.startswith(("allowed", "disallowed", "not allowed"))


@pytest.mark.parametrize(
    ("outcome", "verdict", "expected"),
    [
        (WHOLE, ALLOWED, HIGH),
        (WHOLE, MISSING, MEDIUM),
        (WHOLE, None, MEDIUM),
        (CUT, ALLOWED, MEDIUM),
        (CUT, MISSING, MEDIUM),
        (NotModified(A), ALLOWED, HIGH),
        (Failed(Failure(Reason.HTTP_404, status=404)), ALLOWED, MEDIUM),
        (Failed(Failure(Reason.HTTP_500, status=500)), ALLOWED, LOW),
        (Failed(Failure(Reason.CONNECT_TIMEOUT)), ALLOWED, LOW),
        (Failed(Failure(Reason.TOO_MANY_REDIRECTS)), ALLOWED, LOW),
        (Skipped(Reason.ROBOTS_DISALLOWED), BLOCKED, LOW),
        (Moved(A, permanent=True), ALLOWED, LOW),
    ],
)
def test_a_page_is_as_sure_as_its_weakest_part(
    outcome: Outcome, verdict: RobotsVerdict | None, expected: Confidence
) -> None:
    """S1-30, S1-31, S1-32, H1-4."""
    assert confidence(outcome, verdict) is expected
