"""Can it be read? Contrast as WCAG 2.2 computes it, light and dark. And does a page need anything from elsewhere?"""

import re
from importlib.resources import files
from itertools import product

import pytest

from outrider.model.ledger import State
from outrider.web.phrases import CHIPS
from outrider.web.render import STATIC
from outrider.web.views import ACTIVITIES, OUTCOMES

STYLE = (STATIC / "style.css").read_text()
TEMPLATES = {path.name: path.read_text() for path in files("outrider.web").joinpath("templates").iterdir()}

SURFACES = ("paper", "card", "sunk")
TEXTS = ("ink", "dim", "accent", "ok", "bad", "wait", "info")
WASHES = (
    ("ok", "ok-wash"),
    ("bad", "bad-wash"),
    ("wait", "wait-wash"),
    ("info", "info-wash"),
    ("accent", "accent-wash"),
)
SHAPES = ("edge", "accent", "fetched", "failed", "moved", "skipped", "other")


def palettes() -> dict[str, dict[str, str]]:
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
        for block in re.findall(r":root \{(.*?)\}", STYLE, flags=re.DOTALL)
    )
    return {"light": light, "dark": light | dark}


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_the_measure_is_the_known_one() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_is_readable_on_every_surface(scheme: str) -> None:
    """AA: 4.5 to 1 for text."""
    colours = palettes()[scheme]
    pairs = [*product(TEXTS, SURFACES), *WASHES, ("accent-ink", "accent"), ("ink", "accent-wash")]

    found = {pair: round(contrast(colours[pair[0]], colours[pair[1]]), 2) for pair in pairs}

    assert {pair: ratio for pair, ratio in found.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_edges_of_controls_and_parts_of_charts_can_be_told_from_what_they_lie_on(scheme: str) -> None:
    """AA: 3 to 1 for what is no text."""
    colours = palettes()[scheme]

    found = {name: round(contrast(colours[name], colours["card"]), 2) for name in SHAPES}

    assert {name: ratio for name, ratio in found.items() if ratio < 3} == {}


def test_dark_names_every_colour_that_light_does() -> None:
    light, dark = re.findall(r":root \{(.*?)\}", STYLE, flags=re.DOTALL)

    assert set(re.findall(r"--[\w-]+: #", light)) == set(re.findall(r"--[\w-]+: #", dark))


def test_colours_are_named_and_written_nowhere_else() -> None:
    after = STYLE.split("*, *::before", 1)[1]

    assert re.findall(r"#[0-9a-fA-F]{3,8}\b|rgb\(|hsl\(", after) == []
    assert set(re.findall(r"var\(--([\w-]+)\)", STYLE)) <= palettes()["dark"].keys() | {"sans", "mono", "gap", "round"}


def test_every_kind_of_chip_has_a_colour() -> None:
    kinds = {kind for kind, _, _ in CHIPS.values()} - {""}

    assert all(f".chip.{kind} " in STYLE for kind in kinds)


def test_everything_that_is_drawn_has_a_colour() -> None:
    kinds = [*(kind for _, _, kind in OUTCOMES), *(f"busy-{name}" for name in ACTIVITIES), *State, "plain"]

    assert [kind for kind in kinds if not re.search(rf"\.{kind}\b[^{{]*\{{ fill:", STYLE)] == []


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_page_has_a_script_or_a_style_in_it_or_anything_from_elsewhere(name: str) -> None:
    """The content security policy forbids them, so they would not work."""
    text = TEMPLATES[name]

    assert re.findall(r"\sstyle=|<style|\son\w+=|javascript:|\|\s*safe\b", text) == []
    assert re.findall(r"<script(?! src=\"\{\{ static\()", text) == []
    assert re.findall(r"(?:src|href|action)=\"(?:https?:)?//", text) == []


@pytest.mark.parametrize("name", ["style.css", "live.js", "choose.js", "icon.svg"])
def test_what_a_page_loads_comes_with_the_package_and_loads_nothing_itself(name: str) -> None:
    text = (STATIC / name).read_text()

    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text)
