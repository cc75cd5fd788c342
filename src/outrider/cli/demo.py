"""`outrider demo`: a whole crawl in half a minute, of a web that is made up and served on this machine alone.

Nothing leaves the machine and nothing of yours is read: neither settings file nor environment. The web logs every
request by itself, and its referee says at the end whether the crawl was polite.
"""

import shlex
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.cli.options import AsJson
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from outrider.app.directory import CrawlDirectory


def demo(
    *,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Another number is another web.")] = 0,
    directory: Annotated[
        Path, typer.Option("--directory", "-d", metavar="DIR", help="Where everything goes; made anew each time.")
    ] = Path("outrider-demo"),
    as_json: AsJson = False,
) -> int:
    """Crawl a made-up web of 300 sites, a fifth of them hostile, on this machine: it takes half a minute."""
    from outrider.app.directory import CrawlDirectory  # noqa: PLC0415 - late, as in options
    from outrider.cli.demo_run import run_demo  # noqa: PLC0415 - the same

    home = CrawlDirectory(directory)
    with _made_anew(home):
        return run_demo(home, seed, next_steps(directory), as_json=as_json)


def next_steps(directory: Path) -> list[str]:
    """Commands that work as they stand here, and one to fill in."""
    where = shlex.quote(str(directory))
    return [
        f"outrider pages {where} --reason too_many_redirects",
        f"outrider events {where} --type site_went_down",
        "outrider crawl https://your.site/ --contact you@your.site",
    ]


@contextmanager
def _made_anew(home: "CrawlDirectory") -> "Iterator[None]":
    if home.is_begun and not home.demo_mark.exists():
        raise ConfigError(
            f"{home.path}: holds a crawl that is not a demo's, which is not discarded; give another --directory"
        )
    with home.held():
        home.discard()
        home.demo_mark.touch()
        yield


__all__ = ["demo", "next_steps"]
