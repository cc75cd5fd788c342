"""How much CPU does this process want?"""

from pathlib import Path
from time import process_time

import pytest

from outrider.engine import demand
from outrider.engine.demand import cpu_demand


def test_work_is_demand() -> None:
    before = cpu_demand()

    while cpu_demand() == before:
        sum(range(1_000))

    assert cpu_demand() > before


def test_time_in_line_for_a_cpu_counts_as_time_on_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = tmp_path / "schedstat"
    told.write_text("1500000000 500000000 7\n")
    monkeypatch.setattr(demand, "_OF_THIS_THREAD", told)

    assert cpu_demand() == 2.0


def test_where_nobody_tells_it_is_what_the_process_uses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(demand, "_OF_THIS_THREAD", tmp_path / "none")

    before, wanted, after = process_time(), cpu_demand(), process_time()

    assert before <= wanted <= after
