"""`outrider robots URL`: may we ask for this URL, and which line of robots.txt says so?

The file is asked for as in a visit: same transport, guard, redirects. `--file` judges a local one without any network.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.cli.options import (
    AllowPrivate,
    AsJson,
    Assignments,
    ConfigFile,
    Contact,
    Profile,
    UrlToVisit,
    load_settings,
)
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.cli.robots_answer import RobotsAnswer
    from outrider.fetch.robots_txt import Judged
    from outrider.model.url import Url
    from outrider.settings import Settings

_STDIN = "-"
_BUDGET = 120.0
"""How long the question may take with its redirects, retries and waits."""


def robots(  # noqa: PLR0913 - one argument for each option
    *,
    url: UrlToVisit,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="Judge for this user agent in place of ours.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="PATH", help="Judge by this file, without any network; - is standard input."),
    ] = None,
    as_json: AsJson = False,
    contact: Contact = None,
    allow_private: AllowPrivate = None,
    profile: Profile = None,
    assignments: Assignments = None,
    config: ConfigFile = None,
) -> int:
    """Say what robots.txt says about a URL, and by which line."""
    # Late, as in options: the HTTP client and rich take longer to load than the help to print.
    from outrider.cli.document import dumped  # noqa: PLC0415
    from outrider.cli.robots_answer import answer_by_file, answer_by_web, told  # noqa: PLC0415
    from outrider.cli.terminal import console_on, page_width, print_lines, waiting  # noqa: PLC0415
    from outrider.loop import run  # noqa: PLC0415
    from outrider.model.url import Url  # noqa: PLC0415
    from outrider.settings import require_contact  # noqa: PLC0415

    page = Url(url)
    # Whoever asks this command wants the file asked for, whatever a crawl is told to do.
    flags = {"contact": contact, "allow_private": allow_private or None, "respect_robots": True}
    settings = load_settings(profile, config, assignments, flags).settings
    name = settings.agent_token if agent is None else agent
    answer: RobotsAnswer
    limit = settings.robots_max_bytes
    if file is not None:
        answer = answer_by_file(page, name, _read(file, limit), str(file), limit)
    else:
        require_contact(settings, [page])
        with waiting(f"asking {page.origin}/robots.txt"):
            answer = answer_by_web(page, name, run(_ask(page, settings)))
    if as_json:
        typer.echo(dumped(answer.document()))
    else:
        console = console_on(sys.stdout)
        print_lines(told(answer, page_width(console)), console)
    return answer.exit_code


async def _ask(url: "Url", settings: "Settings") -> "Judged":
    from outrider.app import open_visits  # noqa: PLC0415 - see above
    from outrider.fetch.hold import Hold  # noqa: PLC0415 - see above
    from outrider.model.site import Site  # noqa: PLC0415 - see above
    from outrider.policy.pace import fresh_pace  # noqa: PLC0415 - see above

    async with open_visits(settings) as visits:
        site = Site(url.site(settings.site_by), pace=fresh_pace(visits.settle.pace))
        return await visits.robots.judge(url, Hold(site, visits.clock, visits.clock.now() + _BUDGET))


def _read(path: Path, limit: int) -> bytes:
    """One byte more than the limit, so that the parser can tell that there was more."""
    try:
        if str(path) == _STDIN:
            return sys.stdin.buffer.read(limit + 1)
        with path.open("rb") as file:
            return file.read(limit + 1)
    except OSError as error:
        raise ConfigError(f"--file {str(path)!r}: {error.strerror}") from None
