"""`outrider schedule FILE`: feed pages, sitemaps, feeds and lists of seeds to the workers' queue, on a clock."""

from pathlib import Path
from typing import Annotated

import typer

from outrider.cli.options import (
    HOW_IT_RUNS,
    Assignments,
    ConfigFile,
    LogFormat,
    Metrics,
    Profile,
    Wait,
    load_settings,
    log_format_of,
)
from outrider.errors import ConfigError

_WHERE = "Where to"


def schedule(  # noqa: PLR0913 - one argument for each option
    *,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Sources and intervals, .yaml or .toml.", show_default=False)
    ],
    redis: Annotated[
        str | None,
        typer.Option("--redis", metavar="URL", help="The server of the queue.", rich_help_panel=_WHERE),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option("--queue", metavar="NAME", help="The list that is fed: crawler_queue.", rich_help_panel=_WHERE),
    ] = None,
    frontier: Annotated[
        str | None,
        typer.Option("--frontier", metavar="URL", help="A frontier, in place of a queue.", rich_help_panel=_WHERE),
    ] = None,
    max_queue_size: Annotated[
        str | None,
        typer.Option(
            "--max-queue-size", metavar="N", help="More than this never wait: 100000.", rich_help_panel=_WHERE
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Feed what is due now, then end.", rich_help_panel=HOW_IT_RUNS)
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be fed when; feed nothing.", rich_help_panel=HOW_IT_RUNS)
    ] = False,
    wait: Wait = False,
    metrics: Metrics = None,
    log_format: LogFormat = "text",
    profile: Profile = None,
    assignments: Assignments = None,
    config: ConfigFile = None,
) -> int:
    """Feed URLs to the workers, each source at its interval. It visits nothing itself."""
    from outrider.app.schedule import Target  # noqa: PLC0415 - late, as in options
    from outrider.app.sources import read_schedule  # noqa: PLC0415 - the same
    from outrider.cli.crawl_run import say_as_json  # noqa: PLC0415 - the same
    from outrider.cli.saying import say  # noqa: PLC0415 - the same
    from outrider.cli.schedule_run import How, print_forecast, run_schedule  # noqa: PLC0415 - the same

    form = log_format_of(log_format)
    if frontier is not None and (queue is not None or redis is not None):
        raise ConfigError("--frontier feeds a frontier in place of a queue: leave --queue and --redis out")
    flags: dict[str, object] = {
        "redis_url": redis,
        "input_queue": queue,
        "max_queue_size": max_queue_size,
        "metrics_address": metrics,
    }
    loaded = load_settings(profile, config, assignments, flags)
    listed = read_schedule(file)
    target = Target(loaded.settings, file, frontier)
    if dry_run:
        return print_forecast(target, listed)
    how = How(
        note=say_as_json if form == "json" else say,
        metrics=loaded.settings.metrics_address,
        may_move=loaded.provenance["metrics_address"] == "default",  # a worker on this machine may be there
        once=once,
        wait=wait,
    )
    return run_schedule(target, listed, how)
