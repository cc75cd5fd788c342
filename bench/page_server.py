"""One page of 30 KB on loopback, from a process of its own: nginx where it is installed, else the farm of the tests.

Four ports: plain and TLS, each once with connections that are kept and once with connections that end with the answer.
TLS sessions are never resumed, because a crawler meets most sites for the first time.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from time import monotonic, sleep
from typing import Final

import msgspec
import trustme

from outrider.testing.webfarm import Behaviour, Certificates, WebFarm, page, text

HOSTS: Final = tuple(f"h{number}.test" for number in range(256))
ADDRESSES: Final = tuple(f"127.0.0.{number}" for number in range(1, 17))
"""Several, so that a client cannot win by pinning every host to the same one."""

_LINE: Final = b"<p>A paragraph of a page like many, with <a href='/p?n=7'>a link</a> and some words, of no interest.\n"
_TOP: Final = b"<!doctype html>\n<html><head><meta charset=utf-8><title>A page</title></head><body>\n"
PAGE: Final = (_TOP + _LINE * (30_000 // len(_LINE) + 1))[:30_000]
ROBOTS: Final = b"User-agent: *\nDisallow: /private/\nDisallow: /search\nAllow: /search/about\n"


class Case(msgspec.Struct, frozen=True):
    tls: bool
    kept: bool

    @property
    def name(self) -> str:
        return f"{'kept' if self.kept else 'new'} {'TLS' if self.tls else 'plain'}"


CASES: Final = tuple(Case(tls, kept) for kept, tls in product((False, True), (False, True)))


class Server(msgspec.Struct, frozen=True):
    name: str
    ca_file: str
    ports: dict[str, int]

    def urls(self, case: Case, count: int) -> list[list[str]]:
        """As many for each host, no two alike."""
        start = f"{'https' if case.tls else 'http'}://"
        port = self.ports[case.name]
        return [[f"{start}{host}:{port}/p?n={number}" for number in range(count)] for host in HOSTS]


def address_of(host: str) -> str:
    return ADDRESSES[HOSTS.index(host) % len(ADDRESSES)]


@contextmanager
def open_server(core: int | None, *, farm: bool = False) -> Iterator[Server]:
    """On `core` alone, when one is named; `farm`: not nginx, even if it is there."""
    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as name:
        folder = Path(name)
        ca_file = folder / "ca.pem"
        nginx = None if farm else shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        if nginx is not None:
            server = Server("nginx", str(ca_file), _free_ports())
            command = [nginx, "-p", name, "-e", "stderr", "-c", _nginx_config(folder, server)]
        else:
            server = Server("WebFarm", str(ca_file), _free_ports())
            command = [sys.executable, __file__, name, *map(str, server.ports.values())]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 - our own server
        try:
            if core is not None:
                os.sched_setaffinity(process.pid, {core})
            _wait_for(server)
            yield server
        finally:
            process.terminate()
            process.wait(10)


def _free_ports() -> dict[str, int]:
    held = [socket.create_server((ADDRESSES[0], 0)) for _ in CASES]
    ports = {case.name: listener.getsockname()[1] for case, listener in zip(CASES, held, strict=True)}
    for listener in held:
        listener.close()
    return ports


def _wait_for(server: Server) -> None:
    until = monotonic() + 30
    for port in server.ports.values():
        while True:
            try:
                socket.create_connection((ADDRESSES[-1], port), timeout=1).close()
                break
            except OSError:
                if monotonic() > until:
                    raise
                sleep(0.05)


def _nginx_config(folder: Path, server: Server) -> str:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(server.ca_file)
    authority.issue_cert("*.test", *HOSTS).private_key_and_cert_chain_pem.write_to_path(str(folder / "server.pem"))
    (folder / "p").write_bytes(PAGE)
    (folder / "robots.txt").write_bytes(ROBOTS)
    config = folder / "nginx.conf"
    config.write_text(
        "daemon off; master_process off; pid nginx.pid; worker_rlimit_nofile 8192;\n"
        "events { worker_connections 4096; }\n"
        "http {\n"
        "  access_log off; default_type text/html; sendfile on; tcp_nopush on; keepalive_requests 1000000000;\n"
        f"  root {folder}; open_file_cache max=16; types {{ text/plain txt; }}\n"
        f"  ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.pem;\n"
        "  ssl_session_cache off; ssl_session_tickets off;\n"
        + "".join(f"  {temp}_temp_path {folder};\n" for temp in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        + "".join(_nginx_server(case, server.ports[case.name]) for case in CASES)
        + "}\n"
    )
    return str(config)


def _nginx_server(case: Case, port: int) -> str:
    tls = " ssl" if case.tls else ""
    listen = "".join(f"listen {address}:{port} backlog=4096{tls}; " for address in ADDRESSES)
    return f"  server {{ {listen} keepalive_timeout {600 if case.kept else 0}; }}\n"


# The farm, when this file is run as a program.


class _Pages:
    """Every target of every host: the query is of no matter."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._page = page(PAGE, headers={"ETag": '"1"', **headers})

    def get(self, target: str, /) -> Behaviour | None:
        return text(ROBOTS) if target == "/robots.txt" else self._page


async def _farm(folder: Path, ports: list[int]) -> None:
    plain_new, tls_new, plain_kept, tls_kept = ports
    certificates = Certificates(good=HOSTS)
    ending = dict.fromkeys(HOSTS, _Pages({"Connection": "close"}))
    kept = dict.fromkeys(HOSTS, _Pages({}))
    farm = partial(WebFarm, addresses=ADDRESSES, certificates=certificates, keeps_log=False)
    async with farm(kept, port=plain_kept, tls_port=tls_kept), farm(ending, port=plain_new, tls_port=tls_new):
        (folder / "ca.pem").write_bytes(certificates.authority)
        await asyncio.Event().wait()


if __name__ == "__main__":
    import uvloop

    uvloop.run(_farm(Path(sys.argv[1]), [int(port) for port in sys.argv[2:]]))
