"""A web that is being served, on the cores of whoever crawls it.

`crawl_server.py` does it alone as long as connections are kept. Where every page has a handshake of its own, Python
would be the limit: nginx speaks TLS there, as it does for many sites, and asks `crawl_server.py` behind it.
"""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Final

import trustme
from crawl_server import ADDRESS, SIZE, address_of, host_of
from msgspec import Struct
from processes import children_of, cpu_of

PATIENCE: Final = 60.0
_NGINX: Final = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    client_body_temp_path {folder}/spare;
    proxy_temp_path {folder}/spare;
    fastcgi_temp_path {folder}/spare;
    scgi_temp_path {folder}/spare;
    uwsgi_temp_path {folder}/spare;
    proxy_max_temp_file_size 0;
    proxy_buffers 16 16k;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $http_host;
    keepalive_timeout 0;
    ssl_session_cache off;
    ssl_session_tickets off;
    server_names_hash_max_size 4096;
    upstream pages {{ server {address}:{behind}; keepalive 64; }}
{servers}
}}
"""
_SERVER: Final = """\
    server {{
        listen {address}:{port} ssl{described};
        server_name {host};
        ssl_certificate {folder}/{host}.pem;
        ssl_certificate_key {folder}/{host}.pem;
        location / {{ proxy_pass http://pages; }}
    }}"""


class Served(Struct, frozen=True):
    port: int
    processes: tuple[int, ...]

    def cpu(self) -> float:
        return sum(map(cpu_of, self.processes))


def nginx() -> str | None:
    """Debian puts it where only root looks."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def serving(
    sites: int,
    pages: int,
    folder: Path,
    *,
    tls: bool = False,
    closes: bool = False,
    addresses: bool = False,
    size: int = SIZE,
) -> Iterator[Served]:
    """`sites` of `pages` each. With `tls`, what vouches for them is `ca.pem` in the folder; `closes`: a connection is
    for one request; `addresses`: a site is one of loopback in place of a name, for those who would have to resolve it.
    """
    options = ["--size", str(size), *(["--addresses"] if addresses else [])]
    front = nginx() if tls and closes else None
    if front is not None:
        hosts = [(address_of if addresses else host_of)(site) for site in range(sites)]
        port = _free_port()
        with (
            _started([str(sites), str(pages), *options, "--behind", str(port)]) as (server, behind),
            _nginx(front, folder, hosts, port, behind) as speakers,
        ):
            yield Served(port, (server, *speakers))
        return
    options += ["--close"] if closes else []
    options += ["--tls", str(folder)] if tls else []
    with _started([str(sites), str(pages), *options]) as (server, port):
        yield Served(port, (server,))


@contextmanager
def _started(arguments: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Its process and its port."""
    command = [sys.executable, str(Path(__file__).with_name("crawl_server.py")), *arguments]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        yield server.pid, int(server.stdout.readline() if server.stdout else "")
    finally:
        server.terminate()
        server.wait(PATIENCE)


@contextmanager
def _nginx(program: str, folder: Path, hosts: Sequence[str], port: int, behind: int) -> Iterator[tuple[int, ...]]:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    for host in hosts:
        authority.issue_cert(host).private_key_and_cert_chain_pem.write_to_path(folder / f"{host}.pem")
    servers, heard = [], set[str]()
    for host in hosts:
        address = host if host[0].isdigit() else ADDRESS
        described = "" if address in heard else " backlog=4096"  # a socket is described once
        heard.add(address)
        servers.append(_SERVER.format(address=address, port=port, described=described, host=host, folder=folder))
    settings = folder / "nginx.conf"
    settings.write_text(_NGINX.format(folder=folder, address=ADDRESS, behind=behind, servers="\n".join(servers)))
    log = folder / "nginx.log"
    server = subprocess.Popen([program, "-c", str(settings), "-e", str(log)], stdin=subprocess.DEVNULL)  # noqa: S603
    try:
        until = monotonic() + PATIENCE
        while not (workers := children_of(server.pid)):
            if server.poll() is not None or monotonic() > until:
                raise SystemExit(f"nginx does not start:\n{log.read_text()}")
            sleep(0.02)
        yield (server.pid, *workers)
    finally:
        server.terminate()
        server.wait(PATIENCE)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((ADDRESS, 0))
        return int(one.getsockname()[1])
