"""What may a value look like?"""

import re
from ipaddress import ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrider.errors import ConfigError
from outrider.policy.extensions import GROUPS, NON_TEXT
from outrider.settings import Settings, settings_of
from outrider.settings.describe import expected, meaning, plain, shown
from outrider.settings.keys import SECTIONS


@pytest.mark.parametrize("word", [True, 1, "true", "1", "yes", "on", "TRUE", " On "])
def test_what_switches_on(word: object) -> None:
    assert settings_of(http2=word).http2 is True


@pytest.mark.parametrize("word", [False, 0, "false", "0", "no", "off", "False", " OFF "])
def test_false_never_switches_anything_on(word: object) -> None:
    """H0-1."""
    assert settings_of(follow_redirects=word, verify_tls=word).follow_redirects is False


@pytest.mark.parametrize("word", ["", "maybe", 2, "tru", None, 1.5, [], "none"])
def test_what_is_no_switch(word: object) -> None:
    with pytest.raises(ConfigError, match="expected true or false"):
        settings_of(http2=word)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (7, 7),
        ("7", 7),
        ("7b", 7),
        ("512k", 524_288),
        ("512K", 524_288),
        ("10MiB", 10_485_760),
        ("10 mib", 10_485_760),
        ("10MB", 10_000_000),
        ("1.5k", 1536),
        ("1G", 1 << 30),
    ],
)
def test_sizes_are_numbers_or_carry_a_unit(text: object, size: int) -> None:
    assert settings_of(max_body=text).max_body == size


@pytest.mark.parametrize("text", ["", "k", "-1", 0, "0k", "10 apples", "1e3", "9" * 400, True, None, "1.5.2M"])
def test_what_is_no_size(text: object) -> None:
    with pytest.raises(ConfigError, match="expected bytes"):
        settings_of(max_body=text)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("delay", -0.1),
        ("delay", True),
        ("delay", "inf"),
        ("delay", "nan"),
        ("delay", ""),
        ("delay", "1 second"),
        ("delay", [1]),
        ("slow_down", 1),
        ("recovery", 0),
        ("recovery", 1.1),
        ("timeout", 0),
        ("burst", 0),
        ("burst", 1.5),
        ("burst", False),
        ("max_redirects", -1),
        ("max_redirects", "5.5"),
        ("robots_max_bytes", 511_999),  # RFC 9309 2.5
        ("max_ratio", 0.5),
        ("give_up_after", 0),
        ("give_up_after", ""),
        ("give_up_probes", "sometimes"),
        ("max_url_length", 65_537),
        ("breaker_ladder", [60, 30]),
        ("breaker_ladder", [0]),
        ("include", ["("]),
        ("include", ["a{99999999999999999999}"]),
        ("include", [5]),
        ("skip_patterns", ["admin"]),
        ("skip_extensions", ["a/b"]),
        ("skip_extensions", [5]),
        ("insecure_hosts", ["https://example.org"]),
        ("insecure_hosts", [""]),
        ("excluded_sites", 5),
        ("allow_private", ["10.0.0.1/8"]),
        ("allow_private", [10]),
        ("allow_private", ["everything"]),
        ("allow_ports", [0]),
        ("allow_ports", [True]),
        ("content_types", ["html"]),
        ("proxy", "ftp://h"),
        ("proxy", "http:///x"),
        ("proxy", "http://h:99999"),
        ("redis_url", "http://h"),
        ("redis_url", "redis://"),
        ("kafka_servers", "h"),
        ("kafka_servers", ""),
        ("input_queue", "two words"),
        ("input_queue", ""),
        ("user_agent", ""),
        ("user_agent", "a\r\nX-Evil: 1"),
        ("user_agent", "b\u00f6t/1"),
        ("user_agent", "/1.0"),
        ("contact", "me"),
        ("contact", "https://example.org/\n"),
        ("contact", "https://example.org/a)b"),
        ("profile", "Audit"),
        ("profile", ["audit"]),
        ("scope", None),
    ],
)
def test_what_does_not_fit_is_an_error_in_our_own_words(key: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        settings_of(**{key: value})

    text = str(caught.value)
    assert text.startswith(f"{key} = ")
    assert f"expected {expected(key)}" in text
    assert "pydantic" not in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("allow_ports", "80, 443", {80, 443}),
        ("allow_ports", "[80, 443]", {80, 443}),
        ("allow_private", "10.0.0.0/8,fd00::/8", (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))),
        ("allow_private", "127.0.0.1", (ip_network("127.0.0.1/32"),)),
        ("include", r"a{1,3},b[,]\,", (re.compile("a{1,3}"), re.compile(r"b[,]\,"))),
        ("include", '["x,y", "z"]', (re.compile("x,y"), re.compile("z"))),
        ("include", "[0-9]+", (re.compile("[0-9]+"),)),
        ("include", "", ()),
        ("skip_extensions", "PDF,.Zip", {".pdf", ".zip"}),
        ("skip_extensions", ["images", ".x"], GROUPS["images"] | {".x"}),
        ("skip_extensions", "[]", frozenset()),
        ("excluded_sites", "Example.ORG.,b.example", {"example.org", "b.example"}),
        ("insecure_hosts", "[::1],127.0.0.1", {"[::1]", "127.0.0.1"}),
        ("content_types", "Text/HTML", ("text/html",)),
        ("breaker_ladder", "30,60,120,300", (30.0, 60.0, 120.0, 300.0)),  # C5
        ("give_up_after", "never", None),
        ("give_up_probes", "Never", None),
        ("max_depth", "none", None),
        ("max_depth", 0, 0),
        ("contact", "none", None),
        ("proxy", "socks5h://u:p@h:1080", "socks5h://u:p@h:1080"),
        ("redis_url", "redis+cluster://a:7000", "redis+cluster://a:7000"),
        ("redis_url", "redis://user:secret@h:6380/3", "redis://user:secret@h:6380/3"),  # S2-40
        ("kafka_servers", "a:1, [::1]:2", "a:1, [::1]:2"),
    ],
)
def test_text_is_read_as_the_key_means_it(key: str, value: object, read: object) -> None:
    assert getattr(settings_of(**{key: value}), key) == read


@pytest.mark.parametrize("key", Settings.model_fields)
def test_a_value_as_shown_can_be_written_back(key: str) -> None:
    for profile in ("polite", "service", "audit", "broad"):
        whole = settings_of(profile=profile)

        again = settings_of(**{"profile": profile, key: shown(key, getattr(whole, key))})

        assert getattr(again, key) == getattr(whole, key)


@pytest.mark.parametrize("key", Settings.model_fields)
def test_every_default_fits_its_own_kind(key: str) -> None:
    default = getattr(Settings(), key)

    assert getattr(settings_of(**{key: default}), key) == default


@settings(max_examples=300)
@given(
    key=st.sampled_from(list(Settings.model_fields)),
    value=st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.text())),
)
def test_whatever_is_given_the_answer_is_settings_or_a_config_error(key: str, value: object) -> None:
    try:
        settings_of(**{key: value})
    except ConfigError as error:
        assert f"{key} = " in str(error)  # noqa: PT017 - either end is right


def test_every_key_stands_in_one_section_and_has_one_line_of_meaning() -> None:
    keys = [key for section in SECTIONS for key in section.model_fields]

    assert keys == list(Settings.model_fields)
    for key in keys:
        assert meaning(key).endswith(".")
        assert len(meaning(key)) <= 100


def test_extensions_are_shown_by_group_and_given_to_programs_one_by_one() -> None:
    assert shown("skip_extensions", NON_TEXT).startswith("images, video, audio, ")
    assert plain(NON_TEXT) == sorted(NON_TEXT)


# the kinds of a whole crawl


@pytest.mark.parametrize(
    "given",
    [
        {"*.test": "127.0.0.1;::1"},
        {"*.test": ["127.0.0.1", "::1"]},
        "*.TEST=127.0.0.1;::1",
        ["*.test=127.0.0.1 ::1"],
    ],
)
def test_names_that_the_dns_does_not_know_have_addresses(given: object) -> None:
    settings = settings_of(hosts=given)

    assert settings.hosts == {"*.test": ("127.0.0.1", "::1")}
    assert settings_of(hosts=shown("hosts", settings.hosts)).hosts == settings.hosts


@pytest.mark.parametrize("given", ["a.test", "a.test=", "=127.0.0.1", "a.test=b.test", "a.test=127.0.0.1;x", 7])
def test_what_is_no_list_of_names_and_addresses(given: object) -> None:
    with pytest.raises(ConfigError, match="expected a list of name=address"):
        settings_of(hosts=given)


@pytest.mark.parametrize(
    "given", [{"example.org": 60}, {"example.org": "60"}, "Example.ORG=60", "example.org = 60.0", ["example.org=60"]]
)
def test_single_sites_have_their_own_interval(given: object) -> None:
    """Site names are in lower case, whatever people write."""
    settings = settings_of(recrawl_sites=given)

    assert settings.recrawl_sites == {"example.org": 60.0}
    assert settings_of(recrawl_sites=shown("recrawl_sites", settings.recrawl_sites)) == settings


@pytest.mark.parametrize("given", ["example.org", "example.org=0", "example.org=-1", "example.org=soon", 3])
def test_what_is_no_interval_of_a_site(given: object) -> None:
    with pytest.raises(ConfigError, match="expected a list of site=time"):
        settings_of(recrawl_sites=given)


@pytest.mark.parametrize(
    ("given", "workers"), [("auto", None), ("AUTO", None), (None, None), (4, 4), ("4", 4), (256, 256)]
)
def test_workers_are_a_number_or_one_per_core(given: object, workers: int | None) -> None:
    assert settings_of(workers=given).workers == workers


@pytest.mark.parametrize("given", [0, 257, "many", True, 1.5])
def test_what_is_no_number_of_workers(given: object) -> None:
    with pytest.raises(ConfigError, match="expected a whole number from 1 to 256, or auto"):
        settings_of(workers=given)


@pytest.mark.parametrize(
    ("given", "size"), [("none", None), ("256MiB", 1 << 28), ("1G", 1 << 30), (1 << 28, 1 << 28), (None, None)]
)
def test_memory_is_a_size_that_is_enough(given: object, size: int | None) -> None:
    assert settings_of(max_memory=given).max_memory == size


@pytest.mark.parametrize("given", ["255MiB", 1, "much", True])
def test_too_little_memory_is_an_error(given: object) -> None:
    with pytest.raises(ConfigError, match="at least 256MiB, or none"):
        settings_of(max_memory=given)


@pytest.mark.parametrize("given", ["redis", "/tmp/x.db", "://x", 3])  # noqa: S108 - nothing is written there
def test_what_is_no_store_url(given: object) -> None:
    with pytest.raises(ConfigError, match="expected a store URL"):
        settings_of(frontier=given)


def test_a_store_url_may_be_none() -> None:
    settings = settings_of(frontier="none", records="memory:", contents="warc:///tmp/x")

    assert (settings.frontier, settings.records, settings.contents) == (None, "memory:", "warc:///tmp/x")
