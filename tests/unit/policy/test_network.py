"""Is it them or us?"""

import pytest

from outrider.policy.network import NetworkLimits, is_our_network


@pytest.mark.parametrize(
    ("unreachable", "alive", "ours"),
    [(0, 0, False), (9, 0, False), (10, 0, True), (10, 3, False), (40, 10, True), (40, 11, False), (200, 0, True)],
)
def test_when_most_sites_fail_at_once_it_is_our_own_network(unreachable: int, alive: int, *, ours: bool) -> None:
    """C4."""
    assert is_our_network(unreachable, alive, NetworkLimits()) is ours
