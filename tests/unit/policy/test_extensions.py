"""Which endings promise no page? (S2-16, C27)"""

from itertools import combinations

from outrider.policy.extensions import GROUPS, NON_TEXT


def test_there_are_seventy_one_extensions_in_nine_groups_that_do_not_overlap() -> None:
    """S2-16."""
    assert len(NON_TEXT) == 71
    assert list(GROUPS) == [
        "images",
        "video",
        "audio",
        "documents",
        "archives",
        "executables",
        "binary",
        "design",
        "data",
    ]
    assert not any(one & other for one, other in combinations(GROUPS.values(), 2))


def test_every_extension_is_a_dot_and_lower_case() -> None:
    assert all(extension.startswith(".") and extension == extension.lower() for extension in NON_TEXT)


def test_the_data_group_is_the_one_that_the_seed_names() -> None:
    """S2-16."""
    assert GROUPS["data"] == {".csv", ".json", ".xml", ".sql"}
