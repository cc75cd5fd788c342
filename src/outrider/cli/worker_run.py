"""Run one machine of the service while somebody watches: its log, its metrics, its signals."""

import asyncio
import signal
import sys
import time
from contextlib import AbstractAsyncContextManager
from typing import Final

from outrider.app.service import Service, ServicePlaces, Sizes, open_service, service_places
from outrider.cli.crawl_run import say_as_json
from outrider.cli.exit_codes import ExitCode
from outrider.cli.saying import say
from outrider.cli.waiting import opened_when_possible
from outrider.engine.finish import Finish
from outrider.engine.intake import Taken
from outrider.loop import run
from outrider.model.progress import Progress
from outrider.observe.endpoint import Pulse, Watch, serve
from outrider.observe.exposition import worker_exposition
from outrider.observe.log import LogFormat
from outrider.observe.plain import PlainProgress
from outrider.settings import Loaded
from outrider.stores.place import Place

_SIGNALS: Final = ((signal.SIGINT, Finish.INTERRUPTED), (signal.SIGTERM, Finish.TERMINATED))


def run_worker(loaded: Loaded, log_format: LogFormat, *, wait: bool) -> int:
    """0 when it was told to stop, and has."""
    run(_serve(loaded, log_format, wait=wait))
    return ExitCode.OK


async def _serve(loaded: Loaded, log_format: LogFormat, *, wait: bool) -> None:
    settings, where = loaded.settings, service_places(loaded)
    note = say_as_json if log_format == "json" else say
    with PlainProgress(sys.stderr, log_format) as display:
        watched = _Watched(display)
        watch = Watch(
            worker_exposition(watched.progress, watched.taken, watched.sizes, watched.why_not_ready),
            watched.why_not_ready,
            watched.pulse.is_alive,
        )

        def opening() -> AbstractAsyncContextManager[Service]:
            return open_service(settings, where, shown=watched.show, log_format=log_format)

        may_move = loaded.provenance["metrics_address"] == "default"
        async with serve(settings.metrics_address, watch, may_move=may_move) as address:
            if address is not None:
                note(f"metrics, health and readiness at http://{address}/metrics, /healthz and /readyz")
            async with opened_when_possible(opening, note, wait=wait, tried=watched.pulse.beat) as service:
                if service is None:
                    return
                watched.service = service
                note(_beginning(where, settings.input_queue))
                await _run(service, settings.drain_limit)


async def _run(service: Service, drain_limit: float) -> None:
    loop = asyncio.get_running_loop()
    for number, why in _SIGNALS:
        loop.add_signal_handler(number, service.drain, why, drain_limit)
    try:
        await service.run()
    finally:
        for number, _ in _SIGNALS:
            loop.remove_signal_handler(number)


def _beginning(where: ServicePlaces, queue: str) -> str:
    stores = where.stores
    places = f"frontier {Place(stores.frontier)}, pages {Place(stores.contents)}, events {Place(stores.events)}"
    return f"taking URLs from {queue} of {Place(where.queue)}; {places}"


class _Watched:
    """What those who watch from outside are told."""

    def __init__(self, display: PlainProgress) -> None:
        self._display = display
        self._last: Progress | None = None
        self.service: Service | None = None
        self.pulse = Pulse(time.monotonic)

    def show(self, progress: Progress) -> None:
        self.pulse.beat()
        self._last = progress
        self._display.show(progress)

    def progress(self) -> Progress | None:
        return self._last

    def taken(self) -> Taken:
        return self.service.taken if self.service is not None else Taken()

    def sizes(self) -> Sizes:
        return self.service.sizes if self.service is not None else Sizes()

    def why_not_ready(self) -> str | None:
        if self.service is None or self._last is None:
            return "its stores cannot be used yet"
        return self.service.waits_for() or self._last.paused or None
