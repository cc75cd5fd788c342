"""What the commands of `outrider dlq` do, once their arguments are read. Loaded late: it needs the stores."""

import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import typer
from msgspec import Struct, to_builtins

from outrider.app.operate import open_operated
from outrider.app.why import terms_of
from outrider.cli.dlq_text import count_lines, in_full, lines_of, outcome
from outrider.cli.document import document_of
from outrider.cli.place import Operating
from outrider.cli.terminal import console_on, page_width, print_lines
from outrider.errors import ConfigError
from outrider.model.codec import to_json
from outrider.model.record import Record
from outrider.model.url import Url
from outrider.ops.dead_letters import Count, Letter, Operated, Wanted, count_letters, drop, letters, replay
from outrider.ops.walks import walking
from outrider.ops.why import why


class Act(Struct, frozen=True):
    """`done` is what it has made of a letter, `meant` what that means for the URL."""

    name: str
    done: str
    meant: str
    act: Callable[[Operated, Sequence[Url], str], Awaitable[int]]


ACTS: Final = {
    "replay": Act("replay", "replayed", "owed a visit again, with fresh counts", replay),
    "drop": Act("drop", "dropped", "dismissed for good", drop),
}


class Shown(Struct, frozen=True, rename="camel"):
    """A letter with the record of its last visit, for programs."""

    letter: Letter
    last_visit: Record | None


async def list_for_people(place: Operating, wanted: Wanted, limit: int) -> None:
    async with open_operated(place.settings, place.sources) as operated:
        count = await count_letters(operated.frontier, operated.records, wanted, first=limit)
    console = console_on(sys.stdout)
    width = page_width(console)
    print_lines(count_lines(count, width), console)
    print_lines(lines_of(count, width), console)


async def list_for_programs(place: Operating, wanted: Wanted, limit: int | None) -> None:
    """Each line is an object with one key that says what it is: the counts first, then every letter."""
    async with open_operated(place.settings, place.sources) as operated:
        count = await count_letters(operated.frontier, operated.records, wanted)
        typer.echo(to_json({"count": _plain(count)}).decode())
        left = count.total if limit is None else limit
        if left <= 0:
            return
        async with walking(letters(operated.frontier, operated.records, wanted)) as found:
            async for letter in found:
                typer.echo(to_json({"letter": letter}).decode())
                left -= 1
                if left <= 0:
                    break


async def show(place: Operating, wanted: Wanted, limit: int, *, as_json: bool) -> None:
    console = console_on(sys.stdout)
    width = page_width(console)
    shown = 0
    async with open_operated(place.settings, place.sources) as operated:
        terms = terms_of(place.settings, place.sources.seeds)
        async with walking(letters(operated.frontier, operated.records, wanted)) as found:
            async for letter in found:
                if shown >= limit:
                    typer.echo(f"there are more than {limit}; --limit shows more of them", err=True)
                    break
                story = await why(letter.url, operated.frontier, operated.records, terms, time.time())
                if as_json:
                    visits = [one for one in story.visits if one.page and one.page.fetch_id == letter.fetch_id]
                    typer.echo(document_of(Shown(letter, visits[-1] if visits else None)))
                else:
                    lines = in_full(letter, story, width, has_records=operated.has_records, is_next=shown > 0)
                    print_lines(lines, console)
                shown += 1
        if not shown:
            await _explain_nothing(operated, wanted)


async def act_upon(act: Act, place: Operating, wanted: Wanted, *, dry_run: bool, as_json: bool) -> None:
    """Counts first; then the act, or what it would be."""
    async with open_operated(place.settings, place.sources) as operated:
        # All are named before the first is touched: one that dies again meanwhile is not taken twice.
        count = Count()
        urls = []
        async with walking(letters(operated.frontier, operated.records, wanted, visits=False)) as found:
            async for letter in found:
                count.add([letter])
                urls.append(letter.url)
        if not as_json:
            console = console_on(sys.stdout)
            print_lines(count_lines(count, page_width(console)), console)
        done = 0 if dry_run else await act.act(operated, urls, f"outrider dlq {act.name}")
        if as_json:
            told = {"count": _plain(count), act.done: done, "dryRun": dry_run}
            typer.echo(to_json(told).decode())
        elif urls:
            home = None if place.home is None else str(place.home.path)
            for line in outcome(act.name, act.done, act.meant, len(urls), done, home, dry_run=dry_run):
                typer.echo(line)
        elif wanted.urls:
            await _explain_nothing(operated, wanted)


async def _explain_nothing(operated: Operated, wanted: Wanted) -> None:
    """Raises `ConfigError` about a URL that was named; that no letter matches a filter is no mistake."""
    for url in wanted.urls[:1]:
        line = await operated.frontier.find(url)
        if line is not None and line.reason is not None:
            raise ConfigError(f"{url}: is no dead letter that matches: it is {line.state} ({line.reason})")
        known = line is not None or (await operated.frontier.knows([url]))[0]
        what = "it is unknown here" if not known else f"it is {line.state}" if line else "it has ended otherwise"
        raise ConfigError(f"{url}: is no dead letter: {what}; outrider why URL tells its story")
    typer.echo("no dead letter matches", err=True)


def _plain(count: Count) -> dict[str, object]:
    plain: dict[str, object] = to_builtins(count)
    del plain["first"]
    return plain
