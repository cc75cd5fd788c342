"""`outrider serve` as a person starts it: one line, an answer, an end; and one sentence for whatever cannot be."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.integration.web.dashboards import Asked, Command
from tests.services.redis import RedisServer

from outrider.app.directory import toml_of
from outrider.app.rules import frontier_rules
from outrider.cli import main
from outrider.cli.exit_codes import ExitCode
from outrider.cli.serve import token_of
from outrider.model.ledger import Settled
from outrider.model.reason import Reason
from outrider.model.settlement import Dead
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.settings import load, settings_of
from outrider.stores.registry import open_frontier

TOKEN: Final = "a-token-of-the-tests"


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [*os.environ]:
        if name.startswith("OUTRIDER_"):
            monkeypatch.delenv(name)


@pytest.fixture
async def store(tmp_path: Path) -> str:
    """A frontier that no crawl's directory belongs to."""
    url = f"sqlite://{tmp_path}/frontier.db"
    async with open_frontier(url, FrontierRules()) as frontier:
        await frontier.add([Task(Url("http://a.test/")), Task(Url("http://b.test/"))])
    return url


def test_it_says_where_it_is_answers_and_ends_when_told_to(store: str) -> None:
    """Two at once: an address that nobody chose gives way to a free one."""
    with Command("--frontier", store) as first, Command("--frontier", store) as second:
        told, again = first.look("overview"), second.look("overview")
        ends = [first.stop(signal.SIGINT), second.stop(signal.SIGTERM)]

    assert first.address != second.address
    assert (told["states"]["pending"], told["isWatched"], told["running"]) == (2, False, None)
    assert again["states"] == told["states"]
    assert ends == [(0, ""), (0, "")]


async def test_a_service_on_redis_is_shown_and_steered(tmp_path: Path) -> None:
    server = RedisServer(tmp_path / "redis").start()
    try:
        async with open_frontier(server.url, frontier_rules(settings_of())) as frontier:
            await frontier.add([Task(Url(f"http://a.test/{number}")) for number in range(20)])
            lease = (await frontier.lease(sites=1, tasks=1, seconds=30)).leases[0]
            dead = (lease.tasks[0], Dead(Reason.HTTP_404, visits=1, status=404))
            await frontier.settle([Settled(lease, lease.site, (dead,))])

        with Command("--frontier", server.url, "--listen", "127.0.0.1:0") as serving:
            letters = serving.look("letters")
            url = letters["rows"][0]["url"]
            replayed = [serving.act("letters/replay", urls=[url]).json["done"] for _ in range(2)]
            found = serving.look("urls", text="a.test/1", state="pending")
            excluded = serving.act("site/order", site="a.test", excluded=True)
            told = serving.look("overview")
    finally:
        server.stop()

    assert (url, letters["total"], replayed) == (str(lease.tasks[0].url), 1, [1, 0])
    assert len(found["rows"]) == 11
    assert (excluded.status, told["states"]["pending"], told["states"]["skipped"]) == (200, 0, 20)


def test_a_token_that_is_made_is_printed_once(store: str) -> None:
    with Command("--frontier", store, "--listen", "127.0.0.1:0", "--token", "new") as serving:
        assert serving.process.stdout is not None
        token = serving.process.stdout.readline().rpartition(" ")[2].strip()
        without = serving.ask("/api/v1/overview")
        with_it = serving.ask("/api/v1/overview", headers={"Authorization": f"Bearer {token}"})

    assert (without.status, with_it.status) == (401, 200)
    assert len(token) >= 32


def test_a_token_of_the_environment_is_nobody_s_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTRIDER_SERVE_TOKEN", TOKEN)

    token, tells = token_of(None)
    loaded = load()

    assert (token, tells) == (TOKEN, False)
    assert TOKEN not in toml_of(loaded.settings)
    assert TOKEN not in repr(loaded)


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def test_an_address_that_is_taken_is_one_sentence(store: str, taken: str, capfd: pytest.CaptureFixture[str]) -> None:
    code = main(["serve", "--frontier", store, "--listen", taken])

    assert code == ExitCode.USAGE
    assert f"serve_address = '{taken}': another program listens there" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--listen", "nowhere"], "serve_address = 'nowhere' (flag): expected an address and a port"),
        (["--listen", "none"], "expected an address to listen at"),
        (["--listen", "0.0.0.0:0"], "0.0.0.0 can be reached by others, who must then say a token"),
        (["--listen", "127.0.0.1:0", "--token", "short"], "the token: expected at least 16"),
        (["--token", ""], "--token: expected a text"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(
    store: str, arguments: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code = main(["serve", "--frontier", store, *arguments])

    said = capfd.readouterr().err
    assert code == ExitCode.USAGE
    assert sentence in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "there is no crawl here"),
        (["nothing"], "nothing: there is no such directory"),
        (["."], "holds no crawl.db"),
        (["--frontier", "sqlite:///nothing/at/all.db"], "nothing/at/all.db"),
    ],
)
def test_where_no_crawl_is_there_is_nothing_to_serve(
    arguments: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code = main(["serve", *arguments, "--listen", "127.0.0.1:0"])

    assert code == ExitCode.USAGE
    assert sentence in capfd.readouterr().err


def test_without_its_packages_it_names_the_extra(tmp_path: Path) -> None:
    """A module that is None stands for one that is not installed."""
    program = "import sys; sys.modules['fastapi'] = None; from outrider.cli import main; sys.exit(main(['serve']))"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
    )

    assert done.returncode == ExitCode.ENVIRONMENT
    assert "pip install 'outrider[dashboard]'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_crawl_is_shown_while_it_runs_and_its_dashboard_ends_with_it(tmp_path: Path) -> None:
    """Also when the crawl is told to stop: the dashboard shows how it drains, and is gone afterwards."""
    program = Path(__file__).parent / "crawl_beside.py"

    with subprocess.Popen(
        [sys.executable, str(program), str(tmp_path / "crawl")], stderr=subprocess.PIPE, text=True
    ) as crawl:
        assert crawl.stderr is not None
        line = next(line for line in crawl.stderr if "the dashboard is at" in line)
        shown = Asked()
        shown.address = line.rpartition("http://")[2].strip().rstrip("/")
        told = shown.look("overview")
        crawl.send_signal(signal.SIGTERM)
        rest = crawl.stderr.read()
        code = crawl.wait(60)

    assert (told["running"], told["isWatched"], told["canAct"]) == (True, True, True)
    assert code == ExitCode.TERMINATED, rest
    assert "Traceback" not in rest
    with pytest.raises(ConnectionRefusedError):
        shown.ask("/api/v1/overview")
