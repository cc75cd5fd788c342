"""Which events are worth a line in the log, how loud, and in which words? Stdlib logging, as one more listener.

An `EventLog` hands events to a logger, so whoever embeds a crawl hears them where he hears everything else. The files
are `logs/outrider.log` and its predecessors: each of at most so many bytes, so many of them, written by one process.
Every field of the event stands in the line as `name=value`, or as a member in JSON.
"""

import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from outrider.errors import StoreError
from outrider.model.event import Event
from outrider.observe.sentences import Fields, event_text, fields_of, sentence
from outrider.observe.words import moment, visible, without_passwords

LogFormat: TypeAlias = Literal["text", "json"]

LOGGER: Final = "outrider.crawl"
LEVELS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "url_admitted": logging.DEBUG,
        "url_refused": logging.DEBUG,
        "entry_refused": logging.WARNING,
        "webpage_fetched": logging.DEBUG,
        "page_unchanged": logging.DEBUG,
        "page_moved": logging.DEBUG,
        "page_skipped": logging.INFO,
        "page_failed": logging.WARNING,
        "url_died": logging.WARNING,
        "request_retried": logging.INFO,
        "site_went_down": logging.WARNING,
        "site_probed": logging.INFO,
        "site_came_back": logging.INFO,
        "site_slowed_down": logging.INFO,
        "site_set_aside": logging.WARNING,
        "site_ordered": logging.INFO,
        "url_replayed": logging.INFO,
        "url_dismissed": logging.INFO,
        "crawl_started": logging.INFO,
        "crawl_paused": logging.WARNING,
        "crawl_resumed": logging.INFO,
        "crawl_finished": logging.INFO,
        "worker_vanished": logging.ERROR,
        "bug_found": logging.ERROR,
    }
)
"""Pages that went well are many, and stand in the events and the records: they are only told to who asks for all."""


class EventLog:
    """Events in, log records out; those that nobody would read cost one look at a table."""

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger(LOGGER)

    def listen(self, events: Sequence[Event]) -> None:
        for event in events:
            level = LEVELS[str(event.__struct_config__.tag)]
            if self._logger.isEnabledFor(level):
                fields = fields_of(event)
                self._logger.log(level, "%s", event_text(fields), extra={"event": fields})


class _TextLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        event: Fields = getattr(record, "event", {})
        return f"{moment(event.get('at', record.created))} {record.levelname:<7} {_message(record)}"


class _JsonLines(logging.Formatter):
    """ASCII only, so that a line can be shown on any terminal."""

    def format(self, record: logging.LogRecord) -> str:
        event = {**getattr(record, "event", {})}
        at = event.pop("at", record.created)
        message = sentence(event | {"at": at}) if event else _message(record)
        safe = {name: without_passwords(value) if isinstance(value, str) else value for name, value in event.items()}
        head = {"time": moment(at), "level": record.levelname.lower(), "message": without_passwords(message)}
        return json.dumps({**head, **safe}, default=str)


def _message(record: logging.LogRecord) -> str:
    """One line, also of an error that is told with its traceback."""
    text = record.getMessage()
    if record.exc_info:
        text += f" {logging.Formatter().formatException(record.exc_info)}"
    return visible(without_passwords(text))


class _File(RotatingFileHandler):
    """A log that cannot be written must not end a crawl: that is said once, and the crawl goes on."""

    _complained = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is the library's
        del record
        self._complain(sys.exc_info()[1])

    def close(self) -> None:
        try:
            super().close()
        except OSError as error:  # what is left in the buffer has no place either
            self._complain(error)

    def _complain(self, error: BaseException | None) -> None:
        if not self._complained:
            self._complained = True
            sys.stderr.write(f"outrider: {self.baseFilename}: the log cannot be written: {error}\n")


@contextmanager
def open_log(
    path: Path, form: LogFormat = "text", level: int = logging.INFO, *, size: int = 10 * 1024 * 1024, keep: int = 5
) -> Iterator[EventLog]:
    """Let the log of this process go to `path`: at most `size` bytes a file, and `keep` older ones beside it (H2-31).

    Raises `StoreError` when the file cannot be opened.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = _File(path, maxBytes=size, backupCount=keep, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    with _heard_by(handler, form, level) as log:
        yield log


@contextmanager
def log_to_stderr(form: LogFormat = "text", level: int = logging.INFO) -> Iterator[EventLog]:
    """For a service, whose log belongs to whoever runs it: one line a record, whole even beside other processes."""
    with _heard_by(_Stderr(), form, level) as log:
        yield log


class _Stderr(logging.Handler):
    """One write a line. An error output that has gone, or is full, must not end a service."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            os.write(2, f"{self.format(record)}\n".encode(errors="backslashreplace"))


@contextmanager
def _heard_by(handler: logging.Handler, form: LogFormat, level: int) -> Iterator[EventLog]:
    handler.setFormatter(_JsonLines() if form == "json" else _TextLines())
    logger = logging.getLogger(LOGGER)
    was_level, was_propagating = logger.level, logger.propagate
    logger.setLevel(level)
    logger.propagate = False  # else what has no handler of its own would be written on the screen, over the display
    logger.addHandler(handler)
    try:
        yield EventLog(logger)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(was_level)
        logger.propagate = was_propagating
        handler.close()
