"""The dashboard, put together: a crawl's directory or store URLs in, a web application on a socket out.

Its packages come with an extra, and are imported once it is known that they are there.
"""

import asyncio
import socket
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from msgspec import Struct

from outrider.app.directory import CrawlDirectory
from outrider.app.operate import Sources, directory_sources, open_operated, store_sources
from outrider.app.why import terms_of
from outrider.clock import SystemClock
from outrider.errors import ConfigError, OutriderError
from outrider.observe.endpoint import listen_at, spelled
from outrider.settings import Loaded
from outrider.stores.place import Place

_NEEDED: Final = ("fastapi", "uvicorn", "jinja2", "python_multipart")


class Door(Struct, frozen=True):
    """Where it listens and by which name; `token` is None on loopback alone."""

    listening: socket.socket
    token: str | None = None
    names: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """As in a URL."""
        return spelled(self.listening)


class View(Struct, frozen=True):
    """What is looked at. `status` is where a crawl tells of itself, if it does."""

    sources: Sources
    name: str
    status: Path | None = None


def require_dashboard() -> None:
    """Raises `OutriderError` when its packages are not installed."""
    if any(find_spec(name) is None for name in _NEEDED):
        raise OutriderError("the dashboard needs more packages; pip install 'outrider[dashboard]'")


def open_door(loaded: Loaded, token: str | None, home: CrawlDirectory | None = None) -> Door:
    """Listens at `serve_address`, and if nobody has chosen that for now and it is taken, at any free port.

    What a crawl's directory says is where an earlier run was looked at, which may still be so.

    Raises `ConfigError` for an address that cannot be listened at, and for one that others reach without a token.
    """
    from outrider.web.access import token_for  # noqa: PLC0415 - its packages may be missing

    settings = loaded.settings
    if settings.serve_address is None:
        raise ConfigError("serve_address = none: expected an address to listen at, such as 127.0.0.1:8787")
    host = settings.serve_address.rpartition(":")[0].removeprefix("[").removesuffix("]")
    checked = token_for(host, token)
    source = loaded.provenance["serve_address"]
    may_move = source == "default" or (home is not None and source.startswith(f"file {home.settings_file}"))
    way_out = "name another one (port 0 is any that is free)"
    listening = listen_at(settings.serve_address, may_move=may_move, key="serve_address", way_out=way_out)
    return Door(listening, checked, tuple(sorted(settings.serve_names)))


def view_of(loaded: Loaded, home: CrawlDirectory | None) -> View:
    """Raises `ConfigError` when no crawl is there."""
    settings = loaded.settings
    if home is not None:
        return View(directory_sources(settings, home), str(home.path), home.status)
    sources = store_sources(settings)
    return View(sources, str(Place(sources.frontier)))


async def serve_view(
    loaded: Loaded, view: View, door: Door, until: asyncio.Event, ready: Callable[[], None] = lambda: None
) -> None:
    """Until `until` is set; `ready` hears that the stores are open, and answers are given.

    Raises `ConfigError` and `StoreError` for stores that cannot be opened.
    """
    from outrider.web.access import Access  # noqa: PLC0415 - its packages may be missing
    from outrider.web.app import create_app  # noqa: PLC0415 - the same
    from outrider.web.desk import Sources as DeskSources  # noqa: PLC0415 - the same
    from outrider.web.desk import open_desk  # noqa: PLC0415 - the same
    from outrider.web.server import serve  # noqa: PLC0415 - the same

    settings = loaded.settings
    host, port = door.listening.getsockname()[:2]
    async with open_operated(settings, view.sources) as operated:
        sources = DeskSources(
            frontier=operated.frontier,
            records=operated.records,
            events=operated.events,
            loaded=loaded,
            terms=terms_of(settings, view.sources.seeds),
            clock=SystemClock(),
            name=view.name,
            status=view.status,
            event_files=view.sources.events,
        )
        async with open_desk(sources) as desk:
            app = create_app(desk, Access(host, port, door.token, door.names))
            ready()
            await serve(app, door.listening, until)


__all__ = ["Door", "View", "open_door", "require_dashboard", "serve_view", "view_of"]
