"""Does this URL look like one of endlessly many? A path that repeats itself, or a heap of folders or parameters.

Such URLs come from links that are relative by mistake (`/a/b/a/b/a/b`), and from filters that can be combined without
end. Only the URL is looked at. A calendar that goes on for ever looks like any other archive: the site's quota is what
ends it.
"""

from collections import Counter
from typing import Final

from msgspec import Struct

from outrider.model.url import Url

_SHOWN: Final = 80


class TrapLimits(Struct, frozen=True):
    """`repeats` of one name in a path, or of one parameter, are a trap; more `segments` or `parameters` are too."""

    repeats: int = 3
    segments: int = 20
    parameters: int = 20


class Trap(Struct, frozen=True):
    """Which rule caught it, and on what evidence."""

    rule: str
    evidence: str


def trap(url: Url, limits: TrapLimits) -> Trap | None:
    """Counts first, since nearly every URL is plain: it is split only where something could be repeated.

    A sequence that repeats, such as `/a/b/a/b/a/b`, repeats each of its names.
    """
    path, _, query = url.partition("?")
    # `https://host/` has three slashes and one segment, an empty one.
    segments = path.count("/") - 2
    if segments > limits.segments:
        return Trap(f"max_segments={limits.segments}", f"{segments} segments")
    if segments >= limits.repeats and (name := _repeated(path.split("/")[3:], limits.repeats)) is not None:
        return Trap(f"repeated_segment={limits.repeats}", f"/{name[:_SHOWN]}")
    if not query:
        return None
    parameters = query.count("&") + 1
    if parameters > limits.parameters:
        return Trap(f"max_parameters={limits.parameters}", f"{parameters} parameters")
    if parameters >= limits.repeats:
        names = [field.partition("=")[0] for field in query.split("&")]
        if (name := _repeated(names, limits.repeats)) is not None:
            return Trap(f"repeated_parameter={limits.repeats}", name[:_SHOWN])
    return None


def _repeated(names: list[str], repeats: int) -> str | None:
    # A name that is there r times leaves at most n - r + 1 different ones.
    if len(set(names)) > len(names) - repeats + 1:
        return None
    for name, times in Counter(names).items():
        if times >= repeats and not _may_repeat(name):
            return name
    return None


def _may_repeat(name: str) -> bool:
    """`/2011/11/11` is a date, and `tag[]` is how a form says that there may be several."""
    return (len(name) <= 2 and name.isdigit()) or name.endswith(("[]", "%5B%5D", "%5b%5d"))
