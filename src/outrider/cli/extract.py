"""`outrider extract`: the links of pages that workers fetched, into the frontier. Any number of them share the work."""

from typing import Annotated

import typer

from outrider.cli.options import (
    HOW_IT_RUNS,
    Assignments,
    ConfigFile,
    ContentPlace,
    EventsPlace,
    FrontierPlace,
    LogFormat,
    Metrics,
    RedisPlace,
    ServiceProfile,
    Wait,
    load_settings,
    log_format_of,
)


def extract(  # noqa: PLR0913 - one argument for each option
    *,
    frontier: FrontierPlace = None,
    content: ContentPlace = None,
    events: EventsPlace = None,
    redis: RedisPlace = None,
    group: Annotated[
        str,
        typer.Option(
            "--group", metavar="NAME", help="Those of one group share the pages.", rich_help_panel=HOW_IT_RUNS
        ),
    ] = "outrider-extract",
    scope: Annotated[
        str | None,
        typer.Option(
            "--scope",
            metavar="HOW FAR",
            help="From the page of a link: prefix, host, domain (default) or any.",
            rich_help_panel=HOW_IT_RUNS,
        ),
    ] = None,
    wait: Wait = False,
    until_idle: Annotated[
        float | None,
        typer.Option(
            "--until-idle",
            metavar="SECONDS",
            min=0,
            help="End when no page came for so long.",
            rich_help_panel=HOW_IT_RUNS,
        ),
    ] = None,
    metrics: Metrics = None,
    log_format: LogFormat = "text",
    profile: ServiceProfile = None,
    assignments: Assignments = None,
    config: ConfigFile = None,
) -> int:
    """Read the pages that workers fetched, and put their links into the frontier."""
    from outrider.cli.extract_run import run_extract  # noqa: PLC0415 - late, as in options

    form = log_format_of(log_format)
    flags: dict[str, object] = {
        "frontier": frontier,
        "contents": content,
        "events": events,
        "redis_url": redis,
        "scope": scope,
        "metrics_address": metrics,
    }
    loaded = load_settings(profile, config, assignments, flags, usual_profile="service")
    return run_extract(loaded, group, form, wait=wait, until_idle=until_idle)
