"""What people read is true: links lead somewhere, files are where they are said to be, commands have their options."""

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from outrider.cli.reference import commands_page
from outrider.settings import Settings

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _commands(page: Path) -> Iterator[list[str]]:
    """The words of every `outrider …` in a shell block, up to what belongs to the shell."""
    for kind, block in FENCE.findall(page.read_text()):
        if kind != "sh":
            continue
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            for start, word in enumerate(words):
                begins = start == 0 or words[start - 1] in {"&&", "|"}
                if begins and word.rpartition("/")[2] == "outrider":
                    rest = words[start + 1 :]
                    ends = [place for place, other in enumerate(rest) if other in {"&", "|", "&&", ">"}]
                    yield rest[: min(ends, default=len(rest))]


def _options() -> dict[str, set[str]]:
    parts = re.split(r"^## outrider ", commands_page(), flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", part)) for part in parts}


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text()))

    broken = []
    for link in links:
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_file_that_is_named_is_there(page: Path) -> None:
    named = re.findall(r"`([\w-]+(?:/[\w-]+)+\.(?:py|sql|lua|toml|md))`", FENCE.sub("", page.read_text()))

    assert [path for path in named if not any((base / path).exists() for base in (ROOT, ROOT / "src/outrider"))] == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_command_has_the_options_that_are_shown(page: Path) -> None:
    options = _options()

    wrong = []
    for words in _commands(page):
        command = " ".join(words[:2]) if " ".join(words[:2]) in options else words[0]
        used = {word.partition("=")[0] for word in words if re.fullmatch(r"--?[a-z][a-z-]*(=.*)?", word)}
        if not used <= options.get(command, set()) | {"--help", "--version"} or command not in options:
            wrong.append(words)
        wrong += [[setting] for flag, setting in pairwise(words) if flag == "--set" and not _is_set(setting)]
    assert wrong == []


def _is_set(setting: str) -> bool:
    return setting.partition("=")[0] in Settings.model_fields
