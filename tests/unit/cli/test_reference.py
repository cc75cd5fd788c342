"""The reference pages say what the code says."""

from pathlib import Path
from typing import get_args

import pytest

from outrider.cli.reference import PAGES, commands_page, events_page, metrics_page, reasons_page, settings_page, write
from outrider.model.event import Event
from outrider.model.reason import Reason
from outrider.observe.metrics import EXTRACT, INTAKE, PROCESS, QUEUES, SCHEDULE, WORKER
from outrider.ops.meaning import meaning
from outrider.settings import Settings
from outrider.settings.seeds import SEEDS

FOLDER = Path(__file__).parents[3] / "docs" / "reference"


@pytest.mark.parametrize("name", PAGES)
def test_a_printed_page_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name](), "run ./scripts/reference"


def test_the_page_has_every_key_and_every_name_of_the_seeds() -> None:
    page = settings_page()

    assert all(f"| `{key}` |" in page for key in [*Settings.model_fields, *SEEDS])


def test_every_command_and_every_option_is_on_the_page() -> None:
    page = commands_page()

    assert all(
        f"## outrider {name}\n" in page for name in ("fetch", "robots", "normalize", "config show", "events", "status")
    )
    assert all(f"| `{option}`" in page for option in ("URL", "--body FILE", "--base URL", "--agent NAME", "--json"))


def test_every_event_and_its_fields_are_on_the_page() -> None:
    """S4-14, S0-17: what a consumer reads is written down, with the promise that it stays."""
    page = events_page()

    for kind in get_args(Event):
        _, _, part = page.partition(f"## {kind.__struct_config__.tag}\n")
        part = part.partition("\n## ")[0]
        assert len(part.split("|")[0].strip()) > 20, f"{kind.__name__} is not told"
        assert all(f"| `{name}` |" in part for name in ("type", "version", *kind.__struct_fields__))
    assert "added, never renamed or removed" in page


def test_every_reason_is_on_the_page_once_with_its_meaning() -> None:
    """S0-17: whoever finds a reason can look it up."""
    page = reasons_page()

    assert [reason for reason in Reason if page.count(f"| `{reason}` | {meaning(reason)} |") != 1] == []


def test_every_metric_is_on_the_page_once() -> None:
    """S4-46 to S4-49: what a dashboard asks for is written down."""
    page = metrics_page()

    names = [metric.name for table in (WORKER, INTAKE, QUEUES, EXTRACT, SCHEDULE, PROCESS) for metric in table]
    assert [name for name in names if page.count(f"| `{name}` |") != 1] == []


def test_the_pages_are_written_where_asked(tmp_path: Path) -> None:
    write(tmp_path / "new")

    assert {path.name for path in (tmp_path / "new").iterdir()} == set(PAGES)
