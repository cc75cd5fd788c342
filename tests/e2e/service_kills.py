"""A service whose machines are killed, again and again, in every way in which a machine may die.

All processes of it at once; one worker process, whose place another takes; the one who watches, in the middle of a
batch of the queue; the extractor. Half of the kills come at any moment, the others once there is work under way.
"""

import asyncio
import os
import random
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct
from tests.e2e.services import QUEUE, Command, Rig, until

LENT: Final = f"{{{QUEUE}}}:lent"
WORKER: Final = b"outrider.app.worker_process"
EXTRACTOR: Final = "extract"
_MOMENT: Final = (0.0, 0.7)
_LOOKS: Final = 3_000
_PUSHES: Final = 40


class Kill(Struct, frozen=True):
    """`in_hand` are entries of batches that were lent at that moment: they may be taken in twice."""

    kind: str
    in_hand: frozenset[str]


class Machines:
    """Some machines and an extractor, each of which is started again when it was killed.

    The extractor follows links to `found` alone: what it found before it was pushed would be owed a second visit.
    """

    def __init__(self, built: Rig, luck: random.Random, machines: int, *, found: str, **settings: object) -> None:
        self._rig = built
        self._luck = luck
        self._found = found
        self._settings = settings
        self._names = [f"worker-{number}" for number in range(machines)]
        self._commands: dict[str, Command] = {}
        self.kills: list[Kill] = []

    @property
    def commands(self) -> list[Command]:
        return [*self._commands.values()]

    async def start(self) -> None:
        for name in (*self._names, EXTRACTOR):
            await self._start(name)

    async def _start(self, name: str) -> None:
        if name == EXTRACTOR:
            # A member of the group that was killed is missed only after its session.
            events = f"{self._rig.kafka.url(self._rig.topic)}?timeout=10&session=2"
            links = {"scope": "any", "sitemaps": False, "feeds": False, "include": [self._found]}
            self._commands[name] = await self._rig.extractor(name, **{**self._settings, **links, "events": events})
        else:
            self._commands[name] = await self._rig.worker(name, **self._settings)

    async def strike(self, kind: str, entries: Sequence[str]) -> None:
        """Push these, and kill somebody over them; who was killed is started again."""
        name = EXTRACTOR if kind == "extractor" else self._luck.choice(self._names)
        if kind == "intake":
            await self._strike_over_a_batch(name, entries)
            return
        command = self._commands[name]
        self._rig.push(entries)
        await self._moment()
        if kind == "worker":
            await until(lambda: bool(workers_of(command)), "it has workers", command)
            os.kill(self._luck.choice(workers_of(command)), signal.SIGKILL)
            self._note(kind)
            return
        command.kill()
        self._note(kind)
        await command.ended()
        await self._start(name)

    async def _moment(self) -> None:
        if self._luck.random() < 0.5:
            asked = _size(self._rig.web.logs)
            await until(lambda: _size(self._rig.web.logs) > asked, "somebody works", *self.commands)
        # That is what is waited for: any moment will do.
        await asyncio.sleep(self._luck.uniform(*_MOMENT))

    def _note(self, kind: str) -> None:
        with self._rig.client() as client:
            lent = {entry.decode() for key in client.scan_iter(f"{LENT}:*") for entry in client.lrange(key, 0, -1)}
        self.kills.append(Kill(kind, frozenset(lent)))

    async def _strike_over_a_batch(self, name: str, entries: Sequence[str]) -> None:
        """The one who watches is killed while it has a batch in its hands; its workers then go by themselves."""
        victim = self._commands[name]
        others = [self._commands[other] for other in self._names if other != name]
        await until(lambda: bool(workers_of(victim)), "it is at work", victim)
        with _standing_still(others):
            for _ in range(_PUSHES):
                await until(lambda: not self._is_lent(), "nobody has a batch any more", victim)
                self._rig.push(entries)
                if await asyncio.to_thread(self._is_caught, victim.process.pid):
                    break
            self._note("intake")
            assert self.kills[-1].in_hand, "nobody was seen with a batch in hand"
            os.kill(victim.process.pid, signal.SIGKILL)
        await victim.ended()
        await until(lambda: not _is_alive(victim.process.pid), "its workers have gone")
        await self._start(name)

    def _is_caught(self, pid: int) -> bool:
        """Does it stand still now, with a batch that it has not crossed off?"""
        with self._rig.client() as client:
            for _ in range(_LOOKS):
                if client.exists(LENT):
                    os.kill(pid, signal.SIGSTOP)
                    if client.exists(LENT):
                        return True
                    os.kill(pid, signal.SIGCONT)
                    return False
                if not client.llen(QUEUE):
                    return False
        return False

    def _is_lent(self) -> bool:
        with self._rig.client() as client:
            return bool(client.exists(LENT))


@contextmanager
def _standing_still(commands: Sequence[Command]) -> Iterator[None]:
    """Those who watch there, not their workers: so nobody else takes from the queue."""
    for command in commands:
        os.kill(command.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for command in commands:
            os.kill(command.process.pid, signal.SIGCONT)


def workers_of(command: Command) -> list[int]:
    pid = command.process.pid
    try:
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return [child for child in children if WORKER in Path(f"/proc/{child}/cmdline").read_bytes()]
    except OSError:
        return []


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _size(files: Sequence[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.exists())
