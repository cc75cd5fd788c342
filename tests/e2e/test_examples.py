"""Every example runs as its README says, from its own folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(path.parent for path in EXAMPLES.glob("*/main.py"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_example_runs_and_prints_something(folder: Path) -> None:
    readme = (folder / "README.md").read_text()
    assert "python main.py" in readme

    run = subprocess.run(
        [sys.executable, "-W", "error", "main.py"],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert run.stderr == ""
    assert run.returncode == 0
    assert run.stdout
