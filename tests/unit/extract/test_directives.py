"""Directives for everybody and for us add up; those for others are not ours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.extract.directives import NOARCHIVE, NOFOLLOW, NOINDEX, header_directives, meta_directives


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], set()),
        ([""], set()),
        (["noindex"], {NOINDEX}),
        (["NoIndex, NOFOLLOW"], {NOINDEX, NOFOLLOW}),
        (["noindex", "noarchive"], {NOINDEX, NOARCHIVE}),
        (["none"], {NOINDEX, NOFOLLOW}),
        (["Outrider: nofollow"], {NOFOLLOW}),
        (["*: nofollow"], {NOFOLLOW}),
        (["otherbot: noindex, nofollow"], set()),
        (["otherbot: noindex, outrider: nofollow, noarchive"], {NOFOLLOW, NOARCHIVE}),
        (["otherbot: noindex", "nofollow"], {NOFOLLOW}),
        (["max-snippet: 20, noindex"], {"max-snippet: 20", NOINDEX}),
        (["outrider: max-snippet: 20"], {"max-snippet: 20"}),
        (["something-new"], {"something-new"}),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST"], {"unavailable_after: 25 jun 2010 15:00:00 pst"}),
        (
            ["unavailable_after: Saturday, 25 Jun 2010 15:00:00 PST, nofollow"],
            {"unavailable_after: saturday, 25 jun 2010 15:00:00 pst", NOFOLLOW},
        ),
        (
            ["otherbot: unavailable_after: Saturday, 25-Jun-10 15:00:00 PST, noindex", "outrider: nofollow"],
            {NOFOLLOW},
        ),
        ([" , ,, noindex ,"], {NOINDEX}),
    ],
)
def test_a_header_speaks_to_those_it_names(values: list[str], expected: set[str]) -> None:
    assert header_directives(values, "Outrider") == expected


def test_a_meta_element_has_said_already_whom_it_is_for() -> None:
    found = meta_directives(["noindex, otherbot: nofollow", "None", "max-image-preview:large"])

    assert found == {NOINDEX, NOFOLLOW, "max-image-preview: large"}


@given(st.lists(st.text(alphabet="noindexfw:,; 0aZ*", max_size=40)), st.text(max_size=5))
def test_no_value_is_too_strange_to_be_read(values: list[str], agent: str) -> None:
    found = header_directives(values, agent)

    assert all(directive == directive.lower() for directive in found)


def test_a_long_value_is_read_only_at_its_start() -> None:
    found = header_directives([", ".join(f"d{number}" for number in range(100_000))], "outrider")

    assert len(found) < 1_000
