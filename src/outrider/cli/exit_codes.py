"""What does the exit code say? Members are a promise to scripts: added, never renumbered."""

import errno
from enum import IntEnum
from typing import Final

from outrider.errors import (
    AddressRefused,
    ConfigError,
    InvalidUrl,
    OutriderError,
    StoreError,
    TransportError,
)


class ExitCode(IntEnum):
    OK = 0
    BUG = 1
    USAGE = 2
    ENVIRONMENT = 3
    FETCH_FAILED = 4
    REFUSED = 5
    STORE = 6
    VIOLATIONS = 7
    INTERRUPTED = 130
    PIPE_CLOSED = 141
    TERMINATED = 143

    @property
    def meaning(self) -> str:
        return _MEANING[self]


_MEANING: Final[dict[ExitCode, str]] = {
    ExitCode.OK: "Done; nothing is left to do.",
    ExitCode.BUG: "A bug of ours: the traceback is on the error output, please report it.",
    ExitCode.USAGE: "Bad input: an unknown option, a setting that is wrong, a URL that is none.",
    ExitCode.ENVIRONMENT: "This machine lacks something: a driver, a permission, space on the disk.",
    ExitCode.FETCH_FAILED: "The fetch failed: the network, or an HTTP status that is an error. Of a crawl: no page.",
    ExitCode.REFUSED: "Refused by a rule: robots.txt, the address guard, a skip pattern.",
    ExitCode.STORE: "A store is away, broken or full.",
    ExitCode.VIOLATIONS: "Verification or audit found something: what is kept is damaged, or was not polite.",
    ExitCode.INTERRUPTED: "Stopped by SIGINT (Ctrl-C); nothing is lost.",
    ExitCode.PIPE_CLOSED: "Whoever read the output went away.",
    ExitCode.TERMINATED: "Stopped by SIGTERM; nothing is lost.",
}

_OF_ERROR: Final[dict[type[BaseException], ExitCode]] = {
    ConfigError: ExitCode.USAGE,
    InvalidUrl: ExitCode.USAGE,
    AddressRefused: ExitCode.REFUSED,
    TransportError: ExitCode.FETCH_FAILED,
    StoreError: ExitCode.STORE,
    OutriderError: ExitCode.ENVIRONMENT,
}

_OF_THE_MACHINE: Final = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EMFILE,
    errno.ENFILE,
}


def code_of(error: OutriderError) -> ExitCode:
    """The code of the nearest ancestor that has one."""
    return next(_OF_ERROR[kind] for kind in type(error).__mro__ if kind in _OF_ERROR)


def is_the_machine(error: OSError) -> bool:
    """Is it this machine that says no? Every other OSError that comes so far is a bug."""
    return error.errno in _OF_THE_MACHINE
