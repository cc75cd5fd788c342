"""Reach the server, or the cluster, from a bounded pool: one command, one script, or many commands in one go.

Driver errors end here. What may pass by itself is `StoreUnavailable`; nothing is sent twice by the driver, because a
script that ran before the line broke must not run again unasked. No message shows a password.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.resources import files
from typing import Any, Final, Self, TypeAlias

from hiredis import pack_command
from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Connection, Redis, RedisCluster, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from outrider.errors import ConfigError, StoreError, StoreUnavailable
from outrider.stores.place import Place

Argument: TypeAlias = bytes | str | int | float
Arguments: TypeAlias = Sequence[Argument]
Say: TypeAlias = Callable[..., Awaitable[Any]]

_PASSING: Final = ("BUSY", "LOADING", "MASTERDOWN", "NOREPLICAS", "UNBLOCKED", "CLUSTERDOWN", "TRYAGAIN", "READONLY")
"""First words of answers to a server that is in trouble, starting, or failing over."""
_CUT_OFF: Final = (exceptions.ConnectionError, exceptions.TimeoutError, OSError)
_WAIT_FOR_CONNECTION: Final = 30.0
_GONE: Final = "GONE"
"""First word of the answer of a bucket that does not bear the mark of our store; see `bucket.lua`."""
_WRONG_TYPE: Final = "WRONGTYPE"
"""First word of the answer where a key holds something else; what follows is a sentence, our scripts' own or Redis'."""


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
    """Lua, by its text and by the digest under which the server remembers it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.sha1 = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()

    @classmethod
    def of(cls, *names: str) -> Self:
        """The files of these names in our folder, one after the other."""
        folder = files("outrider.stores.redis") / "lua"
        return cls("\n".join((folder / f"{name}.lua").read_text() for name in names))


class Link:
    """`era` changes whenever the server may have been restarted or replaced since: a line broke, or is new."""

    def __init__(self, place: Place, pool: int, timeout: float) -> None:
        self.era = 0
        self.place = place
        self._client = _cluster(place, pool, timeout) if is_cluster(place) else self._single(place, pool, timeout)
        self._room = asyncio.Semaphore(pool)

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place) -> AsyncIterator[Self]:
        """With the options that every use of a server has; whoever has more takes them out before."""
        pool = place.number("pool", 16)
        timeout = place.number("timeout", 30)
        place.end()
        link = cls(place, pool, timeout)
        try:
            yield link
        finally:
            await link.close()

    async def command(self, *words: Argument) -> Any:  # noqa: ANN401 - whatever the command answers
        with self._translated():
            async with self._room:
                return await self._client.execute_command(*words)

    async def run(self, script: Script, key: str, *arguments: Argument, say: Say | None = None) -> Any:  # noqa: ANN401
        """The script's answer. All keys that it makes from `key` share its slot; `say` replaces the plain sending."""
        say = say or self._client.execute_command
        with self._translated():
            async with self._room:
                try:
                    return await say("EVALSHA", script.sha1, 1, key, *arguments)
                except exceptions.NoScriptError:
                    # A server that was restarted or flushed; it did nothing, so the whole text may follow.
                    return await say("EVAL", script.text, 1, key, *arguments)

    async def many(self, commands: Sequence[Arguments]) -> list[Any]:
        """All in one go, on a cluster one to each node; their answers in order. Some may be done when this raises."""
        if not commands:
            return []
        with self._translated():
            async with self._room:
                replies = await self._send(commands)
            failures = [reply for reply in replies if isinstance(reply, Exception)]
            if failures and isinstance(failures[0], exceptions.OutOfMemoryError):
                left_out = f"{len(failures)} of {len(commands)} commands were not carried out"
                raise StoreError(f"{self.place}: the server is out of memory (maxmemory); {left_out}") from failures[0]
            if failures:
                raise failures[0]
        return replies

    async def _send(self, commands: Sequence[Arguments]) -> list[Any]:
        pipeline: Any = (
            self._client.pipeline(transaction=False) if isinstance(self._client, Redis) else self._client.pipeline()
        )
        for words in commands:
            pipeline.execute_command(*words)
        try:
            # Left to itself the driver puts the command into its error, a whole page with it.
            replies: list[Any] = await pipeline.execute(raise_on_error=False)
        except _CUT_OFF:
            await self._look_around()
            raise
        if any(isinstance(reply, _CUT_OFF) for reply in replies):
            await self._look_around()
        return replies

    async def _look_around(self) -> None:
        """The slots of a cluster may be somewhere else by now; whoever tries again finds them."""
        if isinstance(self._client, RedisCluster):
            await self._client.aclose()

    async def close(self) -> None:
        await self._client.aclose()
        if isinstance(self._client, RedisCluster):
            # A client that has just lost a node takes itself for closed, and leaves its connections as they are.
            await self._client.nodes_manager.aclose()
            await self._client.nodes_manager.aclose("startup_nodes")

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
        task = asyncio.current_task()
        before = task.cancelling() if task is not None else 0
        try:
            with translated(self.place):
                yield
        except StoreUnavailable:
            self.era += 1
            raise
        finally:
            # The driver loses a cancellation that comes in the same moment as its answer. Whoever cancelled would wait
            # for an end that never comes.
            if task is not None and task.cancelling() > before:
                raise asyncio.CancelledError


@contextmanager
def translated(place: Place) -> Iterator[None]:
    try:
        yield
    except (exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.NoPermissionError) as error:
        raise _refused(place, error) from error
    except (*_CUT_OFF, exceptions.SlotNotCoveredError) as error:
        raise StoreUnavailable(f"{place}: the server cannot be reached: {error}") from error
    except exceptions.OutOfMemoryError as error:
        raise StoreError(f"{place}: the server is out of memory (maxmemory); nothing was written") from error
    except exceptions.ResponseError as error:
        raise _meaning(place, error) from error
    except (exceptions.RedisClusterException, exceptions.ClusterError) as error:
        if isinstance(error.__cause__, exceptions.AuthenticationError):
            raise _refused(place, error.__cause__) from error
        raise StoreUnavailable(f"{place}: the cluster cannot be reached: {error}") from error
    except exceptions.RedisError as error:
        raise StoreError(f"{place}: {error}") from error
    except AttributeError as error:
        if not _is_of_the_driver(error):
            raise
        # It lets go of a line while another call is about to write to it: seen when a node of a cluster is lost.
        raise StoreUnavailable(f"{place}: the line was closed meanwhile") from error


def _is_of_the_driver(error: BaseException) -> bool:
    """Was it raised by the driver's own code, not by ours?"""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__", "")).startswith("redis.")


def _meaning(place: Place, error: exceptions.ResponseError) -> StoreError:
    word = _first_word(error)
    if word in _PASSING or isinstance(
        error, (exceptions.ClusterDownError, exceptions.TryAgainError, exceptions.ReadOnlyError, exceptions.AskError)
    ):
        return StoreUnavailable(f"{place}: the server cannot serve now: {error}")
    if word == _GONE:
        return data_gone(place)
    return StoreError(f"{place}: {str(error).removeprefix(_WRONG_TYPE).strip()}")


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


def data_gone(place: Place) -> StoreError:
    return StoreError(
        f"{place}: the data of this frontier is gone (the server was restarted without its data, or emptied); "
        "put the data back, or stop all who use it and begin anew under another prefix"
    )


def _first_word(error: BaseException) -> str:
    return getattr(error, "status_code", None) or str(error).partition(" ")[0]
