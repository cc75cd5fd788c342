"""What one site says is never taken for another's: connections, caches, credentials and the environment.

What must not be sent (cookies, referrers, passwords) is looked for in the bytes that arrived. One variable of the
environment is obeyed by libcurl and left alone: SSLKEYLOGFILE. Who can set it can read our memory, too.
"""

import ssl
from asyncio import start_server
from collections.abc import Mapping
from pathlib import Path

import pytest
import trustme
from tests.integration.fetch.test_transport_http2 import Streams, hello
from tests.security.attackers import HOLE, INSIDE, OUTSIDE, Hostile, Inside, a_client, page

from outrider.fetch.transport import CurlTransport, Limits, Pin
from outrider.model.outcome import Failed, Fetched, Validators
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.ports import Request

HOSTS: Mapping[str, list[str]] = {"*": [OUTSIDE]}
PROXY_VARIABLES = ("http_proxy", "https_proxy", "HTTPS_PROXY", "HTTP_PROXY", "all_proxy", "ALL_PROXY")


class Authority:
    """Trusted by whoever is given `ca_file`."""

    def __init__(self, folder: Path) -> None:
        self._ca = trustme.CA()
        self.ca_file = str(folder / "ca.pem")
        self._ca.cert_pem.write_to_path(self.ca_file)

    def context(self, *names: str, alpn: str = "http/1.1") -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*names).configure_cert(context)
        context.set_alpn_protocols([alpn])
        return context


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


async def test_two_names_at_one_address_share_no_connection() -> None:
    """A host may not leave an answer in the pipe for the next one to read."""
    async with Hostile({"/": page()}) as site, a_client(HOSTS, allow_private=HOLE) as client:
        for host in ("a.example", "b.example", "a.example", "b.example"):
            await client.fetch(site.url(host=host))

    hosts_of: dict[int, set[bytes]] = {}
    for connection, head in site.heads:
        hosts_of.setdefault(connection, set()).add(head.partition(b"Host: ")[2].partition(b"\r\n")[0])
    assert site.connections == 2
    assert all(len(hosts) == 1 for hosts in hosts_of.values())


@pytest.mark.parametrize("smuggled", [page(b"<p>smuggled"), b"HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n"])
async def test_bytes_after_an_answer_are_not_the_next_answer(smuggled: bytes) -> None:
    """The extra bytes are in the pipe when the first answer ends: the connection is not used again."""
    async with (
        Hostile({"/first": page() + smuggled, "/second": page(b"<p>honest")}) as site,
        a_client(HOSTS, allow_private=HOLE) as client,
    ):
        await client.fetch(site.url("/first"))
        second = await client.fetch(site.url("/second"))

    assert second.content == b"<p>honest"
    assert second.url.path == "/second"


async def test_bytes_after_the_answer_to_head_are_not_the_next_answer() -> None:
    robots = b"HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\nUser-agent: *\nDisallow: /x\n"
    async with (
        Hostile({"/robots.txt": robots, "/x": page(b"<p>a body that HEAD has not"), "/y": page()}) as site,
        a_client(HOSTS, allow_private=HOLE, robots_blocked="status") as client,
    ):
        await client.fetch(site.url("/x"))
        second = await client.fetch(site.url("/y"))

    assert site.asked("/x")[0].startswith(b"HEAD ")
    assert second.content == b"<p>hello"


@pytest.mark.parametrize("service", ['h2="{}:{}"', 'http/1.1="{}:{}"; ma=86400; persist=1', 'h3="{}:{}"', 'h2=":{1}"'])
async def test_alt_svc_moves_us_nowhere(authority: Authority, service: str) -> None:
    async with Inside() as inside:
        headers = b"Alt-Svc: %s\r\nAlt-Used: %s\r\n" % (service.format(INSIDE, inside.port).encode(), INSIDE.encode())
        for scheme in ("http", "https"):
            tls = authority.context("evil.test") if scheme == "https" else None
            async with (
                Hostile({"/": page(b"<p>hello", headers)}, tls=tls) as site,
                a_client(HOSTS, authority.ca_file, allow_private=HOLE) as client,
            ):
                fetched = [await client.fetch(site.url(scheme=scheme)) for _ in range(3)]

                assert [each.visit.hops[-1].address for each in fetched] == [OUTSIDE] * 3

        assert inside.connections == 0


async def test_hsts_changes_no_later_url(authority: Authority) -> None:
    """A header of one page does not rewrite the URLs that others asked for."""
    strict = page(extra=b"Strict-Transport-Security: max-age=31536000; includeSubDomains; preload\r\n")
    async with (
        Hostile({"/": strict}, tls=authority.context("evil.test")) as secure,
        Hostile({"/": page()}) as plain,
        a_client(HOSTS, authority.ca_file, allow_private=HOLE) as client,
    ):
        await client.fetch(secure.url(scheme="https"))
        fetched = await client.fetch(plain.url())

    assert fetched.ok
    assert fetched.url.scheme == "http"


async def test_http2_connections_are_not_coalesced(authority: Authority) -> None:
    """One certificate for both names, one address, one port: still each name has its own connection."""
    streams = Streams(hello)
    tls = authority.context("a.example", "b.example", "*.a.example", alpn="h2")
    opened = 0

    async def count(*pipe: object) -> None:
        nonlocal opened
        opened += 1
        await streams(*pipe)  # type: ignore[arg-type]  # reader and writer, as start_server gives them

    async with await start_server(count, OUTSIDE, 0, ssl=tls) as server:
        port = server.sockets[0].getsockname()[1]
        async with CurlTransport(
            _to_outside, Limits(), user_agent="a/1", check_address=_anything, ca_file=authority.ca_file
        ) as transport:
            answers = [
                await transport.request(Request(Url(f"https://{host}:{port}/")))
                for host in ("a.example", "b.example", "www.a.example", "a.example")
            ]

    assert [each.http_version for each in answers] == ["2"] * 4
    assert [each.reused for each in answers] == [False, False, False, True]
    assert opened == 3


async def _to_outside(_url: Url) -> Pin:
    return Pin((OUTSIDE,))


def _anything(_address: str, _port: int) -> bool:
    return True


async def test_a_name_that_is_not_verified_lends_nothing_to_one_that_is(authority: Authority) -> None:
    stranger = trustme.CA().issue_cert("lax.example", "strict.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    stranger.configure_cert(context)
    async with (
        Hostile({"/": page()}, tls=context) as site,
        a_client(HOSTS, authority.ca_file, allow_private=HOLE, insecure_hosts=["lax.example"]) as client,
    ):
        lax = await client.fetch(site.url(host="lax.example", scheme="https"))
        strict = await client.fetch(site.url(host="strict.example", scheme="https"))

    assert lax.ok
    assert isinstance(strict.outcome, Failed)
    assert strict.outcome.failure.reason is Reason.TLS_UNTRUSTED
    assert [head for _, head in site.heads if b"strict" in head] == []


async def test_a_cookie_is_never_sent_back() -> None:
    cookies = b"Set-Cookie: id=1; Path=/\r\nSet-Cookie: id2=2; Domain=example; Max-Age=999\r\nSet-Cookie2: id3=3\r\n"
    redirect = b"HTTP/1.1 302 Found\r\n" + cookies + b"Location: /there\r\nContent-Length: 0\r\n\r\n"
    async with (
        Hostile({"/": redirect, "/there": page(extra=cookies)}) as site,
        a_client(HOSTS, allow_private=HOLE) as client,
    ):
        for _ in range(2):
            await client.fetch(site.url())

    assert len(site.asked("/there")) == 2
    assert not any(b"cookie" in head.lower() for _, head in site.heads)


async def test_neither_passwords_nor_referrers_are_sent_to_anyone() -> None:
    """The userinfo of a URL is dropped, ours as well as a redirect's, and a challenge is not answered."""
    async with Hostile({}) as other, Hostile({}) as site, a_client(HOSTS, allow_private=HOLE) as client:
        location = f"http://their:secret@other.example:{other.port}/end".encode()
        challenge = b"HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\nWWW-Authenticate: Negotiate\r\n"
        site.routes["/"] = b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n"
        other.routes["/end"] = challenge + b"Content-Length: 0\r\n\r\n"

        fetched = await client.fetch(f"http://my:password@evil.test:{site.port}/#my-fragment")

    sent = b"".join(head for _, head in [*site.heads, *other.heads]).lower()
    assert fetched.status == 401
    assert len(other.asked("/end")) == 1
    for secret in (b"authorization", b"referer", b"password", b"secret", b"fragment", b"origin:"):
        assert secret not in sent
    assert "password" not in str(fetched.visit)


async def test_validators_of_one_site_do_not_reach_another() -> None:
    """An ETag can be a cookie by another name: it goes where it came from, and to no target of a redirect."""
    async with Hostile({"/": page()}) as other, Hostile({}) as site, a_client(HOSTS, allow_private=HOLE) as client:
        location = other.url(host="other.example").encode()
        site.routes["/"] = b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n"

        await client.fetch(site.url(), validators=Validators('"mine"', "Mon, 01 Jan 2024 00:00:00 GMT"))

    assert b'If-None-Match: "mine"' in site.asked("/")[0]
    assert not any(b"If-" in head for _, head in other.heads)


async def test_a_validator_with_control_characters_breaks_no_line() -> None:
    odd = page(extra=b'ETag: "\x1b[2J\x07\x9b\xff"\r\nLast-Modified: \x0b\x0cyesterday\r\n')
    async with Hostile({"/": odd}) as site, a_client(HOSTS, allow_private=HOLE) as client:
        first = await client.fetch(site.url())
        assert isinstance(first.outcome, Fetched)

        again = await client.fetch(site.url(), validators=first.outcome.validators)

    assert again.ok
    names = [{line.partition(b":")[0] for line in head.split(b"\r\n")[1:]} for head in site.asked("/")]
    assert names[1] - names[0] <= {b"If-None-Match", b"If-Modified-Since"}


async def test_the_environment_chooses_no_proxy(monkeypatch: pytest.MonkeyPatch, authority: Authority) -> None:
    async with (
        Inside() as inside,
        Hostile({"/": page()}) as plain,
        Hostile({"/": page()}, tls=authority.context("evil.test")) as secure,
    ):
        for name in PROXY_VARIABLES:
            monkeypatch.setenv(name, f"http://{INSIDE}:{inside.port}")
        async with a_client(HOSTS, authority.ca_file, allow_private=HOLE) as client:
            fetched = [await client.fetch(plain.url()), await client.fetch(secure.url(scheme="https"))]

        assert [each.ok for each in fetched] == [True, True]
        assert inside.connections == 0


async def test_no_variable_leads_around_the_proxy_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "*")
    async with Hostile({"/": page()}) as site, Hostile({}) as proxy:
        proxy.routes[site.url()] = page(b"<p>by the proxy")
        keys = {"allow_private": HOLE, "proxy": f"http://{OUTSIDE}:{proxy.port}", "respect_robots": False}
        async with a_client(HOSTS, **keys) as client:
            fetched = await client.fetch(site.url())

    assert fetched.content == b"<p>by the proxy"
    assert site.connections == 0


async def test_behind_a_proxy_the_inside_is_still_refused() -> None:
    async with Hostile({}) as proxy:
        keys = {"allow_private": HOLE, "proxy": f"http://{OUTSIDE}:{proxy.port}", "respect_robots": False}
        async with a_client({"inside.test": [INSIDE]}, **keys) as client:
            fetched = [await client.fetch(url) for url in (f"http://{INSIDE}/", "http://inside.test/", "http://[::1]/")]

    assert [each.page.metadata.reason for each in fetched if each.page] == [Reason.BLOCKED_ADDRESS] * 3
    assert proxy.connections == 0


async def test_netrc_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (".netrc", "_netrc"):
        (tmp_path / name).write_text("machine evil.test login me password hunter2\ndefault login me password hunter2\n")
        (tmp_path / name).chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    async with Hostile({"/": page()}) as site, a_client(HOSTS, allow_private=HOLE) as client:
        await client.fetch(f"http://me@evil.test:{site.port}/")

    assert len(site.heads) == 2
    assert not any(b"authorization" in head.lower() for _, head in site.heads)


async def test_whom_we_trust_is_told_by_ca_file_and_not_by_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, authority: Authority
) -> None:
    """Another authority in the environment, as an intruder would put there, is not believed beside our own."""
    intruder = trustme.CA()
    bundle = tmp_path / "intruder.pem"
    intruder.cert_pem.write_to_path(str(bundle))
    for name in ("CURL_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "CURL_SSL_BACKEND"):
        monkeypatch.setenv(name, str(bundle))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    intruder.issue_cert("evil.test").configure_cert(context)
    async with (
        Hostile({"/": page()}, tls=context) as site,
        a_client(HOSTS, authority.ca_file, allow_private=HOLE, respect_robots=False) as client,
    ):
        fetched = await client.fetch(site.url(scheme="https"))

    assert isinstance(fetched.outcome, Failed)
    assert fetched.outcome.failure.reason is Reason.TLS_UNTRUSTED


async def test_without_a_ca_file_ssl_cert_file_says_whom_we_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On purpose: it is how people add the authority of their company. `CURL_CA_BUNDLE` alone changes nothing."""
    company = trustme.CA()
    bundle = tmp_path / "company.pem"
    company.cert_pem.write_to_path(str(bundle))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    company.issue_cert("evil.test").configure_cert(context)
    trusted = []
    async with Hostile({"/": page()}, tls=context) as site:
        for name in ("CURL_CA_BUNDLE", "SSL_CERT_FILE"):
            with monkeypatch.context() as patched:
                patched.delenv("SSL_CERT_FILE", raising=False)
                patched.setenv(name, str(bundle))
                async with a_client(HOSTS, allow_private=HOLE, respect_robots=False) as client:
                    trusted.append((await client.fetch(site.url(scheme="https"))).ok)

    assert trusted == [False, True]
