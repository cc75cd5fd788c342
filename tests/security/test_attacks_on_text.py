"""Text from strangers is work for our parsers and ends up in our records: it may cost little, and hurt nobody there.

The inputs are a hundred kilobytes to a megabyte of what each pattern likes least. A pattern that explodes does not fail
here: it does not come back.
"""

import itertools
from collections.abc import Callable

import msgspec
import pytest
from tests.security.attackers import HOLE, OUTSIDE, Hostile, a_client, page

from outrider.errors import ConfigError, DnsError, InvalidUrl
from outrider.extract.charset import Charset, canonical, looks_binary, sniff_charset, to_text
from outrider.fetch.body import content_type, sniff_type
from outrider.fetch.resolver import Resolver
from outrider.model.codec import to_bytes, to_json
from outrider.model.identity import Identity
from outrider.model.url import Url
from outrider.policy.pace import parse_retry_after
from outrider.policy.robots import disallowed_paths, parse, verdict
from outrider.policy.robots_pattern import spell_pattern, spell_target
from outrider.settings import settings_of
from outrider.testing.clock import FakeClock

SIZES = (100_000, 1_000_000)
ROBOTS = 524_288
NAMES = (
    "utf-8 ibm866 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-8-i iso-8859-10"
    " iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16 koi8-r koi8-u macintosh windows-874 windows-1250 windows-1251"
    " windows-1252 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258 x-mac-cyrillic gbk"
    " gb18030 big5 euc-jp iso-2022-jp shift_jis euc-kr utf-16be utf-16le"
)
"""Every encoding of the Encoding Standard."""


def repeated(text: str, size: int) -> str:
    return text * (size // len(text))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "unit",
    [
        '"',
        '",',
        '"\\',
        "\\",
        ";",
        ";charset=",
        ';charset="',
        ';charset="\\',
        "=",
        '="',
        " ",
        "a/",
        "text/html",
        ",",
        "\t;",
    ],
)
def test_a_content_type_cannot_explode(unit: str, size: int) -> None:
    text = repeated(unit, size)

    for header in (text, "text/html" + text, "text/html;charset=" + text, text + "text/html"):
        essence, charset = content_type(header, b"")

        assert essence is None or "/" in essence
        assert charset is None or isinstance(charset, str)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "unit",
    [
        "<",
        "<a",
        "<a ",
        "<meta ",
        "<meta charset",
        '<meta charset="',
        "<meta charset='",
        "<!--",
        "<!",
        "</",
        "<?xml ",
        "<?xml encoding",
        '<a ="',
        "<a\t/\t",
        " encoding",
        'content="charset=',
        "=\t",
        "\0",
        "\xff\xfe",
        "\x1b$B",
        "charset",
    ],
)  # fmt: skip - one unit a line says no more
def test_a_prescan_cannot_explode(unit: str, size: int) -> None:
    body = repeated(unit, size).encode("latin-1")

    for start in (b"", b'<meta http-equiv=content-type content="', b"<?xml version='1.0'", b"charset<a "):
        sniffed = sniff_charset(start + body, None)
        assert canonical(sniffed.name) == sniffed.name
        looks_binary(start + body)
        sniff_type(start + body)


@pytest.mark.parametrize("label", NAMES.split())
def test_no_charset_is_slow_to_decode_nonsense(label: str) -> None:
    """Bytes that mean nothing used to ask an error handler each: 20 MB of them, 100 KB when sent, took five seconds."""
    for data in (
        bytes(range(255, -1, -1)) * 400,
        b"\xff" * 1_000_000,
        b"\x80" * 1_000_001,
        b"\x1b$B" * 300_000,
        b"\x1b" * 1_000_000,
    ):
        text = to_text(data, Charset(label, "header"))

        assert text.encode("utf-8", "strict") is not None
        assert "\ufeff" not in text[:1]


@pytest.mark.parametrize("label", NAMES.split())
def test_bytes_that_mean_nothing_are_replaced_as_python_does(label: str) -> None:
    charset = Charset(label, "header")
    data = bytes(itertools.chain.from_iterable((byte, 0x20) for byte in range(256)))

    assert to_text(data, charset) == data.decode(charset.codec, "replace").removeprefix("\ufeff")


A_TARGET = "/" + "a" * 1_990
FILES: dict[str, Callable[[], bytes]] = {
    "a million groups": lambda: b"user-agent:*\ndisallow:/b\n" * 1_000_000,
    "a group each": lambda: b"".join(b"user-agent:a%d\ndisallow:/b\n" % n for n in range(30_000)),
    "agents without end": lambda: b"".join(b"user-agent:a%d\n" % n for n in range(60_000)),
    "wildcards": lambda: b"user-agent:*\n" + b"".join(b"allow:/*aab%d\n" % n for n in range(10_000)),
    "stars": lambda: b"user-agent:*\n" + (b"allow:/" + b"*a" * 900 + b"*b\n") * 280,
    "a staircase": lambda: b"user-agent:*\n" + b"".join(b"allow:/" + b"a" * n + b"*b\n" for n in range(1_000)),
    "one line": lambda: b"user-agent:*\ndisallow:" + b"/*" * ROBOTS,
    "line ends": lambda: b"\r" * ROBOTS,
    "no colon": lambda: b"disallow " * (ROBOTS // 9),
    "zeros": lambda: b"\0" * ROBOTS,
    "escapes": lambda: b"user-agent:*\ndisallow:/" + b"%" * ROBOTS,
    "delays": lambda: (
        b"user-agent:*\ncrawl-delay:" + b"9" * 5_000 + b"\n" + b"user-agent:*\ncrawl-delay:1e999\n" * 10_000
    ),
    "sitemaps": lambda: b"".join(b"sitemap:http://h/%d\n" % n for n in range(40_000)),
}


@pytest.mark.parametrize("name", FILES)
def test_a_robots_txt_cannot_explode(name: str) -> None:
    rules = parse(FILES[name]())

    told = verdict(rules, A_TARGET, "outrider/1")

    assert told.allowed
    assert len(rules.groups) <= ROBOTS
    assert len(told.reason) < 1_000


def test_what_robots_txt_adds_to_every_record_is_short() -> None:
    """A file of half a megabyte used to become a megabyte and a half of evidence, with every page of the site."""
    rules = parse(b"user-agent:*\n" + b"".join(b"disallow:/%d" % n + b"\xff" * 16_000 + b"\n" for n in range(32)))

    paths = disallowed_paths(rules, "outrider/1")

    assert len(paths) == 32
    assert paths[31].startswith("/31%FF%FF")
    assert sum(map(len, paths)) < 10_000


@pytest.mark.parametrize("size", [100_000, 300_000])
@pytest.mark.parametrize(
    "unit", ["%", "%2", "%41", "%zz", "*", "$", "?", "/", "a", "%2f%3f", "\u00fc", "&a=", "&utm_a=", "=&"]
)
def test_a_path_cannot_explode(unit: str, size: int) -> None:
    text = repeated(unit, size)

    spell_target("/" + text)
    spell_pattern("/" + text.encode().decode("latin-1"))
    parse_retry_after(text, 0.0)
    Identity(strip_tracking=True, sort_query=True).key(Url.trusted("http://h/?" + text))
    with pytest.raises(InvalidUrl):
        Url("http://h/" + text)


@pytest.mark.parametrize("unit", ["a.", "a", "xn--", "%41", "1.", "0x7f.", "\u00fc.", "\u00ad", "[", "@", ":", "\\"])
def test_a_host_cannot_explode(unit: str) -> None:
    text = repeated(unit, 65_000)

    try:
        url = Url(f"http://{text}/")
    except InvalidUrl:
        return
    assert url.site()
    assert url.port


@pytest.mark.parametrize("host", ["a" * 254, "a" * 60_000, "a." * 30_000 + "b", "a." * 127 + "b"])
async def test_a_name_longer_than_names_can_be_is_neither_asked_nor_remembered(host: str) -> None:
    """No name server is given, and none is needed."""
    resolver = Resolver(FakeClock())
    with pytest.raises(DnsError) as error:
        await resolver.resolve(host)

    assert not error.value.exists
    assert len(str(error.value)) < 300


async def test_headers_with_control_characters_are_harmless_in_records() -> None:
    odd = b'ETag: "\x1b[2J\x07"\r\nX-\x1b]0;title\x07: \x08\x0b\x0c\x7f\x9b31m\xff\r\nServer: a\tb\x1b[0m\r\n'
    async with Hostile({"/": page(extra=odd)}) as site, a_client({"*": [OUTSIDE]}, allow_private=HOLE) as client:
        fetched = await client.fetch(site.url())

    assert fetched.ok
    for record in (fetched.page, fetched.evidence, fetched.visit):
        written = to_json(record)
        assert msgspec.json.decode(written)
        assert to_bytes(record)
        # What JSON must escape is escaped. DEL and C1 are legal in it: who prints a record to a terminal must care.
        assert not any(octet < 0x20 for octet in written)


@pytest.mark.parametrize("rule", [b"/x\x1b[2J", b"/x\xff\xfe", b"/x\xe2\x80\xae", b"/x\x9b31m", b"/x" + b"y" * 10_000])
async def test_a_rule_of_robots_txt_is_harmless_in_records(rule: bytes) -> None:
    file = b"User-agent: *\nDisallow: /\nDisallow: %s\n" % rule
    robots = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(file) + file
    async with Hostile({"/robots.txt": robots}) as site, a_client({"*": [OUTSIDE]}, allow_private=HOLE) as client:
        fetched = await client.fetch(site.url("/" + rule.decode("latin-1")[1:]))

    assert not fetched.ok
    written = to_json(fetched.evidence).decode()
    assert len(written) < 40_000
    shown = str(fetched.visit.robots)
    assert shown.isprintable()


@pytest.mark.parametrize(
    "keys",
    [
        {"redis_url": "redis://user:hunter2@"},
        {"redis_url": "http://user:hunter2@host"},
        {"redis_url": "redis://user:hunter2@host:99999999"},
        {"redis_url": "redis://user:hunter2@[::1"},
        {"redis_url": 5, "proxy": "ftp://user:hunter2@host"},
        {"proxy": "socks5://user:hunter2@"},
        {"proxy": "http://user:hunter2@ho st:port"},
        {"redis_password": "hunter2"},
        {"api_token": "hunter2"},
        {"contact": "https://user:hunter2@host (me)"},
        {"kafka_servers": "kafka://user:hunter2@host:9092"},
        {"delay": "redis://user:hunter2@host"},
    ],
)
def test_an_error_about_a_setting_tells_no_password(keys: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as error:
        settings_of(**keys)

    seen: BaseException | None = error.value
    while seen is not None:
        assert "hunter2" not in str(seen)
        assert "hunter2" not in repr(seen)
        seen = seen.__cause__ or seen.__context__
