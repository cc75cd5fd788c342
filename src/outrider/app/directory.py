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
import re
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from outrider.errors import ConfigError, InvalidUrl, OutriderError
from outrider.model.url import Url
from outrider.settings import Settings, settings_of
from outrider.settings.describe import plain, shown, spoken_value

BINDING: Final = ("site_by", "strip_tracking", "sort_query", "recrawl", "frontier", "records")
"""Keys that may not change: what is known, whose turn it is and what is owed rest on them.

One exception: `recrawl` may be switched on later (see `recrawl`).
"""

# In the order in which they are discarded: while outrider.toml is there, it is a crawl, if a torn one.
_OURS: Final = (".demo", "crawl.db", "crawl.db-wal", "crawl.db-shm", "seeds.txt", "outrider.toml")
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

    @property
    def demo_mark(self) -> Path:
        """Only a directory with this file in it is the demo's own, to be made anew without asking."""
        return self.path / ".demo"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Ours alone until the end. Raises `ConfigError` when another crawl runs there, or other files lie there."""
        self._refuse_foreign()
        with _told(self.path, "cannot be written"):
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(lock, 20, 0).decode(errors="replace").strip() or "unknown"
                raise ConfigError(
                    f"{self.path}: another crawl (process {holder}) is running there; "
                    "wait for it, or give this one another --directory"
                ) from None
            with _told(self.path, "cannot be written"):
                os.ftruncate(lock, 0)
                os.pwrite(lock, str(os.getpid()).encode(), 0)
                for folder in _FOLDERS:
                    (self.path / folder).mkdir(exist_ok=True)
            yield
        finally:
            os.close(lock)

    def discard(self) -> None:
        """Everything that a crawl wrote, and nothing else. A folder that was moved elsewhere and linked is emptied."""
        with _told(self.path, "cannot be discarded"):
            for folder in _FOLDERS:
                for item in list((self.path / folder).iterdir()):
                    shutil.rmtree(item) if item.is_dir() and not item.is_symlink() else item.unlink()
            for name in _OURS:
                (self.path / name).unlink(missing_ok=True)

    def seeds(self) -> list[Url]:
        """Raises `ConfigError` when somebody has spoilt the file."""
        if not self.seeds_file.exists():
            return []
        with _told(self.seeds_file, "cannot be read"):
            lines = self.seeds_file.read_text("utf-8", errors="replace").splitlines()
        try:
            return [Url(line) for line in lines if line.strip()]
        except InvalidUrl as error:
            raise ConfigError(f"{self.seeds_file}: {error}; take the line out, or begin anew with --fresh") from error

    def remember(self, settings: Settings, seeds: Sequence[Url]) -> list[Url]:
        """Write down what this run is made with; all seeds, old and new. Raises `ConfigError` for a binding change."""
        self.refuse_changes(settings)
        known = dict.fromkeys([*self.seeds(), *seeds])
        _replace(self.seeds_file, "".join(f"{seed}\n" for seed in known))
        _replace(self.settings_file, toml_of(settings))
        return list(known)

    def refuse_changes(self, settings: Settings) -> None:
        """Raises `ConfigError` when what is known here would not hold under these settings."""
        if not self.is_begun:
            return
        before = self._bound()
        changes = [
            f"{key} was {shown(key, before[key])}, is now {shown(key, getattr(settings, key))}"
            for key in BINDING
            if key in before and before[key] != plain(getattr(settings, key))
            if not (key == "recrawl" and settings.recrawl)
        ]
        if changes:
            raise ConfigError(
                f"{self.path}: this crawl was begun with other settings, and would be corrupted: "
                f"{'; '.join(changes)}; set them back, give another --directory, or start anew with --fresh"
            )

    def _bound(self) -> dict[str, object]:
        """The binding keys as they were written, also those that stand as comments because they hide a password."""
        with _told(self.settings_file, "cannot be read"):
            text = self.settings_file.read_text("utf-8", errors="replace")
        found: dict[str, object] = {}
        for key, value in re.findall(rf"^(?:# )?({'|'.join(BINDING)}) = (.*)$", text, re.MULTILINE):
            try:
                # `none` is a word for people: TOML has no such value.
                found[key] = None if value in {"none", '"none"'} else tomllib.loads(f"value = {value}")["value"]
            except tomllib.TOMLDecodeError:
                raise ConfigError(f"{self.settings_file}: {key} = {value}: cannot be read") from None
        return found

    def _refuse_foreign(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise ConfigError(f"{self.path}: is a file; a crawl needs a directory of its own (--directory)")
        if not self.path.is_dir() or self.is_begun:
            return
        # The lock is made first: without it, not even what is called like ours is ours.
        ours = {*_OURS, *_FOLDERS, _LOCK} if (self.path / _LOCK).exists() else set()
        with _told(self.path, "cannot be read"):
            foreign = sorted(item.name for item in self.path.iterdir() if item.name not in ours)
        if foreign:
            raise ConfigError(
                f"{self.path}: holds other files ({foreign[0]}) and no crawl; "
                "give an empty or a new directory (--directory)"
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
    try:
        with _told(path, "cannot be written"):
            new.write_text(text, "utf-8")
            os.replace(new, path)  # noqa: PTH105 - Path.replace is the same; this says what it is for
    finally:
        new.unlink(missing_ok=True)


@contextmanager
def _told(place: Path, what: str) -> Iterator[None]:
    """It is the machine that says no: one sentence that names the place."""
    try:
        yield
    except OSError as error:
        named = place if error.filename is None else error.filename
        raise OutriderError(f"{named}: {what}: {error.strerror}") from error
