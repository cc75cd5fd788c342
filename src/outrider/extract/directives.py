"""What may be done with a page, by its own word? X-Robots-Tag headers and robots meta elements speak one language.

Directives are in lower case. Those for everybody and those for our agent add up, so the stricter one wins; `none` is
what it stands for. Unknown directives are kept: what to obey is the caller's business.
"""

import re
from collections.abc import Iterable
from typing import Final

NOINDEX: Final = "noindex"
NOFOLLOW: Final = "nofollow"
NOARCHIVE: Final = "noarchive"

_WITH_VALUE: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
"""What stands before the colon of these is the directive. Before any other colon it is an agent."""

_AGENT: Final = re.compile(r"[a-z0-9_.*/-]+")
_READ: Final = 2_000
"""Characters of one value that are read. Honest ones have a few dozen."""


def header_directives(values: Iterable[str], agent: str) -> frozenset[str]:
    """Those of X-Robots-Tag values that hold for `agent`. A name in a value holds until the next one, or its end."""
    found: set[str] = set()
    ours = frozenset({"", "*", agent.lower()})
    for value in values:
        _read(value, found, ours)
    return frozenset(found)


def meta_directives(contents: Iterable[str]) -> frozenset[str]:
    """Those of the `content` of meta elements, whose `name` has said already whom they are for."""
    found: set[str] = set()
    for content in contents:
        _read(content, found, None)
    return frozenset(found)


def _read(value: str, found: set[str], ours: frozenset[str] | None) -> None:
    """`ours` are the agents to listen to; None where the text cannot name one."""
    holder = ""
    items = value[:_READ].lower().split(",")
    for index, item in enumerate(items):
        name, colon, argument = (part.strip() for part in item.partition(":"))
        if colon and name not in _WITH_VALUE:
            # The time of a date has colons as well: `25 jun 2010 15:00:00 pst` names no agent.
            if ours is None or not _AGENT.fullmatch(name) or name.isdigit():
                continue
            holder = name
            name, colon, argument = (part.strip() for part in argument.partition(":"))
        if ours is not None and holder not in ours:
            continue
        if name == "unavailable_after" and index + 1 < len(items) and items[index + 1].strip()[:1].isdigit():
            # `saturday, 25 jun 2010 15:00:00 pst`: the comma is the date's.
            argument = f"{argument}, {items[index + 1].strip()}"
        if name == "none":
            found.update((NOINDEX, NOFOLLOW))
        elif colon:
            found.add(f"{name}: {argument}")
        elif name and not name[0].isdigit():
            found.add(name)
