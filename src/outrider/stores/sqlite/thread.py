"""One thread owns one connection. Whoever waits, awaits; acts that wait together are committed together.

The event loop is never blocked: not by the disk, and not by another process that holds the lock. Each act is atomic
by its own savepoint, and none is answered before the commit that holds it.

What a power cut can cost, with `synchronous=normal`: a commit is written to the log but not forced to the disk, so the
last ones may vanish. They vanish from the end: each frame of the log is chained to the one before by its checksum, so
what is left is the state after some earlier commit, never a part of one and never one without its predecessors. All
processes write the one log. That is why nothing is lost although something is forgotten:

- a settlement that vanishes leaves its task owed: it is visited again, which is allowed;
- a task that vanishes was found on a page whose settlement came later (acknowledge last), so that one vanished too:
  its page is visited again, and the task is found again;
- seeds have no page behind them: the same command proposes them again.

Whoever takes URLs from a queue that forgets what it handed out needs `synchronous=full`. Killed processes lose
nothing at all in either mode: what was written to the log is the kernel's.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from enum import Enum
from queue import Empty, SimpleQueue
from typing import Final, Generic, TypeVar

from outrider.errors import StoreError

T = TypeVar("T")

MOST: Final = 64
"""Acts in one commit: enough to pay for it, few enough that other processes get their turn."""


class Unanswered(Enum):
    """A peek that found no answer: the act must be done."""

    UNANSWERED = "unanswered"


UNANSWERED: Final = Unanswered.UNANSWERED


class Transaction:
    """What an act is given. `on_commit` is done once the act is sure to stand."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.on_commit: list[Callable[[], None]] = []


class Act(Generic[T]):
    """`peek` runs first, outside any transaction: what can be told without the lock does not take it."""

    def __init__(
        self,
        work: Callable[[Transaction], T],
        peek: Callable[[sqlite3.Connection], T | Unanswered] | None = None,
        *,
        writes: bool = True,
    ) -> None:
        self.work = work
        self.peek = peek
        self.writes = writes
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self.loop.create_future()
        self.answer: T | Unanswered = UNANSWERED
        self.error: BaseException | None = None

    def tell(self) -> None:
        """On the loop: whoever gave up waiting is not told."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        elif self.answer is not UNANSWERED:
            self.future.set_result(self.answer)


class StoreThread:
    """`connect` and `close` are awaited; in between, `do` as many acts at once as you like."""

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], translate: Callable[[sqlite3.Error], StoreError]
    ) -> None:
        self._connect = connect
        self._translate = translate
        self._acts: SimpleQueue[Act[object] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def start(self) -> None:
        """Raises what `connect` raises, translated."""
        opening: Act[object] = Act(lambda _: None, writes=False)
        # A daemon: a program that dies without closing us must not hang, and the file survives a thread that stops.
        self._thread = threading.Thread(target=self._run, args=(opening,), name="outrider-sqlite", daemon=True)
        self._thread.start()
        await opening.future

    async def do(self, act: Act[T]) -> T:
        if self._thread is None:
            raise StoreError("the store is closed")
        self._acts.put(act)  # type: ignore[arg-type]  # the queue forgets what an act answers; its future knows
        return await act.future

    async def peek(self, look: Callable[[sqlite3.Connection], T]) -> T:
        """On the thread, outside any transaction."""
        return await self.do(Act(lambda transaction: look(transaction.connection), look, writes=False))

    async def stop(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            self._acts.put(None)
            await asyncio.get_running_loop().run_in_executor(None, thread.join)

    # on the thread

    def _run(self, opening: Act[object]) -> None:
        connection: sqlite3.Connection | None = None
        try:
            connection = self._connect()
        except sqlite3.Error as error:
            opening.error = self._caused(error)
        except BaseException as error:  # noqa: BLE001 - it is raised again where `start` is awaited
            opening.error = error
        else:
            opening.answer = None
        _tell([opening])
        if connection is not None:
            self._serve(connection)

    def _serve(self, connection: sqlite3.Connection) -> None:
        try:
            while acts := self._take():
                waiting = [act for act in acts if not self._peeked(connection, act)]
                try:
                    self._perform(connection, waiting)
                except BaseException as error:  # noqa: BLE001 - whoever waits must hear of it, else they wait for ever
                    for act in waiting:
                        act.error = act.error or error
                _tell(acts)
        finally:
            connection.close()

    def _take(self) -> list[Act[object]]:
        """Everything that waits now; nothing once we are to stop."""
        act = self._acts.get()
        acts: list[Act[object]] = []
        while act is not None:
            if not act.future.cancelled():
                acts.append(act)
            if len(acts) == MOST:
                return acts
            try:
                act = self._acts.get(block=not acts)
            except Empty:
                return acts
        if acts:
            self._acts.put(None)
        return acts

    def _peeked(self, connection: sqlite3.Connection, act: Act[object]) -> bool:
        if act.peek is None:
            return False
        try:
            act.answer = act.peek(connection)
        except sqlite3.Error as error:
            act.error = self._caused(error)
        except Exception as error:  # noqa: BLE001 - it is raised again where the act is awaited
            act.error = error
        return act.error is not None or act.answer is not UNANSWERED

    def _perform(self, connection: sqlite3.Connection, acts: list[Act[object]]) -> None:
        done: list[Callable[[], None]] = []
        if not acts:
            return
        try:
            # IMMEDIATE: a transaction that read first could not become a writer when another wrote in between.
            connection.execute("BEGIN IMMEDIATE" if any(act.writes for act in acts) else "BEGIN")
            for act in acts:
                done += self._do(connection, act)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            _roll_back(connection)
            for act in acts:
                act.error = act.error or self._caused(error)
        else:
            for settle in done:
                settle()

    def _do(self, connection: sqlite3.Connection, act: Act[object]) -> list[Callable[[], None]]:
        """One act, undone alone when it fails. Raises only when the whole transaction is lost."""
        transaction = Transaction(connection)
        connection.execute("SAVEPOINT act")
        try:
            act.answer = act.work(transaction)
        except sqlite3.Error as error:
            act.error = self._caused(error)
            if not connection.in_transaction:
                raise  # SQLite ends the transaction itself after some errors, such as a full disk
        except Exception as error:  # noqa: BLE001 - it is raised again where the act is awaited
            act.error = error
        if act.error is not None:
            connection.execute("ROLLBACK TO act")
        connection.execute("RELEASE act")
        return transaction.on_commit if act.error is None else []

    def _caused(self, error: sqlite3.Error) -> StoreError:
        translated = self._translate(error)
        translated.__cause__ = error
        return translated


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _tell(acts: list[Act[object]]) -> None:
    for loop in {act.loop for act in acts}:
        tell = [act.tell for act in acts if act.loop is loop]
        try:
            loop.call_soon_threadsafe(_call_all, tell)
        except RuntimeError:
            # The loop is closed: nobody awaits these any more, and what they did stands.
            continue


def _call_all(calls: list[Callable[[], None]]) -> None:
    for call in calls:
        call()
