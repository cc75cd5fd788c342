"""Where does a crawl begin?"""

import io
import sys
from pathlib import Path

import pytest

from outrider.app.seeds import all_refused, read_seeds, seed_of
from outrider.errors import ConfigError, InvalidUrl
from outrider.model.url import Url
from outrider.settings import settings_of


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.org/a", "https://example.org/a"),
        ("http://example.org", "http://example.org/"),
        ("example.org", "https://example.org/"),
        (" example.org/path ", "https://example.org/path"),
        ("example.org:8080", "https://example.org:8080/"),
        ("127.0.0.1:8080/x", "https://127.0.0.1:8080/x"),
    ],
)
def test_a_bare_domain_is_meant_as_https(text: str, url: str) -> None:
    """H2-23."""
    assert str(seed_of(text)) == url


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "''"),
        ("foo", "did you mean https://foo"),
        ("/path", "'/path'"),
        ("./file.txt", "file.txt"),
        ("ftp://example.org/", "only http and https"),
        ("mailto:me@example.org", "mailto"),
        ("http://exa mple.org/", "holds a blank; expected one URL"),
        ("example.org other.org", "holds a blank"),
    ],
)
def test_what_is_no_seed_is_told_what_would_be(text: str, words: str) -> None:
    with pytest.raises(InvalidUrl) as caught:
        seed_of(text)

    assert words in str(caught.value)


def test_a_file_may_have_comments_blank_lines_and_the_marks_of_other_systems(tmp_path: Path) -> None:
    """S2-24."""
    file = tmp_path / "seeds.txt"
    file.write_bytes(b"\xef\xbb\xbf# seeds\r\n\r\nexample.org\r\n  https://example.org/  \r\nhttps://b.org/x\r\n")

    seeds = read_seeds(["https://first.org/"], file)

    assert list(map(str, seeds)) == ["https://first.org/", "https://example.org/", "https://b.org/x"]


def test_ten_thousand_seeds_are_read_in_order(tmp_path: Path) -> None:
    """S2-24."""
    file = tmp_path / "seeds.txt"
    file.write_text("".join(f"site{number}.example\n" for number in range(10_000)))

    seeds = read_seeds([], file)

    assert len(seeds) == 10_000
    assert str(seeds[-1]) == "https://site9999.example/"


def test_seeds_come_from_the_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"example.org\n")))

    assert read_seeds([], Path("-")) == [Url("https://example.org/")]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "holds no URL"),
        (b"# only a comment\n", "holds no URL"),
        (b"\xff\xfe\x00\x01", "is not a text file"),
        (b"example.org\0", "is not a text file"),
        (b"a.org\nfoo\nftp://b.org\nno way\nbar\n", "line 2: 'foo'"),
        (b"a.org\nfoo\nftp://b.org\nno way\nbar\n", "(and 1 more)"),
    ],
)
def test_a_file_that_is_none_of_seeds_is_told_why(tmp_path: Path, data: bytes, words: str) -> None:
    file = tmp_path / "seeds.txt"
    file.write_bytes(data)

    with pytest.raises(ConfigError) as caught:
        read_seeds([], file)

    assert str(caught.value).startswith(f"{file}: ")
    assert words in str(caught.value)
    assert "expected one URL or domain on each line" in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.txt: the seeds cannot be read: No such file"):
        read_seeds([], tmp_path / "missing.txt")


def test_seeds_are_only_hopeless_when_none_may_be_visited() -> None:
    paper, page = Url("http://127.0.0.1/paper.pdf"), Url("http://127.0.0.1/page")

    refused = all_refused(settings_of(), [paper])

    assert [(found.url, found.reason) for found in refused] == [(str(paper), "non_text_extension")]
    assert all_refused(settings_of(), [paper, page]) == []
