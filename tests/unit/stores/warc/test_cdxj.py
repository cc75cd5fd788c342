"""The index: keys, lines, and what is believed of a torn one."""

from pathlib import Path

import pytest
from msgspec import json
from msgspec.structs import replace

from outrider.model.capture import Capture, Unchanged
from outrider.model.url import Url
from outrider.stores.warc.cdxj import index_line, read_index, surt, write_sorted

PAGE = Capture("f1", Url("http://www.example.com/A"), 0.0, 200, (("content-type", "Text/HTML; charset=x"),), b"")


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://example.com/", "com,example)/"),
        ("https://www.Example.com/Path/", "com,example)/path"),
        ("http://www2.example.com/", "com,example)/"),
        ("http://www.com/", "com)/"),
        ("http://a.b.example.com:8080/x", "com,example,b,a:8080)/x"),
        ("http://example.com/?b=2&a=1", "com,example)/?a=1&b=2"),
        ("http://127.0.0.1/x", "1,0,0,127)/x"),
        ("http://[::1]:81/x", "[::1]:81)/x"),
        ("http://example.com/a b?c d", "com,example)/a%20b?c%20d"),
    ],
)
def test_a_url_is_looked_up_by_its_host_backwards(url: str, key: str) -> None:
    assert surt(Url(url)) == key


def test_a_line_says_what_replay_needs() -> None:
    line = index_line(PAGE, "abc", "x.warc.gz", 12, 34)

    key, at, value = line.decode().split(" ", 2)
    assert (key, at) == ("com,example)/a", "19700101000000")
    assert json.decode(value) == {
        "url": "http://www.example.com/A",
        "mime": "text/html",
        "status": "200",
        "digest": "sha256:abc",
        "length": "34",
        "offset": "12",
        "filename": "x.warc.gz",
    }


def test_a_revisit_is_marked_and_may_have_no_digest() -> None:
    line = index_line(replace(PAGE, unchanged=Unchanged.NOT_MODIFIED, status=304), None, "x.warc.gz", 12, 34)

    value = json.decode(line.split(b" ", 2)[2])
    assert value["mime"] == "warc/revisit"
    assert "digest" not in value


@pytest.mark.parametrize("said", ["", "nonsense", "a b/c", " ;", "tëxt/html"])
def test_a_type_that_cannot_be_understood_is_unknown(said: str) -> None:
    line = index_line(replace(PAGE, headers=(("Content-Type", said),)), None, "x", 0, 0)

    assert json.decode(line.split(b" ", 2)[2])["mime"] == "unk"


def test_an_index_is_believed_as_far_as_its_lines_are_whole(tmp_path: Path) -> None:
    lines = [index_line(PAGE, "abc", "x.warc.gz", offset, 10) for offset in (30, 10, 20, 10)]
    path = tmp_path / "x.cdxj"

    path.write_bytes(b"".join(lines))

    assert read_index(path) == {30: (10, lines[0]), 10: (10, lines[1]), 20: (10, lines[2])}
    for torn in (lines[2][:-1], lines[2][:40], b"\0" * 50, b"\xff\xfe {"):
        path.write_bytes(lines[0] + torn)
        assert set(read_index(path)) == {30}
    assert read_index(tmp_path / "none.cdxj") == {}


def test_a_complete_index_is_sorted_and_says_everything_once(tmp_path: Path) -> None:
    lines = [index_line(replace(PAGE, url=Url(f"http://{name}.example/")), None, "x", 0, 0) for name in "cabca"]

    write_sorted(tmp_path / "x.cdxj", lines)

    assert (tmp_path / "x.cdxj").read_bytes() == lines[1] + lines[2] + lines[0]
    assert [path.name for path in tmp_path.iterdir()] == ["x.cdxj"]
