"""How is a schedule's file put together? YAML or TOML, by its ending: values and the lines on which they stand.

Of YAML only the shape is taken: each scalar is the text that stands there, so that `no` is no boolean and `1:30` no
number of seconds; what is meant by it, `sources` decides. Aliases and tags are refused: a list of sources needs
neither, and a few lines of aliases can stand for more than fits into memory.
"""

import re
import tomllib
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from outrider.errors import ConfigError, OutriderError
from outrider.settings.sources import spelled

DEEPEST: Final = 8
"""Three are needed: a mapping that holds a list of mappings. What is a little deeper gets a better sentence."""
LARGEST: Final = 16 * 1024 * 1024
_KINDS: Final = (".yaml", ".yml", ".toml")


class Written(NamedTuple):
    """Text, number or truth; a list or a mapping of such; with the line where it begins, where that is known."""

    value: Any
    line: int | None = None


def read_document(path: Path) -> Written:
    """The whole file. Raises `ConfigError` when it cannot be read at all: then there is nothing else to say of it."""
    if path.suffix.lower() not in _KINDS:
        raise ConfigError(f"{path}: expected a file whose name ends with {', '.join(_KINDS)}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: the file cannot be read: {error.strerror}") from None
    if len(data) > LARGEST:
        raise ConfigError(f"{path}: is longer than {LARGEST:,} bytes; put long lists of URLs into a seeds file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path} line {line}: the file is not UTF-8 text") from None
    return from_toml(text, path) if path.suffix.lower() == ".toml" else from_yaml(text, path)


def from_toml(text: str, path: Path) -> Written:
    try:
        values = tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: the file is not valid TOML: {error}") from None
    # tomllib does not say where a table begins. Only a string over many lines could look like a header of one.
    heads = [number for number, line in enumerate(text.split("\n"), 1) if re.match(r"\s*\[\[\s*sources\s*]]", line)]
    return Written({key: _plain(value, heads) for key, value in values.items()})


def _plain(value: object, heads: list[int]) -> Written:
    match value:
        case list():
            lines: list[int | None] = [*heads] if len(heads) == len(value) else [None] * len(value)
            return Written([_plain(item, [])._replace(line=line) for item, line in zip(value, lines, strict=True)])
        case dict():
            return Written({key: _plain(item, []) for key, item in value.items()})
        case _:
            return Written(value)


def from_yaml(text: str, path: Path) -> Written:
    try:
        import yaml  # noqa: PLC0415 - it comes with an extra
    except ModuleNotFoundError as error:
        raise OutriderError(f"{path}: YAML cannot be read here; pip install 'outrider[service]'") from error
    building = _Building(path)
    try:
        # The C parser is ten times as fast, and not on every machine.
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            building.hear(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark is not None else ""
        why = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        raise ConfigError(f"{path}{line}: the file is not valid YAML: {why}") from None
    return building.whole


class _Building:
    """The parser's events in, one value out. No recursion: how deep a file goes is its author's choice."""

    def __init__(self, path: Path) -> None:
        self.whole = Written(None)
        self._path = path
        self._documents = 0
        self._open: list[Written] = []
        self._keys: list[str | None] = []

    def hear(self, event: Any) -> None:  # noqa: ANN401 - both parsers have classes of their own
        kind, line = type(event).__name__, event.start_mark.line + 1
        if kind == "DocumentStartEvent":
            self._documents += 1
            if self._documents > 1:
                self._refuse(line, "a second document begins here; expected one")
        elif kind == "AliasEvent":
            self._refuse(line, f"*{event.anchor} is an alias; expected every source to be written out")
        elif kind in {"MappingStartEvent", "SequenceStartEvent", "ScalarEvent"}:
            self._begin(event, kind, line)
        elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
            self._open.pop()
            self._keys.pop()

    def _begin(self, event: Any, kind: str, line: int) -> None:  # noqa: ANN401 - as above
        if event.tag is not None:
            self._refuse(line, f"{event.tag} is a tag; expected plain values")
        if kind == "ScalarEvent":
            self._put(Written(event.value, line))
            return
        if len(self._open) == DEEPEST:
            self._refuse(line, "is nested too deep; expected keys, and under sources: a list of sources with keys")
        opened = Written({} if kind == "MappingStartEvent" else [], line)
        self._put(opened)
        self._open.append(opened)
        self._keys.append(None)

    def _put(self, written: Written) -> None:
        if not self._open:
            self.whole = written
            return
        inside, key = self._open[-1].value, self._keys[-1]
        if isinstance(inside, list):
            inside.append(written)
        elif key is not None:
            inside[key] = written
            self._keys[-1] = None
        elif not isinstance(written.value, str):
            self._refuse(written.line, "a list or mapping stands where a key was expected")
        elif written.value in inside:
            self._refuse(written.line, f"the key {spelled(written.value)} is there twice")
        else:
            self._keys[-1] = written.value

    def _refuse(self, line: int | None, why: str) -> NoReturn:
        raise ConfigError(f"{self._path} line {line}: {why}")
