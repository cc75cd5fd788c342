"""Where does a crawl begin? URLs from the command line, from a file, or from the standard input (S2-24)."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from outrider.app.rules import gate_rules, identity
from outrider.engine.gate import Gate
from outrider.errors import ConfigError, InvalidUrl
from outrider.model.record import Decision
from outrider.model.task import Candidate, Origin
from outrider.model.url import Url
from outrider.settings import Settings

STDIN: Final = "-"
_SHOWN: Final = 3


def read_seeds(urls: Sequence[str], file: Path | None) -> list[Url]:
    """Each once, in order. Raises `ConfigError` that names the first lines that are no URLs, and how many there are."""
    found = dict.fromkeys(seed_of(url) for url in urls)
    if file is not None:
        found |= dict.fromkeys(_from_file(file))
    return list(found)


def seed_of(text: str) -> Url:
    """A bare domain is meant as https (H2-23). Raises `InvalidUrl`."""
    text = text.strip()
    if "://" not in text and "." in text and " " not in text and not text.startswith(("/", ".")) and _is_bare(text):
        return Url(f"https://{text}")
    try:
        return Url(text)
    except InvalidUrl:
        if len(text.split()) > 1:
            raise InvalidUrl(text, "holds a blank; expected one URL or domain, such as https://example.org/") from None
        raise


def all_refused(settings: Settings, seeds: Sequence[Url]) -> list[Decision]:
    """Why there would be nothing to do: what speaks against each seed, or nothing if one of them may be crawled."""
    gate = Gate(gate_rules(settings, seeds), identity(settings))
    judged = gate.judge([Candidate(seed, origin=Origin.SEED) for seed in seeds], 0.0)
    return [] if judged.tasks else judged.decisions


def _is_bare(text: str) -> bool:
    """`example.org/path` or `example.org:8080`, but not `mailto:a@example.org`."""
    before, colon, after = text.partition(":")
    return not colon or after.partition("/")[0].isdigit() or "/" in before


def _from_file(file: Path) -> list[Url]:
    name = "the standard input" if str(file) == STDIN else str(file)
    found: list[Url] = []
    wrong: list[str] = []
    for number, line in enumerate(_text(file, name).splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            found.append(seed_of(text))
        except InvalidUrl as error:
            wrong.append(f"line {number}: {error}")
    if wrong:
        more = f" (and {len(wrong) - _SHOWN} more)" if len(wrong) > _SHOWN else ""
        raise ConfigError(f"{name}: {'; '.join(wrong[:_SHOWN])}{more}; expected one URL or domain on each line")
    if not found:
        raise ConfigError(f"{name}: holds no URL; expected one URL or domain on each line, # begins a comment")
    return found


def _text(file: Path, name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if str(file) == STDIN else file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{name}: the seeds cannot be read: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ConfigError(f"{name}: is not a text file; expected one URL or domain on each line")
    return text
