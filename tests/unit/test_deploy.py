"""What is deployed is what is there: every variable, command, port, path and user in the files is one of ours.

No container engine is needed: the files are read, and asked of the same parsers that will read their words later.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution, distributions
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from msgspec import Struct
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from typer.core import TyperGroup
from typer.main import get_command

from outrider import __version__
from outrider.cli import app
from outrider.observe.endpoint import Watch, answer
from outrider.settings import Settings, load, settings_of

ROOT: Final = Path(__file__).parents[2]
DOCKERFILE: Final = (ROOT / "Dockerfile").read_text()
COMPOSE: Final = yaml.safe_load((ROOT / "compose.yaml").read_text())
MANIFESTS: Final = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
FILES: Final = sorted([*ROOT.glob("*.yaml"), *(ROOT / "deploy").rglob("*.y*ml")])
PINNED: Final = {
    canonicalize_name(name): version
    for path in (ROOT / "requirements").glob("*.txt")
    for name, version in re.findall(r"^([\w.-]+)==(.+)", path.read_text(), re.MULTILINE)
}
OURS: Final = ("worker", "extract", "schedule")
PORT: Final = int((settings_of().metrics_address or "").rpartition(":")[2])
UID: Final = 10001
OLDEST: Final = "3.11.0"
"""Of all Pythons that pyproject.toml takes."""
LAST_WORDS: Final = 5.0
"""What a worker may take after drain_limit, before it is killed."""

SERVICE_KEYS: Final = {
    *("build", "cap_drop", "command", "depends_on", "deploy", "entrypoint", "environment", "healthcheck", "image"),
    *("init", "mem_limit", "networks", "ports", "read_only", "restart", "security_opt", "stop_grace_period", "tmpfs"),
    *("user", "volumes"),
}
FLAGS: Final = dict.fromkeys(Settings.model_fields) | {
    "queue": "input_queue",
    "content": "contents",
    "redis": "redis_url",
    "metrics": "metrics_address",
}
"""Which setting an option of a command is; None where it has the same name."""


class Started(Struct, frozen=True):
    """One process as somebody deploys it."""

    where: str
    words: tuple[str, ...]
    environment: dict[str, str]


def documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [document for path in MANIFESTS for document in documents(path) if document.get("kind") == kind]


def filled(text: str) -> str:
    """As compose fills in what the environment holds; where it must hold something, anything will do."""
    return re.sub(r"\$\{(\w+)(?::\?[^}]*)?\}", lambda found: SAMPLES[found[1]], text)


SAMPLES: Final = {
    "OUTRIDER_CONTACT": "https://example.org/crawler",
    "POSTGRES_PASSWORD": "secret",
    "GRAFANA_PASSWORD": "secret",
}


def of_compose() -> Iterator[Started]:
    for name in OURS:
        service = COMPOSE["services"][name]
        given = {key: filled(value) for key, value in service.get("environment", {}).items()}
        yield Started(f"compose {name}", tuple(map(filled, service["command"])), {**image_environment(), **given})


def of_kubernetes() -> Iterator[Started]:
    config = next(document for document in of_kind("ConfigMap") if document["metadata"]["name"] == "outrider")
    secret = next(document for document in of_kind("Secret") if document["metadata"]["name"] == "outrider")
    for container in containers():
        given = {item["name"]: item["value"] for item in container.get("env", [])}
        environment = {**image_environment(), **config["data"], **secret["stringData"], **given}
        yield Started(f"kubernetes {container['name']}", tuple(container["args"]), environment)


def containers() -> list[dict[str, Any]]:
    return [pod["containers"][0] for pod in pods()]


def pods() -> list[dict[str, Any]]:
    return [document["spec"]["template"]["spec"] for document in of_kind("Deployment")]


def instructions() -> list[tuple[str, str]]:
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE))
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def image_environment() -> dict[str, str]:
    last = [rest for word, rest in instructions() if word == "ENV"][-1]
    pairs = (pair.partition("=") for pair in shlex.split(last))
    return {name: value for name, _, value in pairs if name.startswith("OUTRIDER_")}


STARTED: Final = [*of_compose(), *of_kubernetes()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_can_be_read(path: Path) -> None:
    assert all(isinstance(document, dict) for document in documents(path))
    assert "\t" not in path.read_text()


# words


@pytest.mark.parametrize("started", STARTED, ids=lambda started: started.where)
def test_every_command_line_is_one_that_we_take(started: Started) -> None:
    """S4-45"""
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    name, *rest = started.words
    context = root.make_context("outrider", [name, *rest], resilient_parsing=True)
    command = root.get_command(context, name)
    if not any(root.get_command(context, each) for each in OURS):
        pytest.skip("there is no service in this tree yet")
    assert command is not None

    made = command.make_context(name, rest, parent=context)

    given = {option: value for option, value in made.params.items() if option in FLAGS and value is not None}
    flags = {FLAGS[option] or option: value for option, value in given.items()}
    settings = load(flags, environment=started.environment).settings
    assert settings.profile == "service" or name == "schedule"


@pytest.mark.parametrize("started", STARTED, ids=lambda started: started.where)
def test_every_variable_is_a_setting_and_its_value_fits(started: Started) -> None:
    """S4-36: the configuration is closed, so that a misspelt variable would stop the container at once."""
    settings = load(environment=started.environment).settings

    assert settings.metrics_address == f"0.0.0.0:{PORT}"
    if started.words[0] == "worker":
        assert settings.contact is not None
        assert settings.records is not None


def test_the_secrets_are_in_no_command_line() -> None:
    """Whoever may list processes may read those."""
    words = [word for started in STARTED for word in started.words]

    assert not [word for word in words if re.search(r"://[^/]*:[^/]*@", word)]


@pytest.mark.parametrize("path", [ROOT / "deploy" / "sources.yaml"], ids=lambda path: path.name)
def test_the_example_of_a_schedule_is_one(path: Path) -> None:
    sources = pytest.importorskip("outrider.app.sources", reason="outrider schedule is not there yet")

    assert len(sources.read_schedule(path).sources) == 3


# compose


def test_the_whole_service_is_composed() -> None:
    services = COMPOSE["services"]

    assert set(services) == {*OURS, "redis", "kafka", "topics", "postgres", "prometheus", "grafana"}
    assert services["worker"]["deploy"]["replicas"] == 2
    assert set(COMPOSE) == {"name", "x-outrider", "x-needs", "services", "networks", "volumes"}
    assert {key for service in services.values() for key in service} <= SERVICE_KEYS


def test_every_image_has_a_version() -> None:
    images = [service["image"] for service in COMPOSE["services"].values()]
    images += [container["image"] for container in containers()]
    images += [rest.split()[0] for word, rest in instructions() if word == "FROM"]

    assert [image for image in images if not re.search(r":v?\d+\.\d+(\.\d+)?(-[\w.-]+)?$", image)] == []
    assert {image for image in images if image.startswith("outrider")} == {f"outrider:{__version__}"}


def test_nothing_is_published_beyond_this_machine() -> None:
    ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]

    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert COMPOSE["networks"]["stores"] == {"internal": True}
    assert all(
        COMPOSE["services"][name]["networks"] == ["stores"] for name in ("redis", "kafka", "postgres", "extract")
    )


@pytest.mark.parametrize("name", OURS)
def test_our_containers_need_no_root_and_no_disk(name: str) -> None:
    service = COMPOSE["services"][name]

    assert (service["read_only"], service["user"]) == (True, f"{UID}:{UID}")
    assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"])


def test_what_is_named_in_compose_is_there() -> None:
    services = COMPOSE["services"]

    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert (ROOT / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]
        for needed, how in service.get("depends_on", {}).items():
            assert how["condition"] != "service_healthy" or "healthcheck" in services[needed]


def test_redis_throws_nothing_away_but_pages() -> None:
    """S4-51: only keys with a time to live may go, and only pages have a short one."""
    words = COMPOSE["services"]["redis"]["command"]

    options = dict(zip(words[1::2], words[2::2], strict=True))
    assert options["--maxmemory-policy"] == "volatile-ttl"
    assert options["--appendonly"] == "yes"
    assert "--maxmemory" in options


def test_kafka_needs_no_zookeeper_and_gets_our_topics() -> None:
    """S4-51"""
    environment = COMPOSE["services"]["kafka"]["environment"]
    made = COMPOSE["services"]["topics"]["command"][0]

    assert environment["KAFKA_PROCESS_ROLES"] == "broker,controller"
    assert not any("ZOOKEEPER" in name for name in environment)
    settings = settings_of(profile="service")
    assert f"for topic in {settings.webpage_topic} {settings.failure_topic};" in made


# limits that hang together


def test_whoever_is_stopped_has_time_to_drain() -> None:
    needed = settings_of(profile="service").drain_limit + LAST_WORDS

    assert all(float(COMPOSE["services"][name]["stop_grace_period"].removesuffix("s")) > needed for name in OURS)
    assert all(pod["terminationGracePeriodSeconds"] > needed for pod in pods())


def test_a_worker_slows_down_before_its_memory_ends() -> None:
    worker = COMPOSE["services"]["worker"]
    pod = next(container for container in containers() if container["name"] == "worker")
    given = {item["name"]: item["value"] for item in pod["env"]}

    for variables, limit in (
        (worker["environment"], worker["mem_limit"]),
        (given, pod["resources"]["limits"]["memory"].replace("Gi", "g")),
    ):
        most = load(environment={"OUTRIDER_MAX_MEMORY": variables["OUTRIDER_MAX_MEMORY"]}).settings.max_memory
        assert most is not None
        assert most < int(limit.removesuffix("g")) * 1024**3


def test_every_port_is_that_of_the_metrics() -> None:
    prometheus = yaml.safe_load((ROOT / "deploy" / "prometheus.yml").read_text())
    scraped = {job["job_name"]: job["dns_sd_configs"][0] for job in prometheus["scrape_configs"]}
    exposed = [rest for word, rest in instructions() if word == "EXPOSE"]
    check = next(rest for word, rest in instructions() if word == "HEALTHCHECK")

    assert {name: (job["names"], job["port"]) for name, job in scraped.items()} == {
        name: ([name], PORT) for name in OURS
    }
    assert exposed == [str(PORT)]
    assert f"'127.0.0.1', {PORT}," in check
    assert all(container["ports"] == [{"name": "metrics", "containerPort": PORT}] for container in containers())
    assert [service["spec"]["ports"][0]["port"] for service in of_kind("Service")] == [PORT] * 3


def test_every_probe_asks_for_a_path_that_is_served() -> None:
    watch = Watch(metrics=lambda: b"", ready=lambda: None, alive=lambda: True)
    probes = [
        (container[probe]["httpGet"]["path"], container[probe]["httpGet"]["port"])
        for container in containers()
        for probe in ("startupProbe", "livenessProbe", "readinessProbe")
    ]

    assert {port for _, port in probes} == {"metrics"}
    for path in {path for path, _ in probes} | {"/healthz"}:
        told, _ = answer(f"GET {path} HTTP/1.1".encode(), watch)
        assert told.status == 200
    assert "'GET', '/healthz'" in next(rest for word, rest in instructions() if word == "HEALTHCHECK")


# the image


def test_the_image_is_built_in_two_stages_and_runs_as_nobody() -> None:
    """S4-45"""
    words = instructions()
    stages = [place for place, (word, _) in enumerate(words) if word == "FROM"]
    last = words[stages[-1] :]

    assert len(stages) == 2
    assert len({words[place][1].split()[0] for place in stages}) == 1
    assert [rest for word, rest in last if word == "USER"] == [f"{UID}:{UID}"]
    assert ("ENTRYPOINT", '["outrider"]') in last
    assert not any("pip" in rest or "apt" in rest or "curl" in rest for word, rest in last if word == "RUN")
    # What comes after `USER` runs as that user; before it nothing of ours runs.
    assert [word for word, _ in last].index("USER") < [word for word, _ in last].index("ENTRYPOINT")
    assert all(isinstance(json.loads(rest), list) for word, rest in last if word in {"ENTRYPOINT", "CMD"})


def test_all_that_is_copied_is_there_and_let_through() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    ignored = [line for line in lines if line and not line.startswith("#")]
    allowed = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied = [rest.split()[:-1] for word, rest in instructions() if word == "COPY" and not rest.startswith("--from")]

    assert ignored[0] == "*"
    names = {name.rstrip("/") for names in copied for name in names}
    assert names == allowed
    assert all((ROOT / name).exists() for name in names)


def test_everything_that_is_installed_is_pinned() -> None:
    """Both files are constraints: what neither names would come in whatever version there is on that day."""
    assert closure({"service", "postgres"}) - set(PINNED) == set()


def test_every_pin_can_be_installed_with_the_oldest_python_we_take() -> None:
    """Debian 12 has 3.11.2: a package may well ask for a later 3.11."""
    installed = {
        canonicalize_name(one.name): (one.version, *(one.metadata.get_all("Requires-Python") or [""]))
        for one in distributions()
    }

    assert {name for name, version in PINNED.items() if installed[name][0] != version} == set(), "install them anew"
    assert {name for name in PINNED if not SpecifierSet(installed[name][1]).contains(OLDEST)} == set()


def closure(extras: set[str]) -> set[str]:
    """All that we need with these extras, and what those need in turn."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    todo = [Requirement(line) for line in project["dependencies"]]
    todo += [Requirement(line) for extra in extras for line in project["optional-dependencies"][extra]]
    found: set[tuple[str, frozenset[str]]] = set()
    while todo:
        one = todo.pop()
        name, wanted = canonicalize_name(one.name), frozenset(one.extras)
        if (name, wanted) in found:
            continue
        found.add((name, wanted))
        if name == "outrider":
            todo += [Requirement(line) for extra in wanted for line in project["optional-dependencies"][extra]]
            continue
        below = [Requirement(line) for line in distribution(name).requires or []]
        todo += [each for each in below if each.marker is None or any(map(each.marker.evaluate, asked_about(wanted)))]
    return {name for name, _ in found} - {"outrider"}


def asked_about(extras: frozenset[str]) -> list[dict[str, str]]:
    """What a marker may be asked about: each of the extras, with this Python and with the oldest."""
    oldest = {"python_version": "3.11", "python_full_version": OLDEST}
    return [{"extra": extra, **python} for extra in extras | {""} for python in (oldest, {})]


# Kubernetes


def test_every_manifest_is_applied_but_the_example_of_a_secret() -> None:
    kustomization = yaml.safe_load((ROOT / "deploy" / "kubernetes" / "kustomization.yaml").read_text())

    names = {path.name for path in MANIFESTS}
    assert {*kustomization["resources"], "kustomization.yaml", "secret.example.yaml"} == names


def test_all_three_are_deployed_and_can_be_scraped() -> None:
    assert {container["name"] for container in containers()} == set(OURS)
    labels = [document["spec"]["template"]["metadata"]["labels"] for document in of_kind("Deployment")]
    assert [document["spec"]["selector"]["matchLabels"] for document in of_kind("Deployment")] == labels
    for document in of_kind("Service"):
        assert document["spec"]["selector"] in labels
    assert [document["spec"]["selector"]["matchLabels"] in labels for document in of_kind("PodDisruptionBudget")] == [
        True
    ]


@pytest.mark.parametrize("pod", pods(), ids=lambda pod: pod["containers"][0]["name"])
def test_a_pod_has_no_rights_that_it_does_not_need(pod: dict[str, Any]) -> None:
    container = pod["containers"][0]
    inside = container["securityContext"]

    assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, UID)
    assert pod["automountServiceAccountToken"] is False
    assert (inside["readOnlyRootFilesystem"], inside["allowPrivilegeEscalation"]) == (True, False)
    assert inside["capabilities"] == {"drop": ["ALL"]}
    assert {"requests", "limits"} == set(container["resources"])


def test_what_a_pod_refers_to_is_there() -> None:
    named = {document["metadata"]["name"] for kind in ("ConfigMap", "Secret") for document in of_kind(kind)}

    for pod in pods():
        container = pod["containers"][0]
        assert {next(iter(source.values()))["name"] for source in container["envFrom"]} <= named
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
        assert {volume["configMap"]["name"] for volume in volumes.values() if "configMap" in volume} <= named


def test_workers_reach_the_web_and_nothing_private() -> None:
    """A second guard: the ports are those of the settings, and what is carved out is not public."""
    web = next(document for document in of_kind("NetworkPolicy") if document["metadata"]["name"].endswith("web"))
    rule = web["spec"]["egress"][0]

    assert {port["port"] for port in rule["ports"]} == Settings.model_fields["allow_ports"].default
    for block in (peer["ipBlock"] for peer in rule["to"]):
        for text in block["except"]:
            assert ip_network(text).version == ip_network(block["cidr"]).version
            assert not ip_network(text).is_global or text == "64:ff9b::/96"
