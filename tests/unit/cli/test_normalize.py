"""`outrider normalize`: the form to fetch, and on request all about it; never any network."""

import json

import pytest

from outrider.cli import main
from outrider.cli.url_explained import UrlExplained, told
from outrider.model.identity import Identity
from outrider.model.url import Url


def test_it_prints_the_form_to_fetch_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["normalize", "HTTP://me:pw@Example.org:80/a/../b?q#top"])

    assert code == 0
    assert capsys.readouterr().out == "http://example.org/b?q\n"


def test_a_link_is_read_on_its_page(capsys: pytest.CaptureFixture[str]) -> None:
    main(["normalize", "../c", "--base", "https://example.org/a/b"])

    assert capsys.readouterr().out == "https://example.org/c\n"


def test_explain_is_a_small_table() -> None:
    given = "HTTP://me:pw@Bücher.example.co.uk:80/a b?utm_source=x#top"
    explained = UrlExplained(given, Url(given), None, Identity(strip_tracking=True))

    lines = [line.plain for line in told(explained, 80)]

    assert lines == [
        "as given        HTTP://***@Bücher.example.co.uk:80/a b?utm_source=x#top",
        "form to fetch   http://xn--bcher-kva.example.co.uk/a%20b?utm_source=x",
        "identity key    http://xn--bcher-kva.example.co.uk/a%20b",
        f"64-bit hash     {explained.identity.hash(explained.url)}",
        "                xxh3 of the key with seed 0; a crawl draws a secret seed of its",
        "                own",
        f"SHA-256         {explained.url.sha256}",
        "origin          http://xn--bcher-kva.example.co.uk",
        "site by domain  example.co.uk",
        "site by host    xn--bcher-kva.example.co.uk",
        "Unicode host    bücher.example.co.uk",
        "",
        "changed",
        "  scheme in lower case        HTTP → http",
        "    a scheme has no case",
        "  userinfo dropped            ***@ → ''",
        "    a crawl has no passwords, and no log should",
        "  host in ASCII (IDNA)        Bücher → xn--bcher-kva",
        "    the DNS knows a name by its ASCII form only",
        "  default port removed        :80 → ''",
        "    port 80 is what http means without one",
        "  fragment dropped            #top → ''",
        "    it is never sent to a server",
        "  characters percent-encoded  ' ' → %20",
        "    a request line is ASCII without blanks or quotes",
        "",
        "changed for the identity key",
        "  tracking parameters left out  ?utm_source=x → ''",
        "    strip_tracking is on",
    ]
    assert max(map(len, lines)) <= 80


def test_a_url_that_stays_says_so() -> None:
    lines = told(UrlExplained("http://a/", Url("http://a/"), None, Identity()), 80)

    assert lines[-1].plain == "It is fetched as it was given."


def test_json_has_it_all_and_numbers_that_every_reader_can_hold(capsys: pytest.CaptureFixture[str]) -> None:
    main(["normalize", "http://me:pw@a.example/%7e", "--json"])

    out = capsys.readouterr().out
    document = json.loads(out)
    assert "pw" not in out
    assert document["url"] == "http://a.example/%7e"
    assert document["key"] == "http://a.example/~"
    assert isinstance(document["hash"], str)
    assert document["siteByDomain"] == "a.example"
    assert [change["what"] for change in document["changes"]] == ["userinfo dropped"]
    assert [change["what"] for change in document["identityChanges"]] == ["escapes spelled alike"]


def test_explain_fits_the_terminal_whatever_is_given() -> None:
    given = "http://a/\x1b[31m" + "é" * 5_000
    lines = told(UrlExplained(given, Url(given), None, Identity()), 80)

    assert max(line.cell_len for line in lines) <= 80
    assert all(line.plain.isprintable() for line in lines)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["example.org"], "'example.org' is not an absolute URL; did you mean https://example.org ?"),
        (["mailto:me@example.org"], "'mailto:me@example.org' is not an http or https URL"),
        (["/a", "--base", "example.org"], "'example.org' is not an absolute URL; did you mean https://example.org ?"),
        (["//", "--base", "http://a/"], "'//' cannot be parsed as a URL"),
        (["   "], "'   ' is empty"),
        (["http://a/" + "x" * 10_000_000], "is longer than 65536 characters"),
        (["http://a/", "--explain", "--set", "sort_query=maybe"], "sort_query = 'maybe' (flag): expected"),
    ],
)
def test_wrong_input_is_one_sentence_and_code_2(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["normalize", *arguments])

    told = capsys.readouterr()
    assert (code, told.out) == (2, "")
    assert told.err.startswith("outrider: ")
    assert told.err.count("\n") == 1
    assert sentence in told.err
    assert len(told.err) < 500
