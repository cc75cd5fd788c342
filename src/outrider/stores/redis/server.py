"""Reach the server, or the cluster: one script call a bucket, all at once, from a bounded pool.

Driver errors end here. What may pass by itself is `StoreUnavailable`; nothing is sent twice by the driver, because a
script that ran before the line broke must not run again unasked. No message shows a password.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.resources import files
from typing import Any, Final, TypeAlias

from hiredis import pack_command
from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Connection, Redis, RedisCluster, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from outrider.errors import ConfigError, StoreError, StoreUnavailable
from outrider.stores.place import Place

Argument: TypeAlias = bytes | str | int | float
Arguments: TypeAlias = Sequence[Argument]
Replies: TypeAlias = dict[int, Any]

_PASSING: Final = ("BUSY", "LOADING", "MASTERDOWN", "NOREPLICAS", "UNBLOCKED", "CLUSTERDOWN", "TRYAGAIN", "READONLY")
"""First words of answers to a server that is in trouble, starting, or failing over."""
_READING: Final = frozenset({"know", "peek", "read", "short"})
"""Acts that change nothing."""
_WAIT_FOR_CONNECTION: Final = 30.0
_GONE: Final = "GONE"
"""First word of the answer of a bucket that does not bear the mark of our store; see `bucket.lua`."""


class _Packed:
    """Commands of ten thousand words are written in C: the driver's own way took a third of the time of an `add`."""

    def pack_command(self, *words: Any) -> list[bytes]:  # noqa: ANN401 - the driver's own signature
        first = words[0]
        name = first.encode().split() if isinstance(first, str) else [first]
        return [pack_command((*name, *words[1:]))]


class _Connection(_Packed, Connection):
    pass


class _TlsConnection(_Packed, SSLConnection):
    pass


class Script:
    """One act, with what all of them share in front. Acts of queues that have a `head` are in a folder of their own."""

    def __init__(self, name: str, constants: Mapping[str, str]) -> None:
        folder = files("outrider.stores.redis") / "lua"
        act = folder / f"{name}.lua"
        if not act.is_file():
            act = files("outrider.stores.redis_files") / "lua" / f"{name}.lua"
        known = folder / ("known.lua" if constants["BLOOM"] == "false" else "filter.lua")
        front = "".join(f"local {constant} = {value}\n" for constant, value in constants.items())
        self.text = front + "\n".join(part.read_text() for part in (folder / "bucket.lua", known, act))
        self.sha1 = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()


class Server:
    """`era` changes whenever the server may have been restarted or replaced since: a line broke, or is new.

    `head` is how many tasks of a queue are kept here, when the rest goes to files; None when nothing does. `constants`
    stand in front of every script, and must be there before the first call. What a script wrote is only answered for
    once so many `replicas` have it. `mark` is what our store is told by from one that was made in its place: every
    bucket bears it, and every script looks for it before it does anything.
    """

    def __init__(
        self, place: Place, prefix: str, pool: int, timeout: float, head: int | None = None, replicas: int = 0
    ) -> None:
        self.era = 0
        self.mark = ""
        self._client = _cluster(place, pool, timeout) if is_cluster(place) else self._single(place, pool, timeout)
        self._place = place
        self.prefix = prefix
        self._replicas = replicas
        self._timeout = timeout
        self.constants = {"HEAD": "false" if head is None else str(head), "BLOOM": "false"}
        self._room = asyncio.Semaphore(pool)
        self._scripts: dict[str, Script] = {}

    def key(self, bucket: int, name: str) -> str:
        return f"{{{self.prefix}:{bucket}}}:{name}"

    async def command(self, *words: Argument) -> Any:  # noqa: ANN401 - whatever the command answers
        with self._translated():
            async with self._room:
                return await self._client.execute_command(*words)

    async def has_command(self, name: str) -> bool:
        """Does the server know this command of a module?"""
        found: list[object] = await self.command("COMMAND INFO", name)
        return bool(found) and found[0] is not None

    async def call(self, name: str, bucket: int, arguments: Arguments) -> Any:  # noqa: ANN401 - the script's answer
        script = self._scripts.get(name)
        if script is None:
            script = self._scripts[name] = Script(name, self.constants)
        key = self.key(bucket, "c")
        say = self._say_and_wait if self._replicas and name not in _READING else self._client.execute_command
        with self._translated():
            async with self._room:
                try:
                    return await say("EVALSHA", script.sha1, 1, key, self.mark, *arguments)
                except exceptions.NoScriptError:
                    # A server that was restarted or flushed; it did nothing, so the whole text may follow.
                    return await say("EVAL", script.text, 1, key, self.mark, *arguments)

    async def call_each(self, name: str, calls: Mapping[int, Arguments]) -> Replies:
        """One call a bucket, side by side, so that many buckets cost little more than one round trip."""
        if not calls:
            return {}
        if len(calls) == 1:
            ((bucket, arguments),) = calls.items()
            return {bucket: await self.call(name, bucket, arguments)}
        return await self._together({bucket: self.call(name, bucket, call) for bucket, call in calls.items()})

    async def command_each(self, calls: Mapping[int, Sequence[Argument]]) -> Replies:
        return await self._together({bucket: self.command(*words) for bucket, words in calls.items()})

    async def _together(self, calls: Mapping[int, Any]) -> Replies:
        # Every call is heard out before the first error is raised: none goes on behind the caller's back.
        replies = await asyncio.gather(*calls.values(), return_exceptions=True)
        for reply in replies:
            if isinstance(reply, BaseException):
                raise reply
        return dict(zip(calls, replies, strict=True))

    async def _say_and_wait(self, *words: Argument) -> Any:  # noqa: ANN401 - the script's answer
        """Both on one connection: a server waits for what this connection wrote, and for nothing else."""
        async with _one_connection(self._client, words[3]) as connection:
            await connection.send_command(*words)
            reply = await connection.read_response()
            await connection.send_command("WAIT", self._replicas, round(self._timeout * 500))
            reached = await connection.read_response()
        if reached < self._replicas:
            raise StoreUnavailable(
                f"{self._place}: {reached} of {self._replicas} replicas have what was written; a failover could lose it"
            )
        return reply

    def gone(self) -> StoreError:
        """Hashes that are made with a seed of ours would mean nothing to those who made the store anew."""
        return _gone(self._place)

    async def close(self) -> None:
        await self._client.aclose()

    def _single(self, place: Place, pool: int, timeout: float) -> Redis:
        number = place.path.strip("/") or "0"
        if not number.isascii() or not number.isdigit():
            raise ConfigError(f"{place}: {place.path!r} is not a database; expected a number, such as /0")
        connections = BlockingConnectionPool(
            max_connections=pool,
            timeout=_WAIT_FOR_CONNECTION,
            connection_class=_TlsConnection if place.scheme.startswith("rediss") else _Connection,
            db=int(number),
            # The pool replaces a line that broke while nobody used it, and says nothing.
            redis_connect_func=self._greet,
            **_common(place, timeout),
        )
        return Redis.from_pool(connections)

    async def _greet(self, connection: Connection) -> None:
        self.era += 1
        await connection.on_connect()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            with translated(self._place):
                yield
        except StoreUnavailable:
            self.era += 1
            raise


@contextmanager
def translated(place: Place) -> Iterator[None]:
    try:
        yield
    except (exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.NoPermissionError) as error:
        raise _refused(place, error) from error
    except (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.SlotNotCoveredError, OSError) as error:
        raise StoreUnavailable(f"{place}: the server cannot be reached: {error}") from error
    except exceptions.OutOfMemoryError as error:
        raise StoreError(f"{place}: the server is out of memory (maxmemory); nothing was written") from error
    except exceptions.ResponseError as error:
        if _first_word(error) in _PASSING or isinstance(
            error,
            (exceptions.ClusterDownError, exceptions.TryAgainError, exceptions.ReadOnlyError, exceptions.AskError),
        ):
            raise StoreUnavailable(f"{place}: the server cannot serve now: {error}") from error
        if _first_word(error) == _GONE:
            raise _gone(place) from error
        raise StoreError(f"{place}: {error}") from error
    except (exceptions.RedisClusterException, exceptions.ClusterError) as error:
        if isinstance(error.__cause__, exceptions.AuthenticationError):
            raise _refused(place, error.__cause__) from error
        raise StoreUnavailable(f"{place}: the cluster cannot be reached: {error}") from error
    except exceptions.RedisError as error:
        raise StoreError(f"{place}: {error}") from error


@asynccontextmanager
async def _one_connection(client: Redis | RedisCluster, key: Argument) -> AsyncIterator[Connection]:
    """The connection to whoever has the key; closed when something went wrong, so that no answer is left behind."""
    if isinstance(client, Redis):
        pool: Any = client.connection_pool
        connection = await pool.get_connection()
    else:
        await client.initialize()
        pool = client.get_node_from_key(str(key))
        if pool is None:
            raise exceptions.SlotNotCoveredError(f"no node has the slot of {key!r}")
        connection = pool.acquire_connection()
    try:
        await connection.connect()
        yield connection
    except exceptions.NoScriptError:
        raise
    except BaseException as error:
        await connection.disconnect(nowait=True)
        if isinstance(error, (exceptions.MovedError, exceptions.AskError, exceptions.ConnectionError)) and isinstance(
            client, RedisCluster
        ):
            # The slots are somewhere else by now; whoever tries again finds them.
            await client.aclose()
        raise
    finally:
        released = pool.release(connection)
        if released is not None:
            await released


@asynccontextmanager
async def connect(
    place: Place,
    *,
    prefix: str,
    pool: int,
    timeout: float,  # noqa: ASYNC109 - of every later request, not of this call
    head: int | None = None,
    replicas: int = 0,
) -> AsyncIterator[Server]:
    server = Server(place, prefix, pool, timeout, head, replicas)
    try:
        yield server
    finally:
        await server.close()


def is_cluster(place: Place) -> bool:
    return place.scheme.endswith("+cluster")


def _cluster(place: Place, pool: int, timeout: float) -> RedisCluster:
    if place.path.strip("/") not in {"", "0"}:
        raise ConfigError(f"{place}: a cluster has no databases; expected no path, not {place.path!r}")
    # Discovery takes connections of its own beside those of our calls.
    return RedisCluster(ssl=place.scheme.startswith("rediss"), max_connections=2 * pool + 8, **_common(place, timeout))


def _common(place: Place, timeout: float) -> dict[str, Any]:
    return {
        "host": place.host or "localhost",
        "port": place.port or 6379,
        "username": place.user or None,
        "password": place.password or None,
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
    }


def _refused(place: Place, error: BaseException) -> StoreError:
    return StoreError(f"{place}: the server refuses this user or password ({_first_word(error)})")


def _gone(place: Place) -> StoreError:
    return StoreError(
        f"{place}: the data of this frontier is gone (the server was restarted without its data, or emptied); "
        "put the data back, or stop all who use it and begin anew under another prefix"
    )


def _first_word(error: BaseException) -> str:
    return getattr(error, "status_code", None) or str(error).partition(" ")[0]
