"""Whatever is asked of the API is answered as its description says, and never with a 5xx: by schemathesis.

A failure names the request to repeat it by. Each run asks the same: the seed is printed with it.
"""

import json
from functools import cache
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks
from tests.integration.web.conftest import Crawled
from tests.integration.web.dashboards import ACTING, Dashboard

from outrider.web.app import described

SEED: Final = 7_411
EXAMPLES: Final = 8
CHECKS: Final = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
LOOKS: Final = ("overview", "sites", "site", "urls", "url", "letters", "settings")
UNASKED: Final = ("overview", "settings")
"""Of which nothing can be asked wrongly: they take nothing."""
ACTS: Final = ("site/order", "letters/replay", "letters/drop")


@cache
def description() -> Any:  # noqa: ANN401 - its own class is not exported
    return schemathesis.openapi.from_dict(described())


def fuzz(dashboard: Dashboard, name: str, method: str, mode: GenerationMode, headers: dict[str, str]) -> list[int]:
    """The statuses that were answered."""
    operation = description()[f"/api/v1/{name}"][method]
    found: list[int] = []

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],  # what fails is named as it is: making it smaller may take minutes
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Case[Any]) -> None:
        answer = case.call_and_validate(base_url=dashboard.url, headers=headers, checks=CHECKS)
        found.append(answer.status_code)

    print(f"seed {SEED}, {EXAMPLES} examples of {method} {name}")
    ask()
    return found


def test_every_route_is_fuzzed(dashboard: Dashboard) -> None:
    told = dashboard.look("openapi.json")

    assert told == json.loads(json.dumps(described()))
    assert told["paths"].keys() == {f"/api/v1/{name}" for name in (*LOOKS, *ACTS)}


@pytest.mark.parametrize(
    ("name", "mode"),
    [(name, mode) for name in LOOKS for mode in GenerationMode if mode.is_positive or name not in UNASKED],
)
def test_whatever_is_looked_for_is_answered_as_described(dashboard: Dashboard, name: str, mode: GenerationMode) -> None:
    found = fuzz(dashboard, name, "GET", mode, {})

    assert found
    assert max(found) < 500


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_whatever_is_done_is_answered_as_described(own: Crawled, mode: GenerationMode) -> None:
    with Dashboard(own.folder) as dashboard:
        found = [status for name in ACTS for status in fuzz(dashboard, name, "POST", mode, ACTING)]

    assert found
    assert max(found) < 500
