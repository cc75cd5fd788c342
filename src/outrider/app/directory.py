"""One directory is one crawl. What lies where in it, whose it is at the moment, and whether it may go on.

outrider.toml   the settings of the last run, as resolved
seeds.txt       every seed that was ever given
crawl.db        frontier and records
archive/        WARC files       indexes/   CDXJ, one for each of them
events/         JSON lines       logs/      of each process, and status.json
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from outrider.errors import ConfigError, OutriderError
from outrider.model.url import Url
from outrider.settings import Settings, load, settings_of
from outrider.settings.describe import plain, shown, spoken_value

BINDING: Final = ("site_by", "strip_tracking", "sort_query", "recrawl", "frontier", "records")
"""Keys that may not change: what is known, whose turn it is and what is owed rest on them."""

_OURS: Final = ("crawl.db", "crawl.db-wal", "crawl.db-shm", "outrider.toml", "seeds.txt")
_FOLDERS: Final = ("archive", "indexes", "events", "logs")
_LOCK: Final = ".lock"


class CrawlDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def database(self) -> Path:
        return self.path / "crawl.db"

    @property
    def archive(self) -> Path:
        return self.path / "archive"

    @property
    def indexes(self) -> Path:
        return self.path / "indexes"

    @property
    def events(self) -> Path:
        return self.path / "events"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def status(self) -> Path:
        return self.logs / "status.json"

    @property
    def settings_file(self) -> Path:
        return self.path / "outrider.toml"

    @property
    def seeds_file(self) -> Path:
        return self.path / "seeds.txt"

    @property
    def is_begun(self) -> bool:
        return self.settings_file.exists()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Ours alone until the end. Raises `ConfigError` when another crawl runs there, or other files lie there."""
        self._refuse_foreign()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise OutriderError(f"{self.path}: the crawl's directory cannot be written: {error.strerror}") from error
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(lock, 20, 0).decode(errors="replace").strip() or "unknown"
                raise ConfigError(
                    f"{self.path}: another crawl (process {holder}) is running there; "
                    "wait for it, or give this one another --directory"
                ) from None
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
            for folder in _FOLDERS:
                (self.path / folder).mkdir(exist_ok=True)
            yield
        finally:
            os.close(lock)

    def discard(self) -> None:
        """Everything that a crawl wrote, and nothing else."""
        for name in _OURS:
            (self.path / name).unlink(missing_ok=True)
        for folder in _FOLDERS:
            shutil.rmtree(self.path / folder, ignore_errors=True)
            (self.path / folder).mkdir(exist_ok=True)

    def seeds(self) -> list[Url]:
        if not self.seeds_file.exists():
            return []
        return [Url(line) for line in self.seeds_file.read_text().splitlines() if line.strip()]

    def remember(self, settings: Settings, seeds: Sequence[Url]) -> list[Url]:
        """Write down what this run is made with; all seeds, old and new. Raises `ConfigError` for a binding change."""
        if self.is_begun:
            self._refuse_changes(settings)
        known = dict.fromkeys([*self.seeds(), *seeds])
        _replace(self.seeds_file, "".join(f"{seed}\n" for seed in known))
        _replace(self.settings_file, toml_of(settings))
        return list(known)

    def _refuse_foreign(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise ConfigError(f"{self.path}: is a file; a crawl needs a directory of its own (--directory)")
        if self.path.is_dir() and not self.is_begun and not (self.path / _LOCK).exists() and any(self.path.iterdir()):
            raise ConfigError(
                f"{self.path}: holds other files and no crawl; give an empty or a new directory (--directory)"
            )

    def _refuse_changes(self, settings: Settings) -> None:
        before = load(file=self.settings_file, environment={}).settings
        changes = [
            f"{key} was {shown(key, getattr(before, key))}, is now {shown(key, getattr(settings, key))}"
            for key in BINDING
            if plain(getattr(before, key)) != plain(getattr(settings, key))
        ]
        if changes:
            raise ConfigError(
                f"{self.path}: this crawl was begun with other settings, and would be corrupted: "
                f"{'; '.join(changes)}; set them back, give another --directory, or start anew with --fresh"
            )


def toml_of(settings: Settings) -> str:
    """Every key with its value. Those that the profile has anyway are comments; so are those that hide a password."""
    usual = settings_of(profile=settings.profile)
    lines = ["# The settings of this crawl's last run, as resolved. Passwords are hidden.\n"]
    for key in Settings.model_fields:
        value = getattr(settings, key)
        is_given = key == "profile" or value != getattr(usual, key)
        written = plain(value)
        hides = written != spoken_value(value)
        if written is None:
            lines.append(f"# {key} = none\n" if not is_given else f'{key} = "none"\n')
        else:
            lines.append(f"{'' if is_given and not hides else '# '}{key} = {_toml(written)}\n")
    return "".join(lines)


def _toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case dict():
            return f"{{{', '.join(f'{_toml(str(name))} = {_toml(item)}' for name, item in value.items())}}}"
        case _:
            return _quoted(str(value))


def _quoted(text: str) -> str:
    """A basic string: what TOML escapes is what JSON escapes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _replace(path: Path, text: str) -> None:
    """Whole or not at all."""
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    os.replace(new, path)  # noqa: PTH105 - Path.replace is the same; this says what it is for
