"""`outrider worker`: one machine of the service. It runs until it is told to stop; killed, it loses nothing."""

from typing import Annotated

import typer

from outrider.cli.options import (
    HOW_IT_RUNS,
    WHERE_IT_IS,
    AllowPrivate,
    Assignments,
    ConfigFile,
    Contact,
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


def worker(  # noqa: PLR0913 - one argument for each option
    *,
    frontier: FrontierPlace = None,
    queue: Annotated[
        str | None,
        typer.Option(
            "--queue", metavar="NAME", help="The Redis list that URLs come from.", rich_help_panel=WHERE_IT_IS
        ),
    ] = None,
    content: ContentPlace = None,
    events: EventsPlace = None,
    records: Annotated[
        str | None,
        typer.Option("--records", metavar="URL", help="postgresql://…; without it, none.", rich_help_panel=WHERE_IT_IS),
    ] = None,
    redis: RedisPlace = None,
    workers: Annotated[
        str | None, typer.Option("--workers", metavar="N", help="Processes; one per core.", rich_help_panel=HOW_IT_RUNS)
    ] = None,
    wait: Wait = False,
    metrics: Metrics = None,
    log_format: LogFormat = "text",
    profile: ServiceProfile = None,
    contact: Contact = None,
    allow_private: AllowPrivate = None,
    assignments: Assignments = None,
    config: ConfigFile = None,
) -> int:
    """Visit what others put into a Redis list; pages go to Redis, events to Kafka. Any number of machines."""
    from outrider.cli.worker_run import run_worker  # noqa: PLC0415 - late, as in options

    form = log_format_of(log_format)
    flags: dict[str, object] = {
        "frontier": frontier,
        "input_queue": queue,
        "contents": content,
        "events": events,
        "records": records,
        "redis_url": redis,
        "workers": workers,
        "metrics_address": metrics,
        "contact": contact,
        "allow_private": allow_private or None,
    }
    loaded = load_settings(profile, config, assignments, flags, usual_profile="service")
    return run_worker(loaded, form, wait=wait)
