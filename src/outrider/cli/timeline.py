"""One visit told to a person: every request with its phases, what was found, the verdict. Fetch in, lines out.

The bars of all requests share one scale, so that they can be compared. What the visit does not hold is not made up:
requests for robots.txt are counted, and show as the wait before the first request of an origin.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct
from rich.text import Text

from outrider.cli.exit_codes import ExitCode
from outrider.cli.terminal import GAP, hanging, labelled, shortened
from outrider.cli.verdict import amount, because, counted, exit_code, sentence, status_named, way_out
from outrider.client import Fetch
from outrider.model.outcome import Fetched, Hop, NotModified, Skipped, Timing, Try, Validators, Visit
from outrider.model.reason import Family
from outrider.model.robots import RobotsBasis, RobotsVerdict
from outrider.model.url import Url
from outrider.observe.words import visible

_INDENT: Final = 3
_HEADER: Final = _INDENT + len("content-encoding:") + len(GAP)
_LABEL: Final = len("first byte") + len(GAP)
_FIGURES: Final = len("120,000.0 ms")
_SHORTEST_WAIT: Final = 0.05
_DIGEST_SHOWN: Final = 16
_STYLES: Final = {"dns": "cyan", "connect": "blue", "tls": "magenta", "first byte": "yellow", "body": "green"}
_VERDICT_STYLES: Final = {ExitCode.OK: "bold green", ExitCode.REFUSED: "bold yellow", ExitCode.FETCH_FAILED: "bold red"}


class Phase(Struct, frozen=True):
    """Seconds since the request began."""

    name: str
    start: float
    end: float


class Step(Struct, frozen=True):
    """One URL that was asked for: the tries that failed, and the answer, unless there was none."""

    url: Url
    at: float
    tries: tuple[Try, ...]
    hop: Hop | None


def timeline(fetch: Fetch, width: int, *, verbose: bool = False) -> list[Text]:
    """At most `width` cells a line; `verbose` adds the headers of every response."""
    visit = fetch.visit
    lines = [line for told in _requests(visit, width, verbose=verbose) for line in told]
    facts = labelled(_facts(fetch), width)
    if lines and facts:
        lines.append(Text())
    return [*lines, *facts, Text(), *_verdict(fetch, width)]


def phases(timing: Timing) -> list[Phase]:
    """Those that took place, and long enough to be printed as more than 0.0 ms."""
    ends = zip(_STYLES, (timing.dns, timing.connect, timing.tls, timing.first_byte, timing.total), strict=True)
    found, start = [], 0.0
    for name, end in ends:
        if end - start >= 0.000_05:
            found.append(Phase(name, start, end))
        start = max(start, end)
    return found


def steps(visit: Visit) -> list[Step]:
    """Tries and hops are two lists; told in order they are one."""
    left = list(visit.tries)
    found = []
    for hop in visit.hops:
        tries = [past for past in left if past.url == hop.url and past.at <= hop.at]
        left = [past for past in left if past not in tries]
        # The last one is the hop itself when its answer was not asked for again.
        failed = tuple(past for past in tries if past.wait is not None)
        found.append(Step(hop.url, min([hop.at, *(past.at for past in tries)]), failed, hop))
    if left:
        found.append(Step(left[0].url, left[0].at, tuple(left), None))
    return found


def _requests(visit: Visit, width: int, *, verbose: bool) -> Iterator[list[Text]]:
    story = steps(visit)
    slowest = max((hop.timing.total for hop in visit.hops), default=0.0)
    waits = [_wait_before_first(visit, story), *(_wait_between(*pair) for pair in pairwise(story))] if story else []
    for number, (step, wait) in enumerate(zip(story, waits, strict=True), 1):
        if wait:
            yield [_beside(wait, "dim")]
        yield [_asked(number, step, step.at - visit.started_at, width)]
        for past in step.tries:
            yield _failed_try(past, width)
        if step.hop:
            yield list(_answered(step.hop, slowest, width, verbose=verbose))


def _asked(number: int, step: Step, since: float, width: int) -> Text:
    """The URL as far as it fits, and when it was asked for since the visit began."""
    clock = f"+{since:.2f} s"
    opening = f"{number:<{_INDENT}}GET "
    room = width - len(opening) - len(GAP) - len(clock)
    url = shortened(step.url, room)
    filling = " " * (width - len(opening) - Text(url).cell_len - len(clock))
    return Text.assemble((opening, "bold"), url, filling, (clock, "dim"))


def _answered(hop: Hop, slowest: float, width: int, *, verbose: bool) -> Iterator[Text]:
    style = "green" if 200 <= hop.status < 300 else "cyan" if hop.status < 400 else "red"
    version = f"HTTP/{hop.http_version}" if hop.http_version else None
    kept = "kept connection" if hop.timing.first_byte and not hop.timing.connect else None
    facts = "".join(f" · {visible(fact)}" for fact in (hop.address, version, kept) if fact)
    yield from hanging(Text(), Text.assemble((status_named(hop.status), style), facts), _INDENT, width)
    for phase in phases(hop.timing):
        yield _bar(phase, slowest, width)
    if verbose:
        for name, value in hop.headers:
            label = Text.assemble(" " * _INDENT, (f"{visible(name)}:", "dim"))
            yield from hanging(label, Text(visible(value)), _HEADER, width)
    if hop.location is not None:
        yield Text.assemble(" " * _INDENT, ("→ ", "cyan"), shortened(hop.location, width - _INDENT - 2))


def _bar(phase: Phase, slowest: float, width: int) -> Text:
    room = width - _INDENT - _LABEL - _FIGURES
    start = min(round(room * phase.start / slowest), room - 1)
    length = min(max(round(room * phase.end / slowest) - start, 1), room - start)
    figures = f"{(phase.end - phase.start) * 1000:,.1f} ms"
    return Text.assemble(
        " " * _INDENT,
        (f"{phase.name:<{_LABEL}}", "dim"),
        " " * start,
        ("━" * length, _STYLES[phase.name]),
        " " * (room - start - length),
        f"{figures:>{_FIGURES}}",
    )


def _failed_try(past: Try, width: int) -> list[Text]:
    then = "no further try" if past.wait is None else f"asked again after {past.wait:.1f} s"
    told = Text.assemble((visible(because(past.failure)), "red"), f" · {then}")
    return hanging(Text(), told, _INDENT, width)


def _wait_before_first(visit: Visit, story: Sequence[Step]) -> str | None:
    asked = visit.robots is None or visit.robots.basis is not RobotsBasis.NOT_ASKED
    return _waited(story[0].at - visit.started_at, with_robots=asked)


def _wait_between(before: Step, after: Step) -> str | None:
    """What lies between the end of an answer and the next request. robots.txt is asked for once an origin."""
    if before.hop is None:
        return None
    gap = after.at - before.hop.at - before.hop.timing.total
    return _waited(gap, with_robots=before.url.origin != after.url.origin)


def _waited(gap: float, *, with_robots: bool) -> str | None:
    if gap < _SHORTEST_WAIT:
        return None
    return f"waited {gap:.2f} s: {'robots.txt, then ' if with_robots else ''}the site's turn"


def _beside(text: str, style: str) -> Text:
    return Text.assemble(" " * _INDENT, (text, style))


def _facts(fetch: Fetch) -> Iterator[tuple[str, Text]]:
    visit, outcome = fetch.visit, fetch.outcome
    if visit.robots is not None:
        yield "robots", robots_verdict(visit.robots)
        for more in robots_evidence(visit.robots):
            yield "", more
    if isinstance(outcome, Fetched):
        body = outcome.body
        sent = f" ({amount(body.wire_length)} as sent, {' + '.join(body.encodings)})" if body.encodings else ""
        said = " · ".join(filter(None, [body.content_type, body.charset, f"{amount(body.length)}{sent}"]))
        yield "content", Text(visible(said))
        yield "", Text(f"sha256 {digest_shown(body.sha256)}")
        if body.truncated:
            yield "", Text("cut off at the limit: this is the beginning only", "yellow")
    if isinstance(outcome, Fetched | NotModified) and outcome.validators:
        yield from zip(("validators", ""), _validators(outcome.validators), strict=False)
    yield "time", Text(f"{visit.ended_at - visit.started_at:.2f} s · {_effort(visit)}")


def _effort(visit: Visit) -> str:
    if not visit.hops and isinstance(visit.outcome, Skipped) and visit.outcome.reason.family is not Family.ROBOTS:
        return "nothing was sent"  # a turn that the guard ended was counted, and no packet left
    retries = sum(past.wait is not None for past in visit.tries)
    others = visit.requests - len(visit.hops) - retries
    robots = ", robots.txt included" if others > 0 else ""
    return f"{counted(visit.requests, 'request')}{robots} · {counted(retries, 'retry', 'retries')}"


def robots_verdict(verdict: RobotsVerdict) -> Text:
    style = "green" if verdict.allowed else "red"
    if verdict.basis is not RobotsBasis.RULE:
        return Text(visible(verdict.reason), style)
    word = "allowed" if verdict.allowed else "disallowed"
    return Text.assemble((word, style), f" by line {verdict.line}: ", (visible(verdict.rule or ""), "bold"))


def robots_evidence(verdict: RobotsVerdict) -> Iterator[Text]:
    if verdict.group or verdict.digest:
        group = [f"group for user-agent {visible(verdict.group)}"] if verdict.group else []
        digest = [f"file sha256 {digest_shown(verdict.digest)}"] if verdict.digest else []
        yield Text(" · ".join([*group, *digest]))
    if verdict.crawl_delay is not None:
        yield Text(f"asks for {verdict.crawl_delay:g} s between requests")


def digest_shown(digest: str) -> str:
    return f"{digest[:_DIGEST_SHOWN]}…"


def _validators(validators: Validators) -> Iterator[Text]:
    if validators.etag:
        yield Text(f"ETag {visible(validators.etag)}")
    if validators.last_modified:
        yield Text(f"Last-Modified {visible(validators.last_modified)}")


def _verdict(fetch: Fetch, width: int) -> list[Text]:
    lines = hanging(Text(), Text(visible(sentence(fetch)), _VERDICT_STYLES[exit_code(fetch)]), 0, width)
    flag = way_out(fetch)
    if flag:
        lines += hanging(Text(), Text(f"To fetch it all the same, add {flag}"), 0, width)
    return lines
