"""The processes of a bench: what they used, and that none is left."""

import os
import signal
import sys
from pathlib import Path
from typing import Final

from outrider.cli.exit_codes import ExitCode

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_of(pid: int) -> float:
    """All threads of one process; nothing once it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return 0.0
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / _TICKS


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def end_in_order() -> None:
    """Who ends us ends also those whom we started: `finally` is for that, and a signal would pass it by."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(ExitCode.TERMINATED))
