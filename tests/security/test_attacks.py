"""A hostile site tries to send us inside, end to end, over real sockets. The inside counts who comes: nobody may.

How each notation of an address is read is `test_addresses`; here the whole client walks: robots.txt, redirects, DNS.
"""

from collections.abc import AsyncIterator, Sequence

import pytest
from tests.integration.fetch.dns_server import DnsServer, Reply
from tests.security.attackers import HOLE, INSIDE, OUTSIDE, Hostile, Inside, a_client, page
from tests.security.test_addresses import WITH_INVISIBLE_CHARACTERS, texts

from outrider import Fetch
from outrider.errors import AddressRefused, InvalidUrl
from outrider.fetch.guard import Guard
from outrider.fetch.resolver import Memory, Resolver
from outrider.fetch.transport import CurlTransport, Limits, Pin
from outrider.model.outcome import Failed, Fetched, Skipped
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.policy.address import AddressRules
from outrider.ports import Request
from outrider.testing.clock import FakeClock

HOSTS = {
    "evil.test": [OUTSIDE],
    "inside.test": [INSIDE],
    "*.inside.test": [INSIDE],
    "six.test": ["::1"],
    "mapped.test": [f"::ffff:{INSIDE}"],
    "mixed.test": [OUTSIDE, INSIDE],
    "zero.test": ["0.0.0.0"],  # noqa: S104 - an answer, not a binding
}
"""Names as the attacker's DNS gives them."""

REDIRECTS = (300, 301, 302, 303, 304, 305, 306, 307, 308, 310, 399)

# {} is the port on which the inside listens.
LOCATIONS = [
    "http://127.0.0.2:{}/",
    "https://127.0.0.2:{}/",
    "//127.0.0.2:{}/",
    r"\\127.0.0.2:{}\admin",
    r"/\127.0.0.2:{}/",
    "///127.0.0.2:{}/",
    "http:127.0.0.2:{}/",
    "http:/127.0.0.2:{}/",
    "HTTP://127.0.0.2:{}/",
    " \thttp://127.0.0.2:{}/ ",
    "http://2130706434:{}/",
    "http://0x7f000002:{}/",
    "http://017700000002:{}/",
    "http://0177.0.0.2:{}/",
    "http://0x7f.0.0.0x2:{}/",
    "http://127.2:{}/",
    "http://127.0.2:{}/",
    "http://%31%32%37.0.0.2:{}/",
    "http://127。0。0。2:{}/",
    "http://①②⑦.⓪.⓪.②:{}/",
    "http://127.0.0.2.:{}/",
    "http://0:{}/",
    "http://0.0.0.0:{}/",
    "http://[::1]:{}/",
    "http://[0:0:0:0:0:0:0:1]:{}/",
    "http://[::]:{}/",
    "http://[::ffff:127.0.0.2]:{}/",
    "http://[::ffff:7f00:2]:{}/",
    "http://[::127.0.0.2]:{}/",
    "http://[64:ff9b::7f00:2]:{}/",
    "http://[2002:7f00:2::]:{}/",
    "http://localhost.:{}/",
    "http://any.localhost:{}/",
    "http://inside.test:{}/",
    "http://deep.inside.test:{}/",
    "https://inside.test:{}/",
    "http://six.test:{}/",
    "http://mapped.test:{}/",
    "http://mixed.test:{}/",
    "http://zero.test:{}/",
    "http://evil.test@127.0.0.2:{}/",
    "http://evil.test:80@127.0.0.2:{}/",
    "http://evil.test%2f@127.0.0.2:{}/",
    "http://evil.test\\@127.0.0.2:{}/",
    "http://127.0.0.2:{}#@evil.test/",
    "http://127.0.0.2:{}?@evil.test/",
    "http://127.0.0.2:{}\\@evil.test/",
    "http://user:password@inside.test:{}/",
    "http://127.0.0.2:{}/%0d%0aHost:%20evil.test",
    "http://127.0.0.2:{}/\tX",
]
OTHER_SCHEMES = [
    "file:///etc/passwd",
    "file://127.0.0.2/etc/passwd",
    "ftp://127.0.0.2:{}/",
    "gopher://127.0.0.2:{}/_GET%20/",
    "dict://127.0.0.2:{}/d",
    "ldap://127.0.0.2:{}/",
    "tftp://127.0.0.2:{}/",
    "smb://127.0.0.2:{}/",
    "ws://127.0.0.2:{}/",
    "jar:http://127.0.0.2:{}!/",
    "view-source:http://127.0.0.2:{}/",
    "javascript:fetch('http://127.0.0.2:{}/')",
    "data:text/html,<p>hello",
    "about:blank",
    "blob:http://127.0.0.2:{}/x",
    "unix:/run/secret.sock",
    "http+unix://%2Frun%2Fsecret.sock/",
]


@pytest.fixture
async def inside() -> AsyncIterator[Inside]:
    async with Inside() as inside:
        yield inside
        assert inside.connections == 0, "somebody got in"


def aimed(text: str, port: int) -> str:
    """The same host on the attacked port, if the text is a URL at all: then only the address can save us."""
    try:
        url = Url(text)
    except InvalidUrl:
        return text
    return f"{url.scheme}://{url.host}:{port}{url.target}"


def moved(code: int, location: str) -> bytes:
    return b"HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (code, location.encode())


async def test_no_text_leads_inside(inside: Inside) -> None:
    # Every name leads inside, too, and the port is an allowed one.
    hosts = {"*": [INSIDE], "six.example": ["::1"]}
    ways = [*texts("ways_inside.txt"), *WITH_INVISIBLE_CHARACTERS, "http://six.example/", "http://public.example/"]

    async with a_client(hosts, allow_ports=[80, 443, inside.port], respect_robots=False) as client:
        for text in {*ways, *(aimed(text, inside.port) for text in ways)}:
            try:
                fetched = await client.fetch(text)
            except InvalidUrl:
                continue
            assert isinstance(fetched.outcome, Skipped), text
            assert fetched.outcome.reason is Reason.BLOCKED_ADDRESS or "extension" in fetched.outcome.reason, text
            assert fetched.visit.hops == (), text


async def test_robots_txt_is_not_asked_of_the_inside_either(inside: Inside) -> None:
    async with a_client({"*": [INSIDE]}, allow_ports=[inside.port]) as client:
        fetched = await client.fetch(f"http://inside.test:{inside.port}/")

    assert fetched.outcome == Skipped(
        Reason.BLOCKED_ADDRESS,
        f"inside.test is not visited: its address {INSIDE} is loopback, RFC 1122 (127.0.0.0/8); "
        f"--allow-private {INSIDE} would allow it",
    )


@pytest.mark.parametrize("allowed", ["defer", "allow", "deny"])
async def test_a_setting_about_robots_txt_opens_no_way_inside(inside: Inside, allowed: str) -> None:
    keys = {"allow_ports": [inside.port], "robots_unreachable": allowed, "robots_blocked": "status"}

    async with a_client({"*": [INSIDE]}, **keys) as client:
        fetched = [await client.fetch(f"http://inside.test:{inside.port}/{n}") for n in range(3)]

    assert not any(each.ok for each in fetched)


async def visited(location: str, inside: Inside, code: int = 302, **keys: object) -> tuple[Fetch, Hostile]:
    """Ask the hostile site for a page that redirects there."""
    async with Hostile({"/": moved(code, location.format(inside.port))}) as site:
        options: dict[str, object] = {"allow_private": HOLE, "allow_ports": [80, 443, inside.port]}
        async with a_client(HOSTS, **(options | keys)) as client:
            return await client.fetch(site.url()), site


@pytest.mark.parametrize("location", LOCATIONS)
async def test_a_redirect_does_not_lead_inside(inside: Inside, location: str) -> None:
    fetched, site = await visited(location, inside)

    assert not fetched.ok
    assert [hop.url.host for hop in fetched.visit.hops] in (["evil.test"], ["evil.test", "evil.test"])
    assert not any(b"authorization" in head.lower() for _, head in site.heads)


@pytest.mark.parametrize("code", REDIRECTS)
async def test_no_redirect_code_leads_inside(inside: Inside, code: int) -> None:
    fetched, _ = await visited("http://inside.test:{}/", inside, code)

    assert not fetched.ok


@pytest.mark.parametrize("location", OTHER_SCHEMES)
async def test_a_redirect_to_another_scheme_is_invalid(inside: Inside, location: str) -> None:
    fetched, _ = await visited(location, inside)

    assert isinstance(fetched.outcome, Failed)
    assert fetched.outcome.failure.reason is Reason.INVALID_REDIRECT
    assert fetched.content == b""


@pytest.mark.parametrize("port", [1, 22, 25, 6379, 9200, 11_211, 65_535])
async def test_a_redirect_to_a_port_that_is_no_web_port_is_refused(port: int) -> None:
    """The address must be refused before a socket exists: nothing may leave this machine."""
    public = {"evil.test": [OUTSIDE], "public.test": ["93.184.215.14"]}
    async with (
        Hostile({"/": moved(302, f"http://public.test:{port}/")}) as site,
        a_client(public, allow_private=HOLE) as client,
    ):
        fetched = await client.fetch(site.url())

    assert isinstance(fetched.outcome, Skipped)
    assert fetched.outcome.reason is Reason.BLOCKED_ADDRESS
    assert f"port {port}" in fetched.outcome.detail


async def test_a_redirect_of_robots_txt_does_not_lead_inside(inside: Inside) -> None:
    async with a_client(HOSTS | {"*": [OUTSIDE]}, allow_private=HOLE, allow_ports=[inside.port]) as client:
        for n, location in enumerate(LOCATIONS):
            robots = moved(301, location.format(inside.port))
            async with Hostile({"/": page(), "/robots.txt": robots}) as site:
                # A site of its own for each: one whose robots.txt cannot be had is left alone for minutes.
                await client.fetch(site.url(host=f"evil{n}.example"))

                assert len(site.asked("/robots.txt")) == 1


async def test_a_refresh_a_link_header_and_a_base_are_not_followed(inside: Inside) -> None:
    there = f"http://{INSIDE}:{inside.port}/".encode()
    body = b'<base href="%s"><meta http-equiv="refresh" content="0;url=%s"><img src="%s">' % (there, there, there)
    headers = b"Refresh: 0; url=%s\r\nLink: <%s>; rel=preload\r\nContent-Location: %s\r\n" % (there, there, there)
    async with Hostile({"/": page(body, headers)}) as site, a_client(HOSTS, allow_private=HOLE) as client:
        fetched = await client.fetch(site.url())

    assert isinstance(fetched.outcome, Fetched)
    assert fetched.url.host == "evil.test"


async def test_a_line_break_in_a_location_adds_no_header_and_no_request() -> None:
    breaks = ["/a%0d%0aX-Injected:%20yes", "/b\tX-Injected: yes", "/c?%0d%0a%0d%0aGET /x HTTP/1.1"]
    for location in breaks:
        async with Hostile({"/": moved(302, location)}) as site, a_client(HOSTS, allow_private=HOLE) as client:
            await client.fetch(site.url())

        assert len(site.heads) == 3  # robots.txt, the page, the target
        assert not any(line.startswith(b"X-Injected") for _, head in site.heads for line in head.split(b"\r\n"))


async def test_a_name_that_turns_inside_is_refused_where_the_socket_would_be_made(inside: Inside) -> None:
    """Rebinding against the whole transport. 127.0.0.1 is what the name was; after its TTL it is the inside."""
    clock = FakeClock()
    script: dict[str, Reply | Sequence[Reply]] = {"flip.test": [Reply(a=(OUTSIDE,)), Reply(a=(INSIDE,))]}
    rules = AddressRules(allow_private=HOLE, allow_ports=frozenset({inside.port}))
    async with (
        DnsServer(script) as dns,
        Resolver(clock, nameservers=[dns.address]) as resolver,
        Hostile({"/": page()}, port=inside.port) as site,
    ):
        guard = Guard(resolver, rules)

        async def resolve(url: Url) -> Pin:
            return Pin(await guard.pin(url))

        async with CurlTransport(resolve, Limits(), user_agent="a/1", check_address=guard.approves) as transport:
            request = Request(Url(site.url(host="flip.test")))
            first = await transport.request(request)
            again = await transport.request(request)
            clock.advance(Memory().floor)
            with pytest.raises(AddressRefused, match=INSIDE.replace(".", r"\.")):
                await transport.request(request)

    assert (first.status, again.status, first.address) == (200, 200, OUTSIDE)
    assert site.connections == 1
    assert dns.count("flip.test") == 2


async def test_a_check_that_is_fooled_once_is_not_fooled_at_the_socket(inside: Inside) -> None:
    """The second wall alone: a resolver that hands out the inside meets the veto where the socket is made."""
    guard = Guard(Resolver(FakeClock()), AddressRules(allow_private=HOLE))

    async def fooled(_url: Url) -> Pin:
        return Pin((INSIDE,))

    async with CurlTransport(fooled, Limits(), user_agent="a/1", check_address=guard.approves) as transport:
        with pytest.raises(AddressRefused):
            await transport.request(Request(Url(f"http://evil.test:{inside.port}/")))


async def test_a_rebound_name_is_refused_on_its_way_through_redirects(inside: Inside) -> None:
    """Two names of one site: the first answers, the second, known a moment before, is the inside by now."""
    async with Hostile({"/": moved(302, f"http://b.inside.test:{inside.port}/")}) as site:
        hosts = {"a.inside.test": [OUTSIDE], "b.inside.test": [INSIDE]}
        async with a_client(hosts, allow_private=HOLE, allow_ports=[inside.port]) as client:
            fetched = await client.fetch(site.url(host="a.inside.test"))

    assert isinstance(fetched.outcome, Skipped)
    assert fetched.outcome.reason is Reason.BLOCKED_ADDRESS


async def test_redirects_between_two_sites_end_at_the_limit() -> None:
    hosts = {"*": [OUTSIDE]}
    async with Hostile({}) as site, a_client(hosts, allow_private=HOLE, max_redirects=4) as client:
        for n in range(50):
            other = "one.test" if n % 2 else "two.test"
            site.routes[f"/{n}"] = moved(307, site.url(f"/{n + 1}", other))

        fetched = await client.fetch(site.url("/0", "one.test"))

    assert isinstance(fetched.outcome, Failed)
    assert fetched.outcome.failure.reason is Reason.TOO_MANY_REDIRECTS
    assert len([head for _, head in site.heads if b" /robots.txt " not in head]) == 5


@pytest.mark.parametrize(
    "location", ["http://inside.test:{}/", "http://2130706434:{}/", "//[::1]:{}/", "http://six.test:{}/"]
)
async def test_the_inside_would_have_noticed(location: str) -> None:
    """The counter counts: with the hole open, the same redirects arrive."""
    async with Inside() as inside:
        await visited(location, inside, allow_private=["127.0.0.0/8", "::1/128"])

        assert inside.connections > 0
