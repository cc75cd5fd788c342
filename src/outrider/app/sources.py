"""Which sources does a schedule's file name? Every mistake in it is one sentence, and all of them are told at once."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import Struct

from outrider.app.seeds import read_seeds, seed_of
from outrider.app.source_file import Written, read_document
from outrider.errors import ConfigError, InvalidUrl
from outrider.model.url import Url
from outrider.policy.schedule import Edition, Kind, Listed, Source
from outrider.settings.durations import seconds_in
from outrider.settings.sources import did_you_mean, quoted, spelled

ONCE: Final = "once"
DAY: Final = 86_400.0
SHORTEST, LONGEST = 1.0, 3_660 * DAY
MOST_PRIORITY: Final = 1_000_000
_TOP: Final = ("name", "every", "sources")
_KINDS: Final = tuple(Kind)
_KEYS: Final = (*_KINDS, "every", "priority")
_INTERVAL: Final = "a time from 1s to 10 years, such as 15m, 6h or 1d, or once"
_PRIORITY: Final = f"a whole number from -{MOST_PRIORITY} to {MOST_PRIORITY}"


class Schedule(Struct, frozen=True):
    """What a file says. Turns are remembered under its `name`: the file's own, without its ending, by default."""

    name: str
    sources: tuple[Source, ...]
    folder: str

    def file_of(self, source: Source) -> Path:
        """A path is meant from where the schedule is."""
        return Path(self.folder, source.what)


class Parsed(NamedTuple):
    """`places` says of every source where it stands."""

    schedule: Schedule
    problems: list[str]
    places: dict[str, str]


def read_schedule(path: Path) -> Schedule:
    """Raises `ConfigError` with every mistake in the file, lists of seeds that cannot be used among them."""
    schedule, problems, places = parse_schedule(read_document(path), path)
    for source in schedule.sources:
        if source.kind is Kind.SEEDS:
            try:
                read_list(schedule, source)
            except ConfigError as error:
                problems.append(f"{places[source.name]}: seeds: {error}")
    if problems:
        more = f"{len(problems)} problems with the schedule:"
        raise ConfigError(problems[0] if len(problems) == 1 else "\n  ".join([more, *problems]))
    return schedule


def read_list(schedule: Schedule, source: Source) -> Listed:
    """Raises `ConfigError` when a list of seeds cannot be read, or holds what is no URL."""
    if source.kind is not Kind.SEEDS:
        return Listed([Url.trusted(source.what)])
    file = schedule.file_of(source)
    try:
        written_at = file.stat().st_mtime_ns
    except OSError as error:
        raise ConfigError(f"{file}: the seeds cannot be read: {error.strerror}") from None
    urls = read_seeds([], file)
    digest = sha256("\n".join(urls).encode()).hexdigest()
    return Listed(urls, Edition(len(urls), digest, written_at))


def parse_schedule(document: Written, path: Path) -> Parsed:
    """What could be understood, and a sentence for everything else."""
    reading = _Reading(path)
    if not isinstance(document.value, dict):
        wrong = "is empty" if document.value is None else "is no mapping"
        reading.problems.append(f"{path}: {wrong}; expected keys, and under sources: a list")
        return Parsed(Schedule(path.stem, (), ""), reading.problems, {})
    top: Mapping[str, Written] = document.value
    reading.refuse_unknown(top, _TOP, str(path))
    name = top.get("name", Written(path.stem))
    if not isinstance(name.value, str) or not name.value.strip() or not name.value.isprintable():
        reading.wrong(_at(path, name), "name", name, "a short text, such as news")
    else:
        reading.name = name.value.strip()
    every = reading.interval(top, str(path), default=DAY)
    listed = top.get("sources", Written(None))
    if not isinstance(listed.value, list) or not listed.value:
        reading.problems.append(f"{_at(path, listed)}: sources: expected a list of at least one source")
        listed = Written([])
    found = [reading.source(number, item, every) for number, item in enumerate(listed.value, 1)]
    sources = tuple(source for source in found if source is not None)
    schedule = Schedule(reading.name, sources, str(path.absolute().parent))
    return Parsed(schedule, reading.problems, reading.places)


class _Reading:
    def __init__(self, path: Path) -> None:
        self.problems: list[str] = []
        self._path = path
        self.name = path.stem
        self.places: dict[str, str] = {}

    def source(self, number: int, item: Written, every: float | None) -> Source | None:
        where = f"{self._path} source {number}" + (f" (line {item.line})" if item.line is not None else "")
        if not isinstance(item.value, dict):
            shown = quoted("", _bare(item))
            self.problems.append(f"{where}: {shown} has no keys; expected such as url: https://example.org/")
            return None
        keys: Mapping[str, Written] = item.value
        before = len(self.problems)
        self.refuse_unknown(keys, _KEYS, where)
        kinds = [kind for kind in _KINDS if kind in keys]
        if not kinds:
            self.problems.append(f"{where}: says not what to feed; expected one of {', '.join(_KINDS)}")
        elif len(kinds) > 1:
            self.problems.append(f"{where}: {' and '.join(kinds)} stand in one source; expected one of them")
        every = self.interval(keys, where, default=every)
        priority = self._priority(keys, where)
        what = self._what(kinds[0], keys[kinds[0]], where) if len(kinds) == 1 else None
        if what is None or len(self.problems) > before:
            return None
        source = Source(kinds[0], what, every, priority, self.name)
        first = self.places.setdefault(source.name, where)
        if first is not where:
            first = first.removeprefix(f"{self._path} ")
            self.problems.append(f"{where}: {source} is {first} already; expected each source once")
            return None
        return source

    def refuse_unknown(self, keys: Mapping[str, Written], known: Sequence[str], where: str) -> None:
        for key, written in keys.items():
            if key not in known:
                hint = did_you_mean(key, known) or f"; there are {', '.join(known)}"
                self.problems.append(f"{where}: {spelled(key)} = {quoted(key, _bare(written))}: no such key{hint}")

    def interval(self, keys: Mapping[str, Written], where: str, default: float | None) -> float | None:
        written = keys.get("every")
        if written is None:
            return default
        if written.value == ONCE:
            return None
        seconds = _seconds(written.value)
        if seconds is None or not SHORTEST <= seconds <= LONGEST:
            self.wrong(where, "every", written, _INTERVAL)
            return default
        return seconds

    def wrong(self, where: str, key: str, written: Written, expected: str) -> None:
        self.problems.append(f"{where}: {key} = {quoted(key, _bare(written))}: expected {expected}")

    def _priority(self, keys: Mapping[str, Written], where: str) -> int:
        written = keys.get("priority", Written(0))
        value = written.value
        try:
            number = None if isinstance(value, bool | float) else int(value)
        except (TypeError, ValueError):
            number = None
        if number is None or abs(number) > MOST_PRIORITY:
            self.wrong(where, "priority", written, _PRIORITY)
            return 0
        return number

    def _what(self, kind: Kind, written: Written, where: str) -> str | None:
        value = written.value
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            self.wrong(where, kind, written, "the path of a file" if kind is Kind.SEEDS else "a URL")
            return None
        if kind is Kind.SEEDS:
            return value.strip()
        try:
            return str(seed_of(value))
        except InvalidUrl as error:
            self.problems.append(f"{where}: {kind}: {error}")
            return None


def _at(path: Path, written: Written) -> str:
    return str(path) if written.line is None else f"{path} line {written.line}"


def _seconds(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if 0 < value < 2 * LONGEST else None
    if not isinstance(value, str):
        return None
    if value.isascii() and value.isdigit():
        return float(value)
    return seconds_in(value)


def _bare(written: Written) -> Any:  # noqa: ANN401 - whatever stands there
    """Without the lines, for an error to show."""
    match written.value:
        case list() as items:
            return [_bare(item) for item in items]
        case dict() as keys:
            return {key: _bare(item) for key, item in keys.items()}
        case value:
            return value
