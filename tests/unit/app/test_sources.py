"""What a schedule's file may say, and how every mistake in it is told."""

from pathlib import Path

import pytest

from outrider.app.sources import read_list, read_schedule
from outrider.errors import ConfigError
from outrider.policy.schedule import Edition, Kind, Source

YAML = """\
every: 1d                 # unless a source says otherwise
sources:
  - url: https://example.org/news
    every: 10m
    priority: 5
  - sitemap: https://example.org/sitemap.xml
    every: 6h
  - feed: example.org/feed.xml
  - seeds: seeds.txt
    every: once
"""
TOML = """\
every = "1d"

[[sources]]
url = "https://example.org/news"
every = 600
priority = 5

[[sources]]
sitemap = "https://example.org/sitemap.xml"
every = "6h"

[[sources]]
feed = "example.org/feed.xml"

[[sources]]
seeds = "seeds.txt"
every = "once"
"""
SOURCES = (
    Source(Kind.URL, "https://example.org/news", 600.0, 5, "news"),
    Source(Kind.SITEMAP, "https://example.org/sitemap.xml", 21_600.0, 0, "news"),
    Source(Kind.FEED, "https://example.org/feed.xml", 86_400.0, 0, "news"),
    Source(Kind.SEEDS, "seeds.txt", None, 0, "news"),
)


def write(folder: Path, text: str, name: str = "news.yaml") -> Path:
    (folder / "seeds.txt").write_text("https://example.org/1\n# a comment\nexample.org\nhttps://example.org/1\n")
    file = folder / name
    file.write_text(text, "utf-8")
    return file


def problems(file: Path) -> list[str]:
    """Without the name of the file."""
    with pytest.raises(ConfigError) as caught:
        read_schedule(file)
    lines = str(caught.value).splitlines()
    return [line.strip().replace(str(file), "FILE").replace(str(file.parent), "FOLDER") for line in lines]


@pytest.mark.parametrize(("name", "text"), [("news.yaml", YAML), ("news.yml", YAML), ("news.toml", TOML)])
def test_yaml_and_toml_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    schedule = read_schedule(write(tmp_path, text, name))

    assert schedule.name == "news"
    assert schedule.sources == SOURCES


def test_the_file_that_is_deployed_can_be_read() -> None:
    schedule = read_schedule(Path(__file__).parents[3] / "deploy" / "sources.yaml")

    assert {source.kind for source in schedule.sources} == {Kind.URL, Kind.SITEMAP, Kind.FEED}


def test_a_list_is_read_from_where_the_schedule_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, YAML)
    monkeypatch.chdir(tmp_path)
    schedule = read_schedule(Path("news.yaml"))
    monkeypatch.chdir("/")

    listed = read_list(schedule, SOURCES[3])

    assert listed.urls == ["https://example.org/1", "https://example.org/"]
    assert listed.edition.total == 2
    assert read_list(schedule, SOURCES[0]).edition == Edition()


def test_a_name_keeps_what_is_remembered_when_the_file_moves(tmp_path: Path) -> None:
    schedule = read_schedule(write(tmp_path, "name: daily\nsources:\n  - url: example.org\n"))

    assert schedule.sources[0].name == "daily/url https://example.org/"


@pytest.mark.parametrize("every", ["90", "90s", "1m30s", "'90'", "1m 30s"])
def test_an_interval_may_be_written_in_several_ways(tmp_path: Path, every: str) -> None:
    schedule = read_schedule(write(tmp_path, f"sources:\n  - url: example.org\n    every: {every}\n"))

    assert schedule.sources[0].every == 90.0


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("url: example.org\n    evry: 1h", "evry = '1h': no such key; did you mean every?"),
        ("every: 1h", "says not what to feed; expected one of url, sitemap, feed, seeds"),
        ("url: a.org\n    feed: b.org", "url and feed stand in one source; expected one of them"),
        ("url: example.org\n    every: soon", "every = 'soon': expected a time from 1s to 10 years, such as"),
        ("url: example.org\n    every: 1:30", "every = '1:30': expected a time"),
        ("url: example.org\n    every: no", "every = 'no': expected a time"),
        ("url: example.org\n    every: 0", "every = '0': expected a time"),
        ("url: example.org\n    every: -5m", "every = '-5m': expected a time"),
        ("url: example.org\n    every: 900ms", "every = '900ms': expected a time"),
        ("url: example.org\n    every: 99999d", "every = '99999d': expected a time"),
        (f"url: example.org\n    every: {'9' * 400}", "expected a time"),
        ("url: example.org\n    every:", "every = '': expected a time"),
        ("url: example.org\n    every: [1h]", "every = ['1h']: expected a time"),
        ("url: example.org\n    priority: high", "priority = 'high': expected a whole number from -1000000 to 1000000"),
        ("url: example.org\n    priority: 1.5", "priority = '1.5': expected a whole number"),
        ("url: example.org\n    priority: 10000000", "priority = '10000000': expected a whole number"),
        ("url: ''", "url = '': expected a URL"),
        ("url:", "url = '': expected a URL"),
        ("url: [example.org]", "url = ['example.org']: expected a URL"),
        ("url: ftp://example.org/", "url: 'ftp://example.org/' has the scheme 'ftp'; only http and https are crawled"),
        ("url: two words", "holds a blank; expected one URL or domain"),
        ("sitemap: http://user:secret@", "sitemap: 'http://***@'"),
        ('url: "https://example.org/\\e[2J"', "expected a URL"),
        ("seeds: none.txt", "seeds: FOLDER/none.txt: the seeds cannot be read: No such file or directory"),
        ("seeds: .", "seeds: FOLDER: the seeds cannot be read: Is a directory"),
        ("seeds: bad.txt", "seeds: FOLDER/bad.txt: line 1: 'ftp://a' has the scheme 'ftp'"),
        ("seeds: empty.txt", "seeds: FOLDER/empty.txt: holds no URL"),
        ("seeds: '-'", "seeds: FOLDER/-: the seeds cannot be read: No such file or directory"),
        ("https://example.org/", "'https://example.org/' has no keys; expected such as url: https://example.org/"),
    ],
)
def test_a_mistake_in_a_source_is_one_sentence_with_its_place(tmp_path: Path, source: str, told: str) -> None:
    (tmp_path / "bad.txt").write_text("ftp://a\n")
    (tmp_path / "empty.txt").write_text("# nothing\n")

    found = problems(write(tmp_path, f"sources:\n  - url: https://first.org/\n  - {source}\n"))

    assert len(found) == 1
    assert found[0].startswith("FILE source 2 (line 3): ")
    assert told in found[0]
    assert "secret" not in found[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "FILE: is empty; expected keys, and under sources: a list"),
        ("# only a comment\n", "FILE: is empty"),
        ("- url: example.org\n", "FILE: is no mapping"),
        ("every: 1h\n", "FILE: sources: expected a list of at least one source"),
        ("sources: []\n", "FILE line 1: sources: expected a list of at least one source"),
        ("sources: example.org\n", "FILE line 1: sources: expected a list"),
        (
            "source:\n  - url: example.org\nsources:\n  - url: a.org\n",
            "FILE: source = [{'url': 'example.org'}]: no such",
        ),
        ("every: soon\nsources:\n  - url: a.org\n", "FILE: every = 'soon': expected a time"),
        ("name: ''\nsources:\n  - url: a.org\n", "FILE line 1: name = '': expected a short text"),
        ("sources:\n  - &a {url: a.org}\n  - *a\n", "FILE line 3: *a is an alias; expected every source to be written"),
        ("sources:\n  - !!python/object:os.system {}\n", "FILE line 2: tag:yaml.org,2002:python/object:os.system is a"),
        ("sources:\n  - url: [[[[[[[[a]]]]]]]]\n", "FILE line 2: is nested too deep"),
        ("sources:\n  - url: a.org\n    url: b.org\n", "FILE line 3: the key url is there twice"),
        ("? [a]\n: b\n", "FILE line 1: a list or mapping stands where a key was expected"),
        ("sources:\n  - url: a.org\n---\nsources: []\n", "FILE line 3: a second document begins here"),
        ("sources:\n\t- url: a.org\n", "FILE line 2: the file is not valid YAML: "),
        ("sources: [\n", "FILE line 2: the file is not valid YAML: "),
        ("sources: \x00\n", "FILE: the file is not valid YAML: "),
    ],
)
def test_a_file_that_is_no_schedule_is_one_sentence(tmp_path: Path, text: str, told: str) -> None:
    found = problems(write(tmp_path, text))

    assert len(found) == 1
    assert told in found[0]


def test_a_bomb_of_aliases_costs_nothing(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]

    found = problems(write(tmp_path, "\n".join(lines)))

    assert "is an alias" in found[0]


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    assert "nested too deep" in problems(write(tmp_path, "sources: " + "[" * 100_000))[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sources = [", "FILE: the file is not valid TOML: "),
        ("[[sources]]\nurl = 5\n", "FILE source 1 (line 1): url = 5: expected a URL"),
        ("[[sources]]\nurl = 'a.org'\nevery = true\n", "every = True: expected a time"),
        ("[[sources]]\nurl = 'a.org'\nevery = inf\n", "every = inf: expected a time"),
        (f"[[sources]]\nurl = 'a.org'\nevery = 1{'0' * 400}\n", "expected a time"),
        ("[[sources]]\nurl = 'a.org'\npriority = true\n", "priority = True: expected a whole number"),
        ("sources = [{url = 'a.org'}, {}]\n", "FILE source 2: says not what to feed"),
        ("[sources]\nurl = 'a.org'\n", "FILE: sources: expected a list"),
    ],
)
def test_a_mistake_in_toml_is_told_as_well(tmp_path: Path, text: str, told: str) -> None:
    found = problems(write(tmp_path, text, "news.toml"))

    assert len(found) == 1
    assert told in found[0]


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = "evry: 1h\nsources:\n  - url: a.org\n  - url: a.org\n  - feed: '?'\n    every: x\n  - seeds: no.txt\n"

    found = problems(write(tmp_path, text))

    assert found[0] == "5 problems with the schedule:"
    assert [line.partition(":")[0] for line in found[1:]] == [
        "FILE",
        "FILE source 2 (line 4)",
        "FILE source 3 (line 5)",
        "FILE source 3 (line 5)",
        "FILE source 4 (line 7)",
    ]
    assert "url https://a.org/ is source 1 (line 3) already; expected each source once" in found[2]


def test_a_file_of_another_kind_is_refused_before_it_is_read(tmp_path: Path) -> None:
    assert problems(tmp_path / "news.json") == ["FILE: expected a file whose name ends with .yaml, .yml, .toml"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "FILE: the file cannot be read: No such file or directory"),
        (b"sources:\n  - url: \xff\n", "FILE line 2: the file is not UTF-8 text"),
        (b"#" * (16 * 1024 * 1024 + 1), "FILE: is longer than 16,777,216 bytes; put long lists of URLs into a seeds"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_of(tmp_path: Path, content: bytes | None, told: str) -> None:
    file = tmp_path / "news.yaml"
    if content is not None:
        file.write_bytes(content)

    assert told in problems(file)[0]
