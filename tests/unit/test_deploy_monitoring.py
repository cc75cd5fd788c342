"""Alerts and dashboard ask only for what is told, and whoever is woken is told what to do."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from outrider.observe.metric import Kind
from outrider.observe.metrics import EXTRACT, INTAKE, PROCESS, QUEUES, SCHEDULE, WORKER

DEPLOY: Final = Path(__file__).parents[2] / "deploy"
DASHBOARD: Final = json.loads((DEPLOY / "grafana" / "dashboards" / "outrider.json").read_text())
RULES: Final = [
    rule for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"] for rule in group["rules"]
]
METRICS: Final = {
    metric.name: metric for table in (WORKER, INTAKE, QUEUES, EXTRACT, SCHEDULE, PROCESS) for metric in table
}
FUNCTIONS: Final = {
    *("and", "by", "count", "deriv", "histogram_quantile", "increase", "max", "min", "rate", "sum", "topk"),
    *("instance", "job", "le", "up", "worker", "extract", "schedule", "m", "h", "__rate_interval"),
}


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def queries() -> Iterator[tuple[str, str]]:
    for rule in RULES:
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def told(name: str) -> str:
    """The metric that a series belongs to."""
    for ending in ("_bucket", "_sum", "_count"):
        base = name.removesuffix(ending)
        if base in METRICS and METRICS[base].kind is Kind.HISTOGRAM:
            return base
    return name


def names(query: str) -> set[str]:
    return {told(name) for name in re.findall(r"(?:page_fetcher|crawler_scheduler|outrider)_\w+", query)}


@pytest.mark.parametrize(("where", "query"), list(queries()), ids=[where for where, _ in queries()])
def test_every_query_asks_for_what_is_told(where: str, query: str) -> None:
    """S4-46 to S4-49"""
    asked = names(query)

    assert where
    assert asked <= set(METRICS)
    labels = {label for name in asked for label in METRICS[name].labels}
    words = set(re.findall(r"(?<![\w\"])[a-z_]+(?![\w\"])", re.sub(r'"[^"]*"', "", query)))
    assert {told(word) for word in words} <= set(METRICS) | labels | FUNCTIONS
    assert query.count("(") == query.count(")")


@pytest.mark.parametrize(("where", "query"), list(queries()), ids=[where for where, _ in queries()])
def test_counters_are_asked_for_their_change_and_gauges_are_not(where: str, query: str) -> None:
    """The value of a counter says how old its process is, and little else."""
    assert where
    for name, around in re.findall(r"(\w+)\(((?:page_fetcher|crawler_scheduler|outrider)_\w+)", query):
        changes = METRICS[told(around)].kind is not Kind.GAUGE
        assert changes == (name in {"rate", "increase"})


def test_every_alert_says_what_it_means_and_what_to_do() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        assert {*rule["annotations"]} == {"summary", "action"}


@pytest.mark.parametrize(
    "name",
    [
        *("page_fetcher_circuit_breaker_state", "page_fetcher_dlq_size", "page_fetcher_input_queue_size"),
        *("page_fetcher_pages_fetched_total", "outrider_extract_missing_total", "outrider_extract_lag"),
        *("outrider_worker_deaths_total", "outrider_ready"),
    ],
)
def test_somebody_is_told_of(name: str) -> None:
    """S4-51: what was known to be a risk is watched, eviction from the cache among it."""
    assert any(name in names(rule["expr"]) for rule in RULES)


def test_the_dashboard_shows_every_metric_that_was_promised() -> None:
    """S4-46 to S4-49"""
    shown = {name for panel in panels() for target in panel["targets"] for name in names(target["expr"])}

    assert {name for name in METRICS if name.startswith("page_fetcher_")} <= shown


def test_the_dashboard_asks_the_source_that_is_provisioned() -> None:
    folder = DEPLOY / "grafana" / "provisioning"
    sources = yaml.safe_load((folder / "datasources" / "prometheus.yaml").read_text())["datasources"]
    provider = yaml.safe_load((folder / "dashboards" / "outrider.yaml").read_text())["providers"][0]
    compose = yaml.safe_load((DEPLOY.parent / "compose.yaml").read_text())

    assert {panel["datasource"]["uid"] for panel in panels()} == {source["uid"] for source in sources}
    mounts = [volume.split(":")[1] for volume in compose["services"]["grafana"]["volumes"]]
    assert provider["options"]["path"] in mounts


def test_panels_do_not_cover_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert place["x"] + place["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_prometheus_itself_takes_the_rules() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: the package prometheus)")

    for command in (("check", "rules", "alerts.yml"), ("check", "config", "prometheus.yml")):
        done = subprocess.run(
            [promtool, *command], cwd=DEPLOY, env=os.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
