"""Where does a frontier live, how many bytes does it take there, and what does its server spend?

Servers are those of the tests: own folders, own ports of the loopback, durable as the tests want them. What is not
installed says so, and is left out.
"""

import gc
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final

import psycopg
import pytest
from msgspec import Struct
from redis import Redis

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.services import postgres
from tests.services.redis import RedisServer

TICK: Final = 1 / os.sysconf("SC_CLK_TCK")
PAGE: Final = os.sysconf("SC_PAGE_SIZE")
BLOOM_CAPACITY: Final = 1_000_000
"""Of the filter: what a URL takes is the whole of it, shared by those that came."""


class Place(Struct, frozen=True):
    """One backend, ready to be opened. `base` is what its own tools reach it by; `server` the process to watch."""

    backend: str
    base: str
    server: int | None = None

    def url(self, name: str) -> str:
        """An empty frontier of that name."""
        match self.backend:
            case "memory":
                return "memory:"
            case "sqlite":
                return f"sqlite://{self.base}/{name}.db"
            case "redis":
                return f"{self.base}?prefix={name}"
            case "bloom":
                return f"{self.base}?prefix={name}&dedup=bloom&capacity={BLOOM_CAPACITY}"
            case _:
                return f"{self.base}?schema={name}"

    def bytes_taken(self, name: str) -> int:
        """Of that frontier; of the whole process, or of the whole server, where it cannot be told apart."""
        match self.backend:
            case "memory":
                gc.collect()
                return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
            case "sqlite":
                return _sqlite_bytes(Path(self.base) / f"{name}.db")
            case "redis" | "bloom":
                with Redis.from_url(self.base, protocol=2) as client:
                    return int(client.info("memory")["used_memory"])
            case _:
                return _postgres_bytes(self.base, name)

    def tidy(self, name: str) -> None:
        """Give back the room of rows that are gone, where the store leaves that for later."""
        if self.backend == "postgres":
            with psycopg.connect(f"{self.base}?options=-csearch_path%3D{name}", autocommit=True) as connection:
                for table in ("url_frontier", "sites", "counts"):
                    connection.execute(f"VACUUM FULL {table}".encode())

    def drop(self, name: str) -> None:
        match self.backend:
            case "sqlite":
                for path in Path(self.base).glob(f"{name}.db*"):
                    path.unlink()
            case "redis" | "bloom":
                with Redis.from_url(self.base, protocol=2, socket_timeout=60) as client:
                    client.flushdb()
            case "postgres":
                with psycopg.connect(self.base, autocommit=True) as connection:
                    connection.execute("SET client_min_messages = warning")
                    connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE".encode())

    def server_seconds(self) -> float:
        """CPU that the server has spent so far: its process, those it started, and those of them that ended."""
        if self.server is None:
            return 0.0
        spent = sum(_ticks(self.server))
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if _parent(entry) == self.server:
                    spent += sum(_ticks(int(entry.name))[:2])
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended while we looked, and its parent counts it from now on
        return spent * TICK


def _sqlite_bytes(path: Path) -> int:
    if not path.exists():
        return 0
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
    connection.close()
    return int((pages - free) * size)


def _postgres_bytes(base: str, schema: str) -> int:
    with psycopg.connect(base, autocommit=True) as connection:
        row = connection.execute(
            "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = %s AND c.relkind = 'r'",
            (schema,),
        ).fetchone()
    return int(row[0]) if row and row[0] else 0


def _fields(entry: Path) -> list[str]:
    """What /proc says of a process, from its state on: its name may hold anything."""
    return (entry / "stat").read_text().rpartition(")")[2].split()


def _parent(entry: Path) -> int:
    return int(_fields(entry)[1])


def _ticks(pid: int) -> tuple[int, int, int, int]:
    fields = _fields(Path(f"/proc/{pid}"))
    user, system, of_children, system_of_children = (int(field) for field in fields[11:15])
    return user, system, of_children, system_of_children


@contextmanager
def _memory(_: Path) -> Iterator[Place]:
    yield Place("memory", "")


@contextmanager
def _sqlite(folder: Path) -> Iterator[Place]:
    yield Place("sqlite", str(folder))


@contextmanager
def _redis(folder: Path) -> Iterator[Place]:
    server = RedisServer(folder / "redis").start()
    try:
        yield Place("redis", server.url, server.process.pid if server.process else None)
    finally:
        server.stop()


@contextmanager
def _bloom(folder: Path) -> Iterator[Place]:
    with _redis(folder) as place:
        yield Place("bloom", place.base, place.server)


@contextmanager
def _postgres(_: Path) -> Iterator[Place]:
    with postgres.running() as server:
        with psycopg.connect(server.url()) as connection:
            parent = _parent(Path(f"/proc/{connection.info.backend_pid}"))
        yield Place("postgres", server.url(), parent)


_OPENERS: Final[Mapping[str, Callable[[Path], AbstractContextManager[Place]]]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "redis": _redis,
    "bloom": _bloom,
    "postgres": _postgres,
}
BACKENDS: Final = tuple(_OPENERS)


@contextmanager
def open_place(backend: str, folder: Path) -> Iterator[Place | str]:
    """The place; or the sentence that says why there is none."""
    with ExitStack() as stack:
        place: Place | str
        try:
            place = stack.enter_context(_OPENERS[backend](folder))
        except pytest.skip.Exception as why:
            place = str(why)
        yield place
