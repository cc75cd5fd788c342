"""The documentation as a site: built with warnings as errors, whole, and without a word from another host."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = sorted(page.relative_to(ROOT / "docs") for page in ROOT.glob("docs/**/*.md"))

NEVER_ASKED: Final[Mapping[str, str]] = {
    "unpkg.com": "for diagrams, and for browsers without ResizeObserver, which is in all since 2020",
    "api.github.com": "for sites that name a repository there",
}
"""Hosts that the theme's scripts name, and what they would be asked for."""


class _Assets(HTMLParser):
    """What a browser loads by itself with a page; a link that somebody may follow is none of it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.components: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.components.add(given.get("data-md-component") or "")
        self.components.update((given.get("class") or "").split())
        wanted = ["src", "srcset", "data", "poster"] + (["href"] if tag in {"link", "use", "image"} else [])
        self.found += [value for name in wanted if (value := given.get(name))]


def _build(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        str(config),
        "--site-dir",
        str(site),
    ]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "true"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    built = _build(ROOT / "mkdocs.yml", folder)
    assert built.returncode == 0, built.stderr
    return folder


def _html(site: Path) -> Mapping[str, str]:
    return {str(path.relative_to(site)): path.read_text() for path in site.rglob("*.html")}


def test_every_page_is_in_the_site(site: Path) -> None:
    missing = [
        page for page in PAGES if not (site / page.with_name(page.stem.replace("README", "index") + ".html")).exists()
    ]

    assert missing == []


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    elsewhere = []
    for name, text in _html(site).items():
        page = _Assets()
        page.feed(text)
        elsewhere += [(name, link) for link in page.found if urlsplit(link).netloc]
    for sheet in site.rglob("*.css"):
        elsewhere += [
            (sheet.name, link)
            for link in re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]+)", sheet.read_text())
        ]

    assert elsewhere == []


def test_what_the_scripts_could_ask_another_host_for_is_not_in_any_page(site: Path) -> None:
    named = {
        host
        for script in site.rglob("*.js")
        # As a text of the program: what stands in a comment is a notice.
        for host in re.findall(r"[\"'`]https?://([\w.-]+)", script.read_text())
    }
    page = _Assets()
    for text in _html(site).values():
        page.feed(text)

    assert named <= NEVER_ASKED.keys()
    assert not page.components & {"mermaid", "source"}


def test_lists_and_tables_that_github_shows_are_lists_and_tables_here(site: Path) -> None:
    """It takes a list within a paragraph for text, which GitHub does not: then a blank line is missing."""
    left = [
        (name, paragraph)
        for name, text in _html(site).items()
        for paragraph in re.findall(r"<p>(.*?)</p>", text, re.DOTALL)
        if re.search(r"^\s*(?:[-*] |\d+\. |\||```|#+ )", paragraph, re.MULTILINE)
    ]

    assert left == []


def test_a_page_that_the_index_does_not_name_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/README.md").write_text("# Index\n\n## How to\n\n- [do it](named.md)\n")
    (tmp_path / "docs/named.md").write_text("# Named\n")
    (tmp_path / "docs/forgotten.md").write_text("# Forgotten\n")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")

    built = _build(tmp_path / "mkdocs.yml", tmp_path / "site")

    assert built.returncode == 1
    assert "forgotten.md" in built.stderr
    assert "named.md" not in built.stderr
