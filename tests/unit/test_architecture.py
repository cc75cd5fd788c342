"""The folder is the architecture: imports point one way, and the heart touches no clock, no luck, no I/O."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "outrider"

# Who may import whom; a layer may always import itself, and those further down.
BELOW: dict[str, set[str]] = {
    "errors": set(),
    "clock": {"ports"},
    "loop": set(),
    "garbage": set(),
    "model": {"errors"},
    "policy": {"model", "errors"},
    "ports": {"model", "errors", "policy"},
    "settings": {"policy", "model", "errors"},
    "extract": {"ports", "policy", "model", "errors"},
    "fetch": {"clock", "extract", "ports", "policy", "model", "errors"},
    "stores": {"clock", "ports", "policy", "model", "errors"},
    "observe": {"ports", "policy", "model", "errors"},
    "engine": {"clock", "extract", "fetch", "stores", "observe", "ports", "policy", "model", "errors"},
    "ops": {"extract", "fetch", "stores", "observe", "ports", "policy", "model", "errors"},
    "web": {"ops", "extract", "fetch", "stores", "observe", "ports", "policy", "model", "errors", "settings"},
    "testing": {"ports", "policy", "model", "errors", "stores"},
}
ANYTHING = {"app", "client", "crawling", "cli", "__main__", "__init__"}

PURE = ("model", "policy", "extract")
IMPURE_MODULES = {
    *("asyncio", "time", "random", "secrets", "logging", "os", "pathlib", "socket", "subprocess", "threading"),
    *("sqlite3", "uuid", "urllib.request", "io"),
}
IMPURE_CALLS = {
    *("open", "print", "input", "now", "utcnow", "today", "urandom", "getenv", "time", "sleep", "random"),
}


def modules(folder: str = "") -> list[Path]:
    return sorted((SOURCE / folder).rglob("*.py"))


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively; write the whole name"
            module = node.module or ""
            yield module
            if module == "outrider":
                yield from (f"outrider.{alias.name}" for alias in node.names if alias.name != "__version__")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    here = layer(path)
    if here in ANYTHING:
        return
    assert here in BELOW, f"{here} is a new layer: say in this test what it may import"

    ours = {name.split(".")[1] for name in imported(path) if name.startswith("outrider.")}

    assert ours <= BELOW[here] | {here}


@pytest.mark.parametrize(
    "path", [path for folder in PURE for path in modules(folder)], ids=lambda path: str(path.relative_to(SOURCE))
)
def test_the_heart_touches_no_clock_no_luck_no_io(path: Path) -> None:
    assert not IMPURE_MODULES & set(imported(path))

    for node in ast.walk(ast.parse(path.read_text())):
        assert not isinstance(node, ast.AsyncFunctionDef | ast.Await), f"{path}:{node.lineno}"
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            assert name not in IMPURE_CALLS, f"{path}:{node.lineno} calls {name}"


def test_no_file_is_longer_than_the_wall() -> None:
    long = {str(path.relative_to(SOURCE)): lines for path in modules() if (lines := path.read_text().count("\n")) > 400}

    assert long == {}


POSSESSIVE_GROUP = re.compile(r"\)\s*(?:[*+?]|\{[0-9,]+\})\+")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_regular_expression_repeats_a_group_possessively(path: Path) -> None:
    """Python 3.11.0 to 3.11.4, which Debian 12 has, matches `(?:…)*+` wrongly and finds no link in any page
    (python/cpython#106052 and #100061). `(?>(?:…)*)` means the same, and is what later versions make of it.
    """
    texts = [
        node.value if isinstance(node.value, str) else node.value.decode("latin-1")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    ]

    assert [text for text in texts if POSSESSIVE_GROUP.search(text)] == []
