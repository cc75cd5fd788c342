"""What `outrider robots` answers: one value, told to a person, to a program, and as an exit code. No I/O here."""

from collections.abc import Iterator

from msgspec import Struct
from rich.text import Text

from outrider.cli.exit_codes import ExitCode
from outrider.cli.terminal import labelled
from outrider.cli.timeline import digest_shown, robots_verdict
from outrider.cli.verdict import amount, because, status_named
from outrider.fetch.robots_txt import Judged
from outrider.model.outcome import Failure
from outrider.model.reason import Reason
from outrider.model.robots import RobotsStatus, RobotsVerdict
from outrider.model.url import Url
from outrider.observe.words import visible
from outrider.policy.robots import RobotsRules, parse, verdict


class RobotsAnswer(Struct, frozen=True):
    """`verdict` is None when nobody can say: the file was never had. `source` is where it is from."""

    url: Url
    agent: str
    verdict: RobotsVerdict | None
    source: str
    status: RobotsStatus
    http_status: int | None = None
    body: bytes | None = None
    rules: RobotsRules | None = None
    failure: Failure | None = None

    @property
    def exit_code(self) -> ExitCode:
        if self.failure and self.failure.reason is Reason.BLOCKED_ADDRESS:
            return ExitCode.REFUSED
        if self.verdict is None:
            return ExitCode.FETCH_FAILED
        return ExitCode.OK if self.verdict.allowed else ExitCode.REFUSED

    @property
    def reason(self) -> str:
        if self.verdict is not None:
            return self.verdict.reason
        failure = self.failure
        if failure and failure.reason is Reason.BLOCKED_ADDRESS:
            return failure.detail
        why = because(failure) if failure else f"HTTP {self.http_status}"
        return f"nobody can say: {self.source} cannot be reached ({why})"

    def document(self) -> dict[str, object]:
        said = self.verdict
        return {
            "url": self.url,
            "agent": self.agent,
            "allowed": said.allowed if said else None,
            "reason": self.reason,
            "basis": said.basis if said else None,
            "line": said.line if said else None,
            "rule": said.rule if said else None,
            "group": said.group if said else None,
            "crawlDelay": said.crawl_delay if said else None,
            "sitemaps": self.rules.sitemaps if self.rules else (),
            "file": {
                "source": self.source,
                "status": self.status,
                "httpStatus": self.http_status,
                "size": None if self.body is None else len(self.body),
                "digest": self.rules.digest if self.rules else None,
                "truncated": self.rules.truncated if self.rules else False,
            },
        }


def answer_by_file(url: Url, agent: str, body: bytes, source: str, limit: int) -> RobotsAnswer:
    rules = parse(body, limit)
    return RobotsAnswer(
        url, agent, verdict(rules, url.target, agent), source, RobotsStatus.FOUND, body=body[:limit], rules=rules
    )


def answer_by_web(url: Url, agent: str, judged: Judged) -> RobotsAnswer:
    """Judged anew, for the agent may be another one; a file that was never had is no verdict, whatever the settings."""
    file, rules = judged.file, judged.rules
    said: RobotsVerdict | None = None
    if rules is not None:
        said = verdict(rules, url.target, agent)
    elif file is not None and file.status is RobotsStatus.MISSING and isinstance(judged.verdict, RobotsVerdict):
        said = judged.verdict
    return RobotsAnswer(
        url,
        agent,
        said,
        f"{url.origin}/robots.txt",
        file.status if file else RobotsStatus.UNREACHABLE,
        file.http_status if file else None,
        file.body if file else None,
        rules,
        judged.failure,
    )


def told(answer: RobotsAnswer, width: int) -> list[Text]:
    return labelled(_rows(answer), width)


def _rows(answer: RobotsAnswer) -> Iterator[tuple[str, Text]]:
    said, rules = answer.verdict, answer.rules
    yield "url", Text(visible(answer.url))
    yield "verdict", robots_verdict(said) if said else Text(visible(answer.reason), "red")
    yield "agent", Text(visible(answer.agent))
    if said and said.group:
        yield "group", Text(f"user-agent {visible(said.group)}")
    if said and said.crawl_delay is not None:
        yield "crawl-delay", Text(f"{said.crawl_delay:g} s")
    for number, sitemap in enumerate(rules.sitemaps if rules else ()):
        yield "sitemaps" if number == 0 else "", Text(visible(sitemap))
    yield "file", Text(visible(" · ".join([answer.source, *_file_facts(answer)])))
    if rules:
        yield "", Text(f"sha256 {digest_shown(rules.digest)}")


def _file_facts(answer: RobotsAnswer) -> Iterator[str]:
    if answer.http_status is not None:
        yield f"HTTP {status_named(answer.http_status)}"
    if answer.body is not None:
        yield amount(len(answer.body))
    if answer.rules and answer.rules.truncated:
        yield "more was there, and not read"
