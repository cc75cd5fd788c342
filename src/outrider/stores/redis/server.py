"""The frontier's server: one script call a bucket, all at once. How it is reached is in `link`."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any, Final, TypeAlias

from redis import exceptions
from redis.asyncio import Connection, Redis, RedisCluster

from outrider.errors import StoreError, StoreUnavailable
from outrider.stores.place import Place
from outrider.stores.redis.link import Argument, Arguments, Link, Script, data_gone

Replies: TypeAlias = dict[int, Any]

_READING: Final = frozenset({"know", "page", "peek", "read", "short", "walk"})
"""Acts that change nothing."""
_SEARCHING: Final = frozenset({"again", "dismiss"})
"""Acts that look for URLs in queues."""


class Server(Link):
    """Where the buckets are.

    `head` is how many tasks of a queue are kept here, when the rest goes to files; None when nothing does. `constants`
    stand in front of every script, and must be there before the first call. What a script wrote is only answered for
    once so many `replicas` have it. `mark` is what our store is told by from one that was made in its place: every
    bucket bears it, and every script looks for it before it does anything.
    """

    def __init__(
        self, place: Place, prefix: str, pool: int, timeout: float, head: int | None = None, replicas: int = 0
    ) -> None:
        super().__init__(place, pool, timeout)
        self.mark = ""
        self.prefix = prefix
        self._replicas = replicas
        self._timeout = timeout
        self.constants = {"HEAD": "false" if head is None else str(head), "BLOOM": "false"}
        self._scripts: dict[str, Script] = {}

    def key(self, bucket: int, name: str) -> str:
        return f"{{{self.prefix}:{bucket}}}:{name}"

    async def has_command(self, name: str) -> bool:
        """Does the server know this command of a module?"""
        found: list[object] = await self.command("COMMAND INFO", name)
        return bool(found) and found[0] is not None

    async def call(self, name: str, bucket: int, arguments: Arguments) -> Any:  # noqa: ANN401 - the script's answer
        script = self._scripts.get(name)
        if script is None:
            script = self._scripts[name] = _act(name, self.constants)
        key = self.key(bucket, "c")
        say = self._say_and_wait if self._replicas and name not in _READING else None
        return await self.run(script, key, self.mark, *arguments, say=say)

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
                f"{self.place}: {reached} of {self._replicas} replicas have what was written; a failover could lose it"
            )
        return reply

    def gone(self) -> StoreError:
        """Hashes that are made with a seed of ours would mean nothing to those who made the store anew."""
        return data_gone(self.place)


def _act(name: str, constants: Mapping[str, str]) -> Script:
    """One act, with what all of them share in front. Acts of queues that have a `head` are in a folder of their own."""
    folder = files("outrider.stores.redis") / "lua"
    act = folder / f"{name}.lua"
    if not act.is_file():
        act = files("outrider.stores.redis_files") / "lua" / f"{name}.lua"
    known = folder / ("known.lua" if constants["BLOOM"] == "false" else "filter.lua")
    front = "".join(f"local {constant} = {value}\n" for constant, value in constants.items())
    search = (folder / "urls.lua",) if name in _SEARCHING else ()
    return Script(front + "\n".join(part.read_text() for part in (folder / "bucket.lua", known, *search, act)))


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
