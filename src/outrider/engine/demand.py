"""How much CPU does the event loop want? What it uses, and what it stands in line for while others use it.

A process that gets half a core of a busy machine uses little, and has no time left all the same: by what it uses alone
it would look idle, and take on more and more.
"""

from pathlib import Path
from time import process_time
from typing import Final

_OF_THIS_THREAD: Final = Path("/proc/thread-self/schedstat")
"""Nanoseconds on a CPU, nanoseconds in line for one, and how often it was on one."""


def cpu_demand() -> float:
    """Seconds so far, of the thread that asks. Where nobody tells, which is not on Linux, what the process has used."""
    try:
        used, in_line, _ = _OF_THIS_THREAD.read_bytes().split()
    except OSError:
        return process_time()
    return (int(used) + int(in_line)) / 1e9
