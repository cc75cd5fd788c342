"""What robots.txt says, as values: the file as fetched, and the verdict on one URL with its evidence."""

from enum import StrEnum

from msgspec import Struct


class RobotsStatus(StrEnum):
    """What came of asking for the file (RFC 9309 2.3.1)."""

    FOUND = "found"
    MISSING = "missing"
    UNREACHABLE = "unreachable"


class RobotsFile(Struct, frozen=True):
    """One origin's robots.txt. An unreachable one keeps the last good `body`, if there ever was one."""

    origin: str
    status: RobotsStatus
    fetched_at: float
    expires_at: float
    body: bytes | None = None
    http_status: int | None = None
    detail: str = ""


class RobotsBasis(StrEnum):
    """What a verdict rests on (H3-8)."""

    RULE = "rule"
    NO_RULE_MATCHED = "no_rule_matched"
    NO_GROUP_MATCHED = "no_group_matched"
    EMPTY_FILE = "empty_file"
    NO_FILE = "no_file"
    UNREACHABLE = "unreachable"
    NOT_ASKED = "not_asked"


class RobotsVerdict(Struct, frozen=True):
    """May we ask for this URL, and which line says so? `line` counts from 1; `rule` is that line as written."""

    allowed: bool
    basis: RobotsBasis
    line: int | None = None
    rule: str | None = None
    group: str | None = None
    digest: str | None = None
    crawl_delay: float | None = None

    @property
    def reason(self) -> str:
        """One sentence for people."""
        match self.basis:
            case RobotsBasis.RULE:
                verb = "allowed" if self.allowed else "disallowed"
                return f"{verb} by line {self.line} of robots.txt ({self.rule}) for user-agent {self.group}"
            case RobotsBasis.NO_RULE_MATCHED:
                return f"allowed: no rule for user-agent {self.group} matches"
            case RobotsBasis.NO_GROUP_MATCHED:
                return "allowed: robots.txt has no group for this user agent"
            case RobotsBasis.EMPTY_FILE:
                return "allowed: robots.txt holds no rules"
            case RobotsBasis.NO_FILE:
                return "allowed: there is no robots.txt"
            case RobotsBasis.UNREACHABLE:
                return f"{'allowed' if self.allowed else 'not allowed'}: robots.txt cannot be reached"
            case RobotsBasis.NOT_ASKED:
                return "allowed: robots.txt is not consulted, by setting"
