"""How is a key told to a person, and its value to a person or a program? Never with a password in it."""

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, get_args

from outrider.policy.extensions import GROUPS
from outrider.settings.keys import SECTIONS, Settings
from outrider.settings.kinds import SIZE, Expects
from outrider.settings.secrets import masked
from outrider.settings.section import Section

if TYPE_CHECKING:
    from outrider.settings.load import Loaded  # which in turn tells its errors with this module

_WIDTH: Final = 42
_CUT: Final = _WIDTH - len("… (999)")
_UNITS: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"


class Row(NamedTuple):
    """One key for a table; `short` is its value, with a long list cut after some items and counted."""

    key: str
    short: str
    source: str
    meaning: str


def rows(loaded: "Loaded") -> list[tuple[str, list[Row]]]:
    """Every key under the title of its section."""
    settings, provenance = loaded
    return [
        (title(section), [_row(key, getattr(settings, key), provenance[key]) for key in section.model_fields])
        for section in SECTIONS
    ]


def title(section: type[Section]) -> str:
    return section.__doc__ or section.__name__


def meaning(key: str) -> str:
    return Settings.model_fields[key].description or ""


def expected(key: str) -> str:
    """What a key takes, in words."""
    field = Settings.model_fields[key]
    for mark in field.metadata:
        if isinstance(mark, Expects):
            return mark.words
    return "one of " + ", ".join(get_args(field.annotation))


def shown(key: str, value: object) -> str:
    """A value as one would write it in the environment."""
    match value:
        case None:
            return "never" if expected(key).endswith("never") else "none"
        case bool():
            return "true" if value else "false"
        case int() if expected(key).startswith(SIZE.words):
            return _size(value)
        case float() if value.is_integer():
            return str(int(value))
        case str():
            return masked(value)
        case AbstractSet() | tuple():
            return ", ".join(_items(key, value)) or "[]"
        case Mapping():
            return ", ".join(f"{name}={_joined(item)}" for name, item in value.items()) or "[]"
        case re.Pattern():
            return str(value.pattern)
        case _:
            return str(value)


def plain(value: object) -> Plain:
    """A value as JSON has it."""
    return _plain(value, masked)


def spoken(settings: Settings) -> dict[str, Plain]:
    """Every key with its value, secrets included, so that another process can make the same of it."""
    return {key: spoken_value(getattr(settings, key)) for key in Settings.model_fields}


def spoken_value(value: object) -> Plain:
    return _plain(value, str)


def _plain(value: object, text: Callable[[str], str]) -> Plain:
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return text(value)
        case AbstractSet() | tuple():
            return [_plain(item, text) for item in _ordered(value)]
        case Mapping():
            return {str(name): _plain(item, text) for name, item in value.items()}
        case re.Pattern():
            return str(value.pattern)
        case _:
            return str(value)


def _joined(value: object) -> str:
    return (
        ";".join(map(str, value))
        if isinstance(value, tuple)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def _row(key: str, value: object, source: str) -> Row:
    return Row(key, _short(key, value), source, meaning(key))


def _short(key: str, value: object) -> str:
    text = shown(key, value)
    if len(text) <= _WIDTH or not isinstance(value, AbstractSet | tuple):
        return text
    items = _items(key, value)
    fitting = [item for item, end in zip(items, accumulate(len(item) + 2 for item in items), strict=True) if end < _CUT]
    return ", ".join([*fitting, f"… ({len(items)})"])


def _items(key: str, value: AbstractSet[object] | tuple[object, ...]) -> list[str]:
    if key == "skip_extensions" and isinstance(value, AbstractSet):
        return _by_group(value)
    return [shown(key, item) for item in _ordered(value)]


def _by_group(extensions: AbstractSet[object]) -> list[str]:
    """Whole groups by their names, which is also how one would write them."""
    whole = [name for name, group in GROUPS.items() if group <= extensions]
    grouped = frozenset().union(*(GROUPS[name] for name in whole))
    return [*whole, *sorted(str(extension) for extension in extensions - grouped)]


def _ordered(items: AbstractSet[object] | tuple[object, ...]) -> Sequence[object]:
    """Sets have no order of their own, and a page must read the same every time."""
    if isinstance(items, tuple):
        return items
    return sorted(items, key=lambda item: (item, "") if isinstance(item, int) else (0, str(item)))


def _size(value: int) -> str:
    for unit, name in _UNITS:
        if value >= unit and value % unit == 0:
            return f"{value // unit}{name}"
    return str(value)
