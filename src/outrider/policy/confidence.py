"""How much may a reader rely on this record? S1-13 for the robots check, S1-30…S1-32 for the page."""

from typing import Final

from outrider.model.outcome import Failed, Fetched, Moved, NotModified, Outcome, Skipped
from outrider.model.record import Confidence
from outrider.model.robots import RobotsBasis, RobotsVerdict

_NO_RULES_READ: Final = (RobotsBasis.NO_FILE, RobotsBasis.UNREACHABLE, RobotsBasis.NOT_ASKED)
"""No set: looking an enum up by its hash takes longer than comparing it with three."""


def robots_confidence(verdict: RobotsVerdict) -> Confidence:
    if not verdict.allowed:
        return Confidence.LOW
    if verdict.basis in _NO_RULES_READ:
        return Confidence.MEDIUM
    return Confidence.HIGH


def confidence(outcome: Outcome, verdict: RobotsVerdict | None) -> Confidence:
    robots = robots_confidence(verdict) if verdict else Confidence.MEDIUM
    match outcome:
        case Fetched(body=body):
            return Confidence.MEDIUM if body.truncated and robots is Confidence.HIGH else robots
        case NotModified():
            return robots
        case Failed(failure) if failure.status is not None and 400 <= failure.status < 500:
            return Confidence.MEDIUM  # an answer about this URL, honestly given (H1-4)
        case Failed() | Skipped() | Moved():
            return Confidence.LOW
