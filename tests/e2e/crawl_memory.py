"""How much memory did all processes of a crawl take at most? As the kernel counted it, for each of them."""

import asyncio
import contextlib
import os
from asyncio.subprocess import Process
from pathlib import Path

_EVERY = 0.05


class Peaks:
    """Watches until cancelled. What a process had at most is summed up over all: never less than what was together."""

    def __init__(self, process: Process) -> None:
        self._group = process.pid
        self._most: dict[int, int] = {}

    @property
    def total(self) -> int:
        return sum(self._most.values())

    async def watch(self) -> None:
        while True:
            for pid in _of_group(self._group):
                with contextlib.suppress(OSError):
                    self._most[pid] = max(self._most.get(pid, 0), _peak(pid))
            await asyncio.sleep(_EVERY)


def _of_group(group: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if os.getpgid(int(entry.name)) == group:
                    found.append(int(entry.name))
    return found


def _peak(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) * 1024
    return 0
