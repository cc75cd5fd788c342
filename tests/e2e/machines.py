"""Several machines on one: the same Redis, each with a folder, a clock and a network of its own.

Events go to a file on each machine, so that nothing but Redis is shared; what they did is judged from outside.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import json
from redis import Redis
from tests.e2e.services import QUEUE, Command, launched

from outrider.app.directory import toml_of
from outrider.settings import settings_of

_USUAL: Final[Mapping[str, object]] = {
    "profile": "service",
    "contact": "crew@example.org",
    "workers": 1,
    "metrics_address": "127.0.0.1:0",
    "lease": 2,
    "poll_timeout": 0.5,
    "drain_limit": 10,
}


class Fleet:
    """`shared` are the settings of all of them: where Redis is, and where the web is."""

    def __init__(self, folder: Path, **shared: object) -> None:
        self._folder = folder
        self._shared = shared
        self._commands: list[Command] = []

    async def start(
        self,
        name: str,
        *,
        environment: Mapping[str, str] | None = None,
        within: Sequence[str] = (),
    ) -> Command:
        home = self._folder / name
        home.mkdir()
        given = {**_USUAL, "user_agent": f"{name}/1.0", "events": f"file://{home}/events", **self._shared}
        config = self.config(name)
        config.write_text(toml_of(settings_of(**given)))
        arguments = ["worker", "--config", str(config)]
        started = await launched(arguments, home / "log", environment=environment, within=within)
        self._commands.append(started)
        return started

    def config(self, name: str) -> Path:
        return self._folder / name / "settings.toml"

    async def close(self) -> None:
        for command in self._commands:
            if command.process.returncode is None:
                command.kill()
                await command.process.wait()

    def told(self, name: str = "*") -> list[dict[str, Any]]:
        """Events of fetched pages so far, of one machine or of all."""
        files = sorted(self._folder.glob(f"{name}/events/*.jsonl"))
        # The last line may be half written.
        lines = [line for file in files for line in file.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
        return [event for line in lines if (event := json.decode(line))["type"] == "webpage_fetched"]

    def fetched(self, name: str = "*") -> Counter[str]:
        return Counter(event["url"] for event in self.told(name))


def push(client: "Redis", urls: Sequence[str]) -> None:
    client.rpush(QUEUE, *urls)
