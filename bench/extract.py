"""What does reading a page cost? CPU of `read_page`, and as a ratio to lxml with a target that does nothing.

    .venv/bin/python bench/extract.py [--rounds 9] [--only-articles] [--output FILE]

The two take turns over the same page, and each round gives one ratio, so that a busy machine slows both alike. The last
line is what a worker does with a page, by articles of which nine in ten links are known: links are joined, normalised,
looked up, and judged where they are new. It is the best of all rounds: others on the machine can only add to it.
"""

import argparse
import runpy
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, Final, cast

from lxml import etree
from msgspec import json

from outrider.app.rules import gate_rules
from outrider.engine.gate import Answer, Gate
from outrider.extract.links import read_page
from outrider.model.identity import Identity
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.settings import settings_of

HERE: Final = Url("https://example.org/forum/page.html")
HOSTILE: Final = 75_000
GOAL: Final = 350
"""Microseconds of CPU for an article, all the way."""
_WORDS: Final = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor "


class Nothing:
    """The floor: a target that is called for every start tag, and keeps nothing."""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Heard."""

    def close(self) -> None:
        """Done."""


def article(numbers: Iterable[int] = range(50)) -> bytes:
    """35 KB, 50 links, some 450 elements, all of them closed."""
    item = (
        f"<div class='item'><h2 class='t'>Title</h2><p>{_WORDS * 6}<b>bold</b> "
        f"<a class='l' href='/news/%d/some-page.html?x=%d'>more</a> &amp; "
        f"<span class='s'>{_WORDS}</span></p><ul><li>one</li><li>two</li></ul></div>"
    )
    return ("<!doctype html><title>A page</title>" + "".join(item % (n, n) for n in numbers)).encode()


def articles(number: int) -> list[bytes]:
    """Each has 45 links in common with the others, and five of its own."""
    return [article([*range(45), *range(1_000 + page * 5, 1_005 + page * 5)]) for page in range(number)]


def forum() -> bytes:
    """200 KB, 800 links, of every form, and nothing is ever closed."""
    forms = ("/topic/%d", "https://example.org/user/%d", "post.php?id=%d", "../up/%d", "javascript:reply(%d)")
    posts = (
        f"<table><tr><td><font><b><a href='{forms[n % 5] % n}'>post<i>{_WORDS * 2}<p>and so on, and so on"
        for n in range(800)
    )
    return ("<html><title>Forum</title>" + "".join(posts)).encode()


def bare(page: bytes) -> None:
    etree.fromstring(page, etree.HTMLParser(target=cast("Any", Nothing()), encoding="utf-8"))


def cost(act: Callable[[bytes], object], page: bytes, times: int) -> float:
    before = process_time()
    for _ in range(times):
        act(page)
    return (process_time() - before) / times


def whole_way(pages: Sequence[bytes]) -> float:
    """CPU of each page: its links found, joined, normalised, looked up, and judged where they are new."""
    gate = Gate(gate_rules(settings_of(scope="domain"), [HERE]), Identity(1))
    task = Task(HERE)
    before = process_time()
    for page in pages:
        gate.remember(gate.read_answer(task, Answer(HERE, page, "utf-8"), 0.0).hashes)
    return (process_time() - before) / len(pages)


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU of reading one page: lxml alone, and read_page.")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only-articles", action="store_true", help="and no tricks")
    parser.add_argument("--output", type=Path, help="the last line, as JSON")
    given = parser.parse_args()
    rounds: int = given.rounds
    tricks = runpy.run_path(str(Path(__file__).parents[1] / "tests/security/hostile_pages.py"))["PAGES"]
    pages = {"article, 50 links": article(), "broken forum, 800 links": forum()}
    pages |= {} if given.only_articles else {name: make(HOSTILE) for name, make in tricks.items()}
    print(f"{'':36} {'KB':>5} {'bare µs':>9} {'read_page µs':>13}  times bare")
    for name, page in pages.items():
        times = max(1, 2_000_000 // len(page))
        figures = [
            (cost(bare, page, times), cost(lambda it: read_page(it, "utf-8", HERE), page, times)) for _ in range(rounds)
        ]
        floor, ours = (median(column) * 1e6 for column in zip(*figures, strict=True))
        ratio = median(mine / least for least, mine in figures)
        print(f"{name:36} {len(page) / 1000:5.0f} {floor:9.0f} {ours:13.0f}  {ratio:10.2f}", flush=True)
    many = articles(200)
    whole = min(whole_way(many) for _ in range(20 * rounds)) * 1e6  # some seconds: a single one may be a bad one
    print(f"an article all the way: {whole:.0f} µs; the goal is {GOAL} ({'met' if whole <= GOAL else 'MISSED'})")
    if given.output is not None:
        given.output.write_bytes(json.encode({"whole_way": whole}) + b"\n")


if __name__ == "__main__":
    main()
