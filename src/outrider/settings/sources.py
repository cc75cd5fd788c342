"""What was asked for, and where? Each source gives the values it holds, unjudged, and what is wrong with the source.

Flags, environment and file; the profile and the defaults are the model's own. An empty variable counts as unset.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final, NamedTuple

from outrider.errors import ConfigError
from outrider.settings.secrets import MASK, masked, names_a_secret
from outrider.settings.seeds import IGNORED, PREFIXES, SEEDS

PREFIX: Final = "OUTRIDER_"
FILE: Final = "outrider.toml"
TOKEN: Final = "OUTRIDER_SERVE_TOKEN"  # noqa: S105 - a name, not a token
"""A secret of the dashboard's: no setting, since those are printed and written down."""

_SHOWN: Final = 80
_CLOSE: Final = 0.75


class Given(NamedTuple):
    """`written` is the value before a change of unit: what its author would know again."""

    value: object
    source: str
    written: object


class Layer(NamedTuple):
    """One source. `problems` are whole sentences, one a line."""

    given: dict[str, Given]
    problems: list[str]


def from_flags(flags: Mapping[str, object]) -> Layer:
    return Layer({key: Given(value, "flag", value) for key, value in flags.items()}, [])


def from_environment(environment: Mapping[str, str], keys: Iterable[str]) -> Layer:
    """Our own names win over the seeds'; two names of the seeds that disagree are an error, for neither is stronger."""
    names = {PREFIX + key.upper(): key for key in keys}
    known = {*IGNORED, TOKEN}
    filled = {name: text for name, text in sorted(environment.items()) if text.strip() and name not in known}
    ours = {names[name]: Given(text, f"environment {name}", text) for name, text in filled.items() if name in names}
    theirs: dict[str, Given] = {}
    problems: list[str] = []
    for name, text in filled.items():
        if name in SEEDS and SEEDS[name].key not in ours:
            problems += _take_seed(name, text, theirs)
        elif name.startswith((PREFIX, *PREFIXES)) and name not in SEEDS and name not in names:
            hint = _variables_like(name, [*names, *SEEDS])
            problems.append(f"{spelled(name)} = {quoted(name, text)} (environment): no such variable{hint}")
    return Layer(theirs | ours, problems)


def from_file(path: Path) -> Layer:
    """Raises `ConfigError` when the file cannot be read as TOML: then there is nothing else to say about it."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: the file cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path} line {line}: the file is not UTF-8 text") from None
    values = _parsed(path, text)
    lines = _lines_of_keys(text)
    sources = {key: f"file {path} line {lines[key]}" if key in lines else f"file {path}" for key in values}
    return Layer({key: Given(value, sources[key], value) for key, value in values.items()}, [])


def quoted(key: str, value: object) -> str:
    """A value as an error shows it: on one line, not too long, without its password."""
    if names_a_secret(key):
        return MASK
    text = masked(repr(value) if isinstance(value, str) else str(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def spelled(name: str) -> str:
    """A name that nobody knows: as it is, unless it would garble a line."""
    return name if name.isprintable() else repr(name)


def did_you_mean(word: str, known: Iterable[str], prefix: str = "") -> str:
    close = get_close_matches(word, list(known), cutoff=_CLOSE)
    return f"; did you mean {' or '.join(prefix + match for match in close)}?" if close else ""


def _variables_like(name: str, known: Iterable[str]) -> str:
    """Compared without the prefix, which would make all of them look alike."""
    prefix = next(prefix for prefix in (PREFIX, *PREFIXES) if name.startswith(prefix))
    rest = [other.removeprefix(prefix) for other in known if other.startswith(prefix)]
    return did_you_mean(name.removeprefix(prefix), rest, prefix)


def _take_seed(name: str, text: str, theirs: dict[str, Given]) -> list[str]:
    seed, source = SEEDS[name], f"environment {name}"
    try:
        value = seed.convert(text) if seed.convert else text
    except ValueError:
        return [f"{seed.key} = {quoted(seed.key, text)} ({source}): expected {seed.unit}"]
    rival = theirs.get(seed.key)
    if rival and not _agree(rival.value, value):
        both = f"{quoted(seed.key, text)} ({source}) contradicts {quoted(seed.key, rival.written)} ({rival.source})"
        return [f"{seed.key} = {both}: expected one of them, or the same value"]
    theirs[seed.key] = Given(value, source, text)
    return []


def _agree(one: object, other: object) -> bool:
    try:
        return float(str(one)) == float(str(other))
    except ValueError:
        return str(one).lower() == str(other).lower()


def _parsed(path: Path, text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).rpartition(" (at ")
        number = re.match(r"line (\d+)", place)
        line = number[1] if number else text.rstrip().count("\n") + 1
        raise ConfigError(f"{path} line {line}: the file is not valid TOML: {what}") from None


def _lines_of_keys(text: str) -> dict[str, int]:
    """A line begins a key when it looks so and all before it is whole TOML, not half a string; tomllib does not say."""
    found: dict[str, int] = {}
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        match = re.match(r"""\s*\[*\s*["']?([\w-]+)["']?\s*[]=.]""", line)
        if match and match[1] not in found and _is_whole("".join(lines[: number - 1])):
            found[match[1]] = number
    return found


def _is_whole(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True
