"""Ports for servers of tests, below those that the kernel gives out: nobody else gets one while its server is away."""

import os
import socket
import time
from typing import Final

# A node of a Redis cluster listens 10,000 above its port too, and the kernel gives out what comes from 32,768 up.
_FIRST: Final = 12_000
_STARTS: Final = 9_000
_TRIED: Final = 1_000

_given: set[int] = set()


def free_ports(count: int) -> list[int]:
    """Whoever keeps trying a port of the kernel's range that nobody listens on may at last be connected to himself."""
    found: list[int] = []
    start = _FIRST + (os.getpid() * 37 + time.monotonic_ns() // 1_000) % _STARTS
    for port in range(start, start + _TRIED):
        if port in _given:  # its server may not listen yet
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        found.append(port)
        if len(found) == count:
            return found
    raise RuntimeError(f"no {count} free ports from {start} up")


def free_port() -> int:
    (port,) = free_ports(1)
    return port
