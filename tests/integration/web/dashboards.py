"""A dashboard that really listens, on loopback, in a thread or as the command; and somebody who asks it things."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import quote, urlencode

from outrider.app.directory import CrawlDirectory
from outrider.app.serve import Door, open_door, serve_view, view_of
from outrider.settings import load

ACTING = {"X-Outrider": "1", "Content-Type": "application/json"}


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever it says
        return json.loads(self.body)


class Asked:
    """Something that listens at `address`."""

    address: str

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: object = None,
        raw: bytes | None = None,
    ) -> Answer:
        """One request, one connection."""
        host, port = self.address.rpartition(":")[::2]
        connection = HTTPConnection(host, int(port), timeout=60)
        try:
            data = raw if raw is not None else None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, dict(headers or {}))
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def look(self, path: str, **query: object) -> Any:  # noqa: ANN401 - the same
        answer = self.ask(f"/api/v1/{path}?{urlencode(query, quote_via=quote)}")
        assert answer.status == 200, answer
        return answer.json

    def act(self, path: str, **body: object) -> Answer:
        return self.ask(f"/api/v1/{path}", method="POST", headers=ACTING, body=body)


class Command(Asked):
    """`outrider serve`, as a process of its own, until the end of the block."""

    def __init__(self, *arguments: str) -> None:
        self._arguments = arguments

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "outrider", "serve", *self._arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        assert " is at http://" in self.line, self.process.communicate(timeout=60)
        self.address = self.line.rpartition("http://")[2].strip().rstrip("/")
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop(signal.SIGTERM)

    def stop(self, number: signal.Signals) -> tuple[int, str]:
        """Its exit code, and what it said on the error output."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


class Dashboard(Asked):
    """Of the crawl in `folder`, in a thread of this process, until the end of the block."""

    def __init__(self, folder: Path, token: str | None = None, **flags: object) -> None:
        self._loaded = load({"serve_address": "127.0.0.1:0", **flags}, file=folder / "outrider.toml", environment={})
        self._view = view_of(self._loaded, CrawlDirectory(folder))
        self._door: Door = open_door(self._loaded, token)
        self._loop = asyncio.new_event_loop()
        self._until = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self.address = self._door.address
        self._thread.start()
        assert self._ready.wait(60)
        if self._error is not None:
            raise self._error
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._until.set)
        self._thread.join(30)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(
                serve_view(self._loaded, self._view, self._door, self._until, self._ready.set)
            )
        except BaseException as error:  # noqa: BLE001 - whoever waits for the dashboard is told
            self._error = error
        finally:
            self._ready.set()
            self._loop.close()
