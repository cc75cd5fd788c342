"""`outrider events [DIR]`: what happened in a crawl, merged from all its workers, or as it happens."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from outrider.cli.crawl_folder import CrawlFolder, events_in
from outrider.cli.exit_codes import ExitCode
from outrider.cli.options import AsJson
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.stores.files.event_lines import Head, Line

_LOOK: Final = 0.2
"""Seconds between two looks for news: a person does not notice, and a disk does not either."""


def events(
    *,
    folder: CrawlFolder = Path(),
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Not what was, but what comes from now on, until Ctrl-C.")
    ] = False,
    types: Annotated[
        str | None, typer.Option("--type", metavar="TYPE,…", help="Only these, such as page_failed,url_died.")
    ] = None,
    site: Annotated[str | None, typer.Option("--site", metavar="SITE", help="Only those of this site.")] = None,
    as_json: AsJson = False,
) -> int:
    """Print the events of a crawl in the order of time. What they hold: docs/reference/events.md."""
    from outrider.stores.files.event_lines import Follower, in_time_order  # noqa: PLC0415 - late, as in options

    wanted = _wanted(types, site)
    place = events_in(folder)
    damaged = 0
    lines = _looking(Follower(place).news) if follow else in_time_order(place)
    for line in lines:
        if line is None:
            sys.stdout.flush()
        elif line.head is None:
            damaged += 1
        elif wanted(line.head):
            _print(line, as_json=as_json)
    if damaged:
        from outrider.observe.words import counted  # noqa: PLC0415 - late, as in options

        typer.echo(f"outrider: {counted(damaged, 'damaged line')} left out", err=True)
    return ExitCode.OK


def _looking(news: "Callable[[], Iterable[Line]]") -> "Iterator[Line | None]":
    """News as they come; None when all has been told for now."""
    while True:
        yield from news()
        yield None
        time.sleep(_LOOK)


def _wanted(types: str | None, site: str | None) -> "Callable[[Head], bool]":
    from outrider.model.url import Url  # noqa: PLC0415 - late, as in options
    from outrider.observe.log import LEVELS  # noqa: PLC0415 - the same

    names = {name.strip() for name in types.split(",") if name.strip()} if types is not None else None
    if names is not None and (not names or names - LEVELS.keys()):
        unknown = ", ".join(sorted(names - LEVELS.keys())) or "none is named"
        raise ConfigError(f"--type {types!r}: no such event: {unknown}; there are {', '.join(sorted(LEVELS))}")
    if site is not None and not site.strip():
        raise ConfigError("--site '': expected a site, such as example.com")

    def wanted(head: "Head") -> bool:
        if names is not None and head.type not in names:
            return False
        if site is None or head.site is not None or head.url is None:
            return site in {None, head.site}
        url = Url.trusted(head.url)
        return site in {url.host, url.site()}

    return wanted


def _print(line: "Line", *, as_json: bool) -> None:
    from msgspec.json import decode  # noqa: PLC0415 - late, as in options

    text = line.text.decode(errors="backslashreplace")
    if as_json:
        sys.stdout.write(f"{text if text.isprintable() else _escaped(line.text)}\n")
        return
    from outrider.observe.sentences import event_text  # noqa: PLC0415 - late, as in options
    from outrider.observe.words import moment  # noqa: PLC0415 - the same

    fields = decode(line.text)
    told = f"{moment(fields['at'])} {event_text(fields)}\n"
    encoding = sys.stdout.encoding
    sys.stdout.write(told.encode(encoding, "backslashreplace").decode(encoding))


def _escaped(line: bytes) -> str:
    """The same JSON in ASCII: a terminal must not be steered by a page's words."""
    import json  # noqa: PLC0415 - seldom needed

    return json.dumps(json.loads(line))
