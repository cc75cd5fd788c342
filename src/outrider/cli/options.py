"""The options that every command with settings takes, and the one call that makes settings of them.

The settings are imported late: `--help` and `--version` need none of them, and they take longer than all else together.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.settings import Loaded

Profile = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="polite (default), service, audit or broad.")
]
HOW_IT_RUNS: Final = "How it runs"
WHERE_IT_IS: Final = "Where everything is"
FrontierPlace = Annotated[
    str | None,
    typer.Option("--frontier", metavar="URL", help="redis://… or postgresql://…", rich_help_panel=WHERE_IT_IS),
]
ContentPlace = Annotated[
    str | None,
    typer.Option("--content", metavar="URL", help="Where pages are kept: redis://…", rich_help_panel=WHERE_IT_IS),
]
EventsPlace = Annotated[
    str | None,
    typer.Option("--events", metavar="URL", help="kafka://host:9092/webpage_log", rich_help_panel=WHERE_IT_IS),
]
RedisPlace = Annotated[
    str | None,
    typer.Option("--redis", metavar="URL", help="For all of Redis that is not named.", rich_help_panel=WHERE_IT_IS),
]
Wait = Annotated[
    bool,
    typer.Option("--wait", help="Keep trying while a store cannot be used.", rich_help_panel=HOW_IT_RUNS),
]
Metrics = Annotated[
    str | None,
    typer.Option("--metrics", metavar="ADDRESS", help="127.0.0.1:9464, or none.", rich_help_panel=HOW_IT_RUNS),
]
LogFormat = Annotated[
    str,
    typer.Option("--log-format", metavar="text|json", help="How the log is written.", rich_help_panel=HOW_IT_RUNS),
]
ServiceProfile = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="polite, service (default), audit or broad.")
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings file, in place of outrider.toml of this folder."),
]
Assignments = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One setting; may be given again and again.")
]
UrlToVisit = Annotated[str, typer.Argument(metavar="URL", help="http or https.", show_default=False)]
Contact = Annotated[
    str | None,
    typer.Option("--contact", metavar="URL|E-MAIL", help="Where a site's owner can reach you."),
]
AllowPrivate = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-private", metavar="CIDR", help="A network that is not public, such as 127.0.0.0/8; may be repeated."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]

_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


def load_settings(
    profile: str | None = None,
    config: Path | None = None,
    assignments: list[str] | None = None,
    flags: Mapping[str, object] = _NOTHING,
    usual_profile: str | None = None,
) -> "Loaded":
    """`flags` are a command's own options, by key; None means that one was not given. They win over `--set`.

    `usual_profile` is the command's own default, weaker than the environment and the file.
    """
    from outrider.settings import load  # noqa: PLC0415 - see above

    named = {"profile": profile, **flags}
    given = {key: value for key, value in named.items() if value is not None}
    return load(parse_assignments(assignments or []) | given, file=config, usual_profile=usual_profile)


def log_format_of(text: str) -> Literal["text", "json"]:
    match text:
        case "text" | "json":
            return text
        case _:
            raise ConfigError(f"--log-format {text!r}: expected text or json")


def parse_assignments(assignments: list[str]) -> dict[str, object]:
    """Of two values for one key the last wins, as a wrapper script expects."""
    parsed: dict[str, object] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set {assignment!r}: expected KEY=VALUE, as in --set delay=2")
        parsed[key.strip()] = value
    return parsed
