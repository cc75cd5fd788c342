"""`outrider normalize URL`: which form of it is fetched, which page is it, what was changed on the way? No network."""

import sys
from typing import Annotated

import typer

from outrider.cli.exit_codes import ExitCode
from outrider.cli.options import AsJson, Assignments, ConfigFile, Profile, load_settings


def normalize(
    *,
    url: Annotated[
        str, typer.Argument(metavar="URL", help="http or https; with --base, any link.", show_default=False)
    ],
    base: Annotated[str | None, typer.Option("--base", metavar="URL", help="The page that the link is on.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="With identity, site, and what was changed.")] = False,
    as_json: AsJson = False,
    profile: Profile = None,
    assignments: Assignments = None,
    config: ConfigFile = None,
) -> int:
    """Print the form of a URL that would be fetched."""
    from outrider.model.url import Url  # noqa: PLC0415 - late, as in options

    page = None if base is None else Url(base)
    found = Url(url, page)
    if not explain and not as_json:
        typer.echo(found)
        return ExitCode.OK
    from outrider.app import identity  # noqa: PLC0415 - late, as in options
    from outrider.cli.document import dumped  # noqa: PLC0415 - the same
    from outrider.cli.terminal import console_on, page_width, print_lines  # noqa: PLC0415 - the same
    from outrider.cli.url_explained import UrlExplained, told  # noqa: PLC0415 - the same

    explained = UrlExplained(url, found, page, identity(load_settings(profile, config, assignments).settings))
    if as_json:
        typer.echo(dumped(explained.document()))
    else:
        console = console_on(sys.stdout)
        print_lines(told(explained, page_width(console)), console)
    return ExitCode.OK
