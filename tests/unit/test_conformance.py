"""docs/conformance.md names only tests that exist, and all requirements."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conformance.md"


def test_the_page_is_what_the_tests_say() -> None:
    check = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "conformance"), "--check"], capture_output=True, text=True, check=False
    )

    assert check.stderr == ""
    assert check.returncode == 0


def test_every_test_that_the_page_names_exists() -> None:
    named = re.findall(r"\[(\w+)\]\(\.\./([\w/.]+)\)", PAGE.read_text())
    assert len(named) > 100

    functions = {
        path: {node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if hasattr(node, "name")}
        for path in {path for _, path in named}
    }
    missing = [(path, test) for test, path in named if f"test_{test}" not in functions[path]]
    assert missing == []


def test_every_requirement_has_a_row() -> None:
    requirements = tomllib.loads((ROOT / "docs" / "requirements.toml").read_text())
    rows = set(re.findall(r"^\| ([SC]\S+) \|", PAGE.read_text(), re.MULTILINE))

    assert {group: len(titles) for group, titles in requirements.items()} == {
        "S0": 33,
        "S1": 36,
        "S2": 44,
        "S3": 23,
        "S4": 51,
        "C": 34,
    }
    assert rows == {spec for titles in requirements.values() for spec in titles}
