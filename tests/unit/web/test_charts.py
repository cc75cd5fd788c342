"""Drawings add up: what they show are the amounts that came in, and nothing that came in can end them early."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.web.charts import (
    Stretch,
    bar,
    coarser,
    hundredths,
    rounded_up,
    sparkline,
    stacked_area,
    stacked_bar,
)

PARTS = (("fetched", "fetched"), ("failed", "failed"))


def drawn(markup: str) -> ET.Element:
    return ET.fromstring(str(markup))  # noqa: S314 - it is what we have just drawn


def test_a_stack_shows_every_kind_that_happened_and_no_other() -> None:
    stretches = [Stretch(0, 10, (20.0, 0.0)), Stretch(10, 20, (40.0, 0.0))]

    area = stacked_area(stretches, PARTS, "Outcomes")

    svg = drawn(area.drawing)
    paths = [path.get("class") for path in svg.iter("path")]
    assert (paths, area.top, area.seconds) == (["area fetched"], 5.0, 20)
    assert svg.get("aria-label") == "Outcomes"
    assert [title.text for title in svg.iter("title")] == ["fetched 2.0/s", "fetched 4.0/s"]


def test_a_layer_lies_on_the_one_below_and_a_rate_holds_for_its_whole_stretch() -> None:
    area = stacked_area([Stretch(0, 10, (10.0, 10.0)), Stretch(10, 20, (0.0, 20.0))], PARTS, "")

    below, above = (path.get("d") for path in drawn(area.drawing).iter("path"))
    assert below == "M0 50L500 50L500 100L1000 100L500 100L0 100Z"
    assert above == "M0 0L500 0L1000 0L1000 100L500 100L500 50L0 50Z"


@pytest.mark.parametrize("stretches", [[], [Stretch(5, 5, (1.0, 1.0))]])
def test_where_no_time_has_passed_nothing_is_drawn(stretches: list[Stretch]) -> None:
    area = stacked_area(stretches, PARTS, "Outcomes")

    assert (list(drawn(area.drawing)), area.seconds) == ([], 0)


def test_a_name_cannot_end_the_drawing() -> None:
    hostile = '"><script>alert(1)</script>'

    svg = drawn(stacked_area([Stretch(0, 1, (1.0,))], [(hostile, hostile)], hostile).drawing)

    assert svg.get("aria-label") == hostile
    assert [child.tag for child in svg] == ["path", "rect"]
    others = (sparkline([1, 2], hostile), bar(1, hostile), stacked_bar([(hostile, 1)], ""))
    assert not any("<script" in other for other in others)


@given(
    st.lists(st.tuples(st.floats(0.1, 50), st.integers(0, 1_000), st.integers(0, 1_000)), min_size=1, max_size=300),
    st.integers(1, 50),
)
def test_a_coarser_history_has_the_same_sums_and_few_stretches(rows: list[tuple[float, int, int]], most: int) -> None:
    at, stretches = 0.0, []
    for seconds, one, other in rows:
        stretches.append(Stretch(at, at + seconds, (float(one), float(other))))
        at += seconds

    merged = coarser(stretches, most)

    assert len(merged) <= 2 * most + 1
    assert (merged[0].start, merged[-1].end) == (0.0, at)
    for place in (0, 1):
        sums = [sum(stretch.amounts[place] for stretch in some) for some in (stretches, merged)]
        assert sums[0] == pytest.approx(sums[1])


def test_a_time_that_nobody_knows_of_is_empty() -> None:
    merged = coarser([Stretch(0, 10, (5.0,)), Stretch(90, 100, (5.0,))], 20)

    assert [(stretch.start, stretch.end, stretch.amounts) for stretch in merged] == [
        (0, 10, (5.0,)),
        (10, 90, (0.0,)),
        (90, 100, (5.0,)),
    ]


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20).filter(sum))
def test_shares_that_are_shown_add_up_to_a_hundred(amounts: list[float]) -> None:
    assert sum(hundredths(amounts)) == pytest.approx(100.0)


def test_shares_of_nothing_are_nothing() -> None:
    assert hundredths([0, 0]) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("value", "top"),
    [(0, 1), (0.3, 0.5), (1, 1), (1.2, 2), (2.1, 2.5), (7, 10), (10, 10), (11, 20), (49, 50), (999, 1_000)],
)
def test_an_axis_ends_at_a_round_number(value: float, top: float) -> None:
    assert rounded_up(value) == pytest.approx(top)


def test_parts_of_a_whole_fill_the_bar_and_none_is_too_thin_to_be_seen() -> None:
    rects = list(drawn(stacked_bar([("fetched", 1_000_000), ("dead", 1), ("pending", 0)], "URLs")).iter("rect"))

    widths = [float(rect.get("width") or 0) for rect in rects]
    assert [rect.get("class") for rect in rects] == ["fill fetched", "fill dead"]
    assert sum(widths) == pytest.approx(1000, abs=0.2)
    assert widths[1] > 3


@pytest.mark.parametrize(("share", "width"), [(0.25, "250"), (-1, "0"), (7, "1000")])
def test_a_bar_stays_in_its_groove(share: float, width: str) -> None:
    assert [rect.get("width") for rect in drawn(bar(share)).iter("rect")] == ["1000", width]


def test_a_line_goes_from_zero_to_its_peak() -> None:
    line = drawn(sparkline([0, 4, 2], "Rate")).find("polyline")

    assert line is not None
    assert line.get("points") == "0,100 500,0 1000,50"
    assert list(drawn(sparkline([1], "Rate"))) == []
