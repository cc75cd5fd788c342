"""Names and keys: nothing from outside becomes a path."""

import pytest

from outrider.stores.warc.names import Key, read_key, stem


def test_a_file_is_named_by_time_worker_and_counter() -> None:
    assert stem("crawl", 1_700_000_000.9, 3, 7) == "crawl-20231114221320-03-00007"


def test_a_key_comes_back_from_its_text() -> None:
    key = Key("crawl-20231114221320-03-00007", 12, 345)

    assert str(key) == "crawl-20231114221320-03-00007.warc.gz:12:345"
    assert read_key(str(key)) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "crawl-20231114221320-03-00007.warc.gz",
        "crawl-20231114221320-03-00007.warc.gz:1",
        "crawl-20231114221320-03-00007.warc.gz:-1:2",
        "crawl-20231114221320-03-00007.warc.gz:1:2:3",
        "crawl-20231114221320-03-00007.warc.gz:1:2\n",
        "../crawl-20231114221320-03-00007.warc.gz:1:2",
        "/etc/crawl-20231114221320-03-00007.warc.gz:1:2",
        "a/../b-20231114221320-03-00007.warc.gz:1:2",
        "crawl\0-20231114221320-03-00007.warc.gz:1:2",
        "/etc/passwd:1:2",
        "crawl-20231114221320-03-00007.warc.gz:\uff11:2",
    ],
)
def test_a_text_that_is_no_key_is_none(text: str) -> None:
    assert read_key(text) is None
