"""`outrider worker` that cannot begin: one sentence that names the thing and the way out, and a typed exit code."""

import socket
from collections.abc import Iterator

import pytest
from tests.integration.cli.conftest import Done, Run
from tests.services.ports import free_port
from tests.services.redis import RedisServer

from outrider.app.rules import frontier_rules
from outrider.cli.exit_codes import ExitCode
from outrider.settings import settings_of
from outrider.stores.registry import open_frontier

CONTACT = ("--contact", "crew@example.org")
SECRET = "open-sesame"


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"), "--requirepass", SECRET).start()
    yield server
    server.stop()


def refused(done: Done, code: ExitCode, *words: str) -> None:
    """One sentence, all that is needed and nothing that is secret."""
    *notes, sentence = done.err.splitlines()
    assert done.code == code, done.err
    assert done.out == ""
    assert sentence.startswith("outrider: ")
    assert [word for word in words if word not in sentence] == [], sentence
    assert all(note.startswith("outrider: metrics, health and readiness") for note in notes), done.err
    assert SECRET not in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--profile", "servce"), ("profile", "servce", "service")),
        (("--set", "max_pages=5"), ("max_pages = 5", "outrider crawl")),
        (("--frontier", "redis://localhost/0?pol=3"), ("redis://localhost/0?pol=3", "no such option: pol", "pool")),
        (("--events", "kafka://localhost/log?acks=1"), ("no such option: acks", "compression")),
        (("--frontier", "mongodb://localhost"), ("mongodb", "redis")),
        (("--log-format", "xml"), ("xml", "text or json")),
        (("--metrics", "nowhere"), ("metrics_address", "nowhere")),
    ],
)
async def test_what_cannot_be_meant_is_said(
    arguments: tuple[str, ...], words: tuple[str, ...], outrider: Run, redis: RedisServer
) -> None:
    place = f"redis://:{SECRET}@127.0.0.1:{redis.port}/0"

    done = await outrider("worker", *CONTACT, "--redis", place, *arguments)

    refused(done, ExitCode.USAGE, *words)


async def test_a_service_without_a_contact_does_not_begin(outrider: Run) -> None:
    """Sites must be able to reach whoever runs it."""
    done = await outrider("worker", "--metrics", "none")

    refused(done, ExitCode.USAGE, "contact", "--contact")


async def test_a_redis_that_is_not_there_is_named(outrider: Run) -> None:
    port = free_port()

    done = await outrider("worker", *CONTACT, "--redis", f"redis://:{SECRET}@127.0.0.1:{port}/0")

    refused(done, ExitCode.STORE, f"redis://:***@127.0.0.1:{port}/0", "cannot be reached")


async def test_a_wrong_password_is_not_shown(outrider: Run, redis: RedisServer) -> None:
    done = await outrider("worker", *CONTACT, "--redis", f"redis://:{SECRET}-not@127.0.0.1:{redis.port}/0")

    refused(done, ExitCode.STORE, f"redis://:***@127.0.0.1:{redis.port}/0", "refuses this user or password")


async def test_a_kafka_that_is_not_there_is_named(outrider: Run, redis: RedisServer) -> None:
    port = free_port()
    place = f"redis://:{SECRET}@127.0.0.1:{redis.port}/0"
    events = f"kafka://reader:{SECRET}@127.0.0.1:{port}/webpage_log?timeout=3"

    done = await outrider("worker", *CONTACT, "--redis", place, "--events", events)

    refused(done, ExitCode.STORE, f"kafka://reader:***@127.0.0.1:{port}/webpage_log", "cannot be reached")


async def test_an_address_that_is_taken_is_said_with_its_key(outrider: Run) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"

        done = await outrider("worker", *CONTACT, "--metrics", address)

    refused(done, ExitCode.USAGE, "metrics_address", address)


async def test_a_frontier_that_was_made_under_other_rules_is_left_alone(outrider: Run, redis: RedisServer) -> None:
    """Two machines that disagree about what a site is would both be impolite. No waiting will change that."""
    place = f"redis://:{SECRET}@127.0.0.1:{redis.port}/0"
    frontier = f"{place}?prefix=others"
    async with open_frontier(frontier, frontier_rules(settings_of(site_by="host"))):
        pass

    done = await outrider("worker", *CONTACT, "--redis", place, "--frontier", frontier, "--wait")

    refused(done, ExitCode.STORE, "site_by", "host", "domain")


async def test_the_help_fits_a_terminal_of_80_columns(outrider: Run) -> None:
    done = await outrider("worker", "--help")

    assert done.code == ExitCode.OK
    assert max(map(len, done.out.splitlines())) <= 80
    for option in ("--frontier", "--queue", "--content", "--events", "--records", "--wait", "--metrics", "--profile"):
        assert option in done.out
