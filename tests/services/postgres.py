"""A real PostgreSQL for the tests: its own data directory, a free port of the loopback, durable but small.

The server refuses to run as root, so that for a test run as root it belongs to the user `postgres`.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from tests.services.ports import free_port

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "64MB",
    "max_connections": "60",
    "max_wal_size": "512MB",
    "deadlock_timeout": "200ms",
    "lc_messages": "C",
    "timezone": "UTC",
}
USER, PASSWORD, DATABASE = "crawler", "open-sesame", "frontier"


def binaries() -> Path | None:
    """Where `initdb` and `pg_ctl` are: on the path, or where Debian keeps them."""
    found = shutil.which("pg_ctl")
    if found:
        return Path(found).parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: int(path.parts[-3]))
    return folders[-1].parent if folders else None


class PostgresServer:
    """Started, stopped and killed by the test that owns it."""

    def __init__(self, folder: Path, commands: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._commands = commands
        self._owner = pwd.getpwnam("postgres") if os.getuid() == 0 else None
        self.port = free_port()
        if self._owner:
            os.chown(folder, self._owner.pw_uid, self._owner.pw_gid)

    def create(self) -> None:
        password = self._folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        self._command("initdb", "-U", USER, "--pwfile", str(password), "-A", "scram-sha-256", "-E", "UTF8")
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in _SETTINGS.items())
            file.write(f"port = {self.port}\n")

    def start(self) -> None:
        self._command("pg_ctl", "-w", "-l", str(self._folder / "log"), "start")

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is how a crash looks: no checkpoint, every connection cut."""
        self._command("pg_ctl", "-w", "-m", mode, "stop")

    def is_running(self) -> bool:
        return (self._data / "postmaster.pid").exists()

    def url(self, schema: str = "", *, user: str = USER, password: str = PASSWORD, database: str = DATABASE) -> str:
        query = f"?schema={schema}" if schema else ""
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}{query}"

    @asynccontextmanager
    async def connected(self, database: str = DATABASE) -> AsyncIterator[psycopg.AsyncConnection[tuple[object, ...]]]:
        async with await psycopg.AsyncConnection.connect(self.url(database=database), autocommit=True) as connection:
            yield connection

    async def drop(self, schema: str) -> None:
        async with self.connected() as connection:
            await connection.execute("SET client_min_messages = warning")
            await connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))

    def _command(self, name: str, *arguments: str) -> None:
        owner = self._owner
        # A server that inherited our pipes would keep them open for as long as it lives: it writes to a file.
        with (self._folder / "out").open("ab") as out:
            done = subprocess.run(
                [self._commands / name, "-D", self._data, *arguments],
                user=owner.pw_uid if owner else None,
                group=owner.pw_gid if owner else None,
                extra_groups=[] if owner else None,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "LC_ALL": "C"},
                cwd=self._folder,
                timeout=60,
                check=False,
            )
        if done.returncode:
            log = self._folder / "log"
            said = [path.read_text(errors="replace")[-2_000:] for path in (self._folder / "out", log) if path.exists()]
            raise RuntimeError(f"{name} failed: {' '.join(said)}")


@contextmanager
def running() -> Iterator[PostgresServer]:
    """A server of one's own. Without the programs: a skip on a laptop, a failure in CI."""
    commands = binaries()
    has_owner = os.getuid() != 0 or any(user.pw_name == "postgres" for user in pwd.getpwall())
    if commands is None or not has_owner:
        message = "PostgreSQL is not installed: no pg_ctl on the path nor in /usr/lib/postgresql"
        if commands is not None:
            message = "PostgreSQL does not run as root, and there is no user postgres to run it as"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    with tempfile.TemporaryDirectory(prefix="outrider-postgres-") as folder:
        server = PostgresServer(Path(folder), commands)
        server.create()
        server.start()
        try:
            with psycopg.connect(server.url(database="postgres"), autocommit=True) as connection:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
            yield server
        finally:
            if server.is_running():
                server.stop("immediate")
