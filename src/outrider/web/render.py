"""From a template and values to a page. Everything is escaped unless it was made safe on purpose; nothing is undefined.

A page that is asked for by our own script comes without its frame: the parts that change, and nothing else.
"""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from outrider.observe import words
from outrider.web import charts, phrases

STATIC: Final = Path(__file__).parent / "static"
LIVE_HEADER: Final = "x-outrider-part"

PLACES: Final = (
    ("/", "Overview"),
    ("/sites", "Sites"),
    ("/frontier", "Frontier"),
    ("/letters", "Dead letters"),
    ("/settings", "Settings"),
    ("/about", "About"),
)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("outrider.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": phrases.shown,
        "grouped": phrases.grouped,
        "chip": phrases.chip,
        "word": phrases.word,
        "size": words.size,
        "duration": words.duration,
        "pace": phrases.pace,
        "axis": phrases.axis,
        "counted": phrases.counted,
    }
    environment.globals |= {
        "bar": charts.bar,
        "when": phrases.when,
        "link": phrases.link,
        "clock": phrases.clock,
        "static": static,
        "places": PLACES,
        "csrf_field": "csrf",
    }
    return environment


def rendered(template: str, values: Mapping[str, Any], *, is_part: bool = False) -> str:
    layout = "part.html" if is_part else "frame.html"
    return _environment().get_template(template).render(layout=layout, **values)


@cache
def static(name: str) -> str:
    """Where a file of ours is; another content is another place, so that no browser shows an old one."""
    return f"/static/{name}?v={sha256((STATIC / name).read_bytes()).hexdigest()[:10]}"
