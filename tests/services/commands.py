"""Runs `outrider …` in processes of their own, forked from one that has imported everything: a start costs nothing.

What a process does by itself it does here too: its folder, environment, files and exit code are its own. Whether a
command finds its own imports, and how it starts, is shown by the tests that start an interpreter.
"""

import os
import random
import select
import signal
import socket
import subprocess
import sys
from importlib import import_module
from json import dumps, loads
from pathlib import Path
from pkgutil import iter_modules
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Final, NamedTuple

from msgspec import Struct, convert
from msgspec.structs import asdict

_TELL: Final = 1 << 20
_PACKAGES: Final = ("outrider.cli", "outrider.app", "outrider.stores.sqlite", "outrider.stores.redis")
"""None of these has threads after its import: they would not be forked."""

_CLIENT: Final = """\
#!{python} -IS
import json, os, socket, sys
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
line.connect({address!r})
order = {{"arguments": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}
socket.send_fds(line, [json.dumps(order).encode()], [0, 1, 2])
code = int(line.recv(16))
sys.exit(code if code >= 0 else 128 - code)
"""


class Done(NamedTuple):
    code: int
    out: str
    err: str


class _Order(Struct, frozen=True):
    """Told by Python's own JSON: an argument may be no text, and msgspec's takes only that."""

    arguments: tuple[str, ...]
    folder: str
    environment: dict[str, str]


class Commands:
    """`run` may be called by several threads at once."""

    def __init__(self) -> None:
        self._home = TemporaryDirectory(prefix="outrider-commands-")
        self._address = f"{self._home.name}/socket"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(self._address)
        listener.listen()
        with listener:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", __name__, str(listener.fileno())],
                pass_fds=[listener.fileno()],
                cwd=Path(__file__).parents[2],
            )

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._home.cleanup()

    def run(
        self,
        arguments: tuple[str, ...],
        folder: Path,
        environment: dict[str, str],
        given: bytes = b"",
        within: float = 60,
    ) -> Done:
        """Raises `TimeoutError` when it does not end; then it is killed."""
        with TemporaryFile() as read, TemporaryFile() as out, TemporaryFile() as err, self._connected(within) as line:
            read.write(given)
            read.seek(0)
            order = dumps(asdict(_Order(arguments, str(folder), environment))).encode()
            socket.send_fds(line, [order], [read.fileno(), out.fileno(), err.fileno()])
            code = int(line.recv(16))
            out.seek(0)
            err.seek(0)
            return Done(code, out.read().decode(), err.read().decode())

    def write_client(self, path: Path) -> None:
        """A program that stands for `outrider` in scripts. Who signals it kills the command: it is not the command."""
        path.write_text(_CLIENT.format(python=sys.executable, address=self._address))
        path.chmod(0o755)

    def _connected(self, within: float) -> socket.socket:
        line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        line.settimeout(within)
        line.connect(self._address)
        return line


def _serve(listener: socket.socket) -> None:
    """Returns in the forked process alone, once that is what was ordered."""
    for package in map(import_module, _PACKAGES):
        for module in iter_modules(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who watches a command is waited for by nobody
    while True:
        line, _ = listener.accept()
        if not os.fork():
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _begin(line)
            return
        line.close()


def _begin(line: socket.socket) -> None:
    """Returns in the process that is the command; another stays to tell how it ended, and ends it if nobody asks."""
    told, files, _, _ = socket.recv_fds(line, _TELL, 3)
    pid = os.fork()
    if pid:
        watched = os.pidfd_open(pid)
        if watched not in select.select([watched, line.fileno()], [], [])[0]:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        with line:
            line.send(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    line.close()
    order = convert(loads(told), _Order)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(order.environment)
    os.chdir(order.folder)
    random.seed()
    sys.argv = ["outrider", *order.arguments]


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
    from outrider.cli import main

    sys.exit(main())
