"""What mkdocs has to be told of our pages, which are written to be read in the repository as well.

The index docs/README.md is the navigation: its headings are the sections, its links the pages, in their order. A link
to another index brings the pages that are listed there. What it does not name is missing in the site, and that is a
warning, so an error.

A page may link to any file of the repository. Those beyond docs/ are laid into the site as plain text, under source/.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_FENCE: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^## (.+)$", re.MULTILINE)
_LINK: Final = re.compile(r"(?<=\]\()(?!\w+:)([^)\s#]+)(?=[)#])")
_PARTS: Final = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
_INDEX: Final = "README.md"


def on_config(config: MkDocsConfig) -> None:
    docs = Path(config.docs_dir)
    first, *sections = _HEADING.split(_FENCE.sub("", (docs / _INDEX).read_text()))
    config.nav = [_INDEX, *_pages(docs, "", first)]
    for title, text in zip(sections[::2], sections[1::2], strict=True):
        config.nav.append({title: list(_pages(docs, "", text))})


def on_files(files: Files, config: MkDocsConfig) -> None:
    docs = Path(config.docs_dir)
    pages = [file.src_uri for file in files.documentation_pages()]
    for name in sorted({name for page in pages for name in _beyond(docs, page)}):
        files.append(File.generated(config, _laid_at(name), content=(docs.parent / name).read_text()))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    del config, files
    here = posixpath.dirname(page.file.src_uri)

    def led(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(here, link[1]))
        return posixpath.relpath(_laid_at(target[3:]), here or ".") if target.startswith("../") else link[1]

    # Every second part is a block of code.
    parts = _PARTS.split(markdown)
    return "".join(part if place % 2 else _LINK.sub(led, part) for place, part in enumerate(parts))


def _pages(docs: Path, folder: str, text: str) -> Iterator[object]:
    """What a page links to among our pages, once each."""
    for link in dict.fromkeys(_LINK.findall(text)):
        path = posixpath.normpath(posixpath.join(folder, link))
        if path.startswith("../") or not path.endswith(".md"):
            continue
        yield path
        if posixpath.basename(path) == _INDEX:
            yield from _pages(docs, posixpath.dirname(path), (docs / path).read_text())


def _beyond(docs: Path, page: str) -> Iterator[str]:
    """Files of the repository, outside docs/, that a page links to."""
    for link in _LINK.findall(_FENCE.sub("", (docs / page).read_text())):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
        if path.startswith("../"):
            yield path.removeprefix("../")


def _laid_at(name: str) -> str:
    return f"source/{name}.txt"
