"""How do we reach the server, and what does it mean when we cannot? The driver's errors end here.

Transactions that lost to another (deadlock, serialization) are run again. One that lost its connection is not: whether
it was committed is not known, and the caller's next call will tell.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, Self, TypeAlias, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from outrider.errors import ConfigError, StoreError, StoreUnavailable
from outrider.stores.place import Place
from outrider.stores.postgres.arrays import register
from outrider.stores.postgres.statements import STATEMENTS

T = TypeVar("T")
Record: TypeAlias = tuple[Any, ...]
Connection: TypeAlias = psycopg.AsyncConnection[Record]

# The pool tells of every try to connect. Whoever configures logging hears it; else it would go to standard error, again
# and again while the server is away, beside what we say about it.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())

_TRIES: Final = 8
_PLAIN_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SETTINGS: Final = {
    "default_transaction_isolation": "read\\ committed",
    # Compiling a statement takes longer than running it, and on a young table, whose statistics are not yet true, the
    # planner would read all of it: every statement here is meant to go by an index.
    "jit": "off",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
_AWAY: Final = ("08", "53", "57P01", "57P02", "57P03", "57P05", "25006")
"""SQLSTATEs that pass: connection lost, out of room, shutting down, starting up, or a standby."""
_REFUSED: Final = {
    "password authentication failed": "the user or the password is wrong",
    "no password supplied": "the server asks for a password, and the URL has none",
    r"no pg_hba\.conf entry": "the server does not let this user in from here",
    r'database "[^"]*" does not exist': "there is no such database",
    r'role "[^"]*" does not exist': "there is no such user",
    "permission denied": "the user lacks a permission",
}
"""A connection that failed has no SQLSTATE, only words; those of any other language count as being away."""


class LostRace(StoreUnavailable):
    """Somebody else wrote between our look and our write: run the transaction again."""


class Database:
    """A bounded pool of connections to one schema."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.schema = place.text("schema", "outrider")
        if not _PLAIN_NAME.fullmatch(self.schema):
            raise ConfigError(f"{place}: schema={self.schema!r}; expected small letters, digits and _")
        size = place.number("pool", 4)
        timeout = place.number("timeout", 10)
        ssl = place.text("sslmode", "prefer", ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"))
        place.end()
        name = place.path.removeprefix("/")
        if not name:
            raise ConfigError(f"{place}: names no database; expected postgresql://user@host/database")
        self._conninfo = make_conninfo(
            host=place.host or None,
            port=place.port,
            user=place.user or None,
            password=place.password or None,
            dbname=name,
            sslmode=ssl,
            connect_timeout=timeout,
            application_name="outrider",
            options=" ".join(f"-c {key}={value}" for key, value in (("search_path", self.schema), *_SETTINGS.items())),
        )
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            self._conninfo,
            kwargs={"autocommit": True},
            min_size=1,
            max_size=size,
            timeout=timeout,
            # A connection that the server's restart broke is found out, and replaced, before anybody relies on it.
            check=AsyncConnectionPool.check_connection,
            reconnect_timeout=timeout,
            configure=_configure,
            open=False,
        )

    @classmethod
    @asynccontextmanager
    async def open(
        cls, place: Place, prepare: Callable[[Connection, str], Awaitable[T]]
    ) -> AsyncIterator[tuple[Self, T]]:
        """`prepare` looks at the schema first, on a connection of its own, whose errors say what is wrong.

        What it finds comes along.
        """
        database = cls(place)
        with database.translating():
            async with await psycopg.AsyncConnection.connect(database._conninfo, autocommit=True) as connection:
                found = await prepare(connection, database.schema)
        async with database._pool:
            yield database, found

    async def run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """One transaction, from a clean start as often as it takes."""
        for left in reversed(range(_TRIES)):
            try:
                with self.translating():
                    async with self._pool.connection() as connection, connection.transaction():
                        return await work(connection)
            except LostRace as error:
                if not left:
                    raise StoreUnavailable(f"{self.place}: {_TRIES} transactions in a row lost to others") from error
                await asyncio.sleep(0)
        raise AssertionError("the last try returns or raises")

    async def ask(self, name: str, values: Mapping[str, Any] | None = None) -> list[Record]:
        """One statement, on its own."""
        with self.translating():
            async with self._pool.connection() as connection:
                return await say(connection, name, values)

    async def stream(self, name: str, values: Mapping[str, Any], size: int) -> AsyncGenerator[list[Record], None]:
        """A long answer in batches, all of it from one moment."""
        async for batch in self.stream_statement(STATEMENTS[name], size, values):
            yield batch

    async def stream_statement(
        self, statement: str, size: int, values: Mapping[str, Any] | None = None
    ) -> AsyncIterator[list[Record]]:
        """The same for a statement of somebody else's."""
        with self.translating():
            async with (
                self._pool.connection() as connection,
                connection.transaction(),
                connection.cursor("all_of_it") as cursor,
            ):
                await cursor.execute(statement.encode(), values, binary=True)
                while batch := await cursor.fetchmany(size):
                    yield batch

    @contextmanager
    def translating(self) -> Iterator[None]:
        try:
            yield
        except (errors.DeadlockDetected, errors.SerializationFailure) as error:
            raise LostRace(f"{self.place}: lost to another transaction") from error
        except (PoolTimeout, TooManyRequests) as error:
            raise StoreUnavailable(f"{self.place}: no connection to be had: {error}") from error
        except PoolClosed as error:
            raise StoreError(f"{self.place}: the store is closed") from error
        except psycopg.Error as error:
            raise self._meaning(error) from error

    def _meaning(self, error: psycopg.Error) -> StoreError:
        said = " ".join(str(error).split())
        if error.sqlstate is None and isinstance(error, psycopg.OperationalError):
            why = next((why for words, why in _REFUSED.items() if re.search(words, said)), None)
            return StoreError(f"{self.place}: {why}") if why else StoreUnavailable(f"{self.place}: {said}")
        if error.sqlstate is not None and error.sqlstate.startswith(_AWAY):
            return StoreUnavailable(f"{self.place}: {said}")
        if isinstance(error, errors.InsufficientPrivilege):
            return StoreError(f"{self.place}: the user lacks a permission: {said}")
        return StoreError(f"{self.place}: {said}")


async def _configure(connection: Connection) -> None:
    register(connection)


async def say(connection: Connection, name: str, values: Mapping[str, Any] | None = None) -> list[Record]:
    """Run one of our statements; its rows, if it has any."""
    cursor = await connection.execute(STATEMENTS[name], values, binary=True)
    return await cursor.fetchall() if cursor.description else []
