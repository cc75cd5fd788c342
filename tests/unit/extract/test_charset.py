"""Byte order mark, header, document, a cheap look: the first that answers names the character set."""

import codecs
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.extract.charset import Charset, canonical, looks_binary, sniff_charset, to_text

NAMES = [
    *("utf-8", "utf-16le", "utf-16be", "gbk", "gb18030", "big5", "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr"),
    *("ibm866", "koi8-r", "koi8-u", "macintosh", "x-mac-cyrillic", "iso-8859-8-i", "windows-874"),
    *(f"windows-{number}" for number in range(1250, 1259)),
    *(f"iso-8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
]


@pytest.mark.parametrize(
    ("data", "header", "expected"),
    [
        (b"\xef\xbb\xbf<meta charset=gbk>", "big5", Charset("utf-8", "bom")),
        (b"\xff\xfeh\0i\0", "big5", Charset("utf-16le", "bom")),
        (b"\xfe\xff\0h\0i", None, Charset("utf-16be", "bom")),
        (b"<meta charset=gbk>", "Big5", Charset("big5", "header")),
        (b"<meta charset=gbk>", " ISO-8859-1\t", Charset("windows-1252", "header")),
        (b"\0h\0i\0!\0!", "utf-16be", Charset("utf-16be", "header")),
        (b"<meta charset=gbk>", "no-such-thing", Charset("gbk", "meta")),
        (b"<meta charset=gbk>", "", Charset("gbk", "meta")),
        (b"<meta charset=no-such-thing>", None, Charset("utf-8", "detected")),
        ("größer".encode(), None, Charset("utf-8", "detected")),
        ("größer".encode("latin-1"), None, Charset("windows-1252", "default")),
        ("größer".encode()[:4], None, Charset("utf-8", "detected")),
        (b"", None, Charset("utf-8", "detected")),
        ("<html><p>größer".encode("utf-16-le"), None, Charset("utf-16le", "detected")),
        ("<html><p>größer".encode("utf-16-be"), None, Charset("utf-16be", "detected")),
    ],
)
def test_the_first_that_answers_names_it(data: bytes, header: str | None, expected: Charset) -> None:
    assert sniff_charset(data, header) == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'<META CharSet="GBK">', "gbk"),
        (b"<meta charset='gbk'/>", "gbk"),
        (b"<meta/charset=gbk>", "gbk"),
        (b"<meta\ncharset = gbk >", "gbk"),
        (b"<html><head><title>x</title><link rel=a><meta name=a content=b><meta charset=gbk>", "gbk"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=gbk">', "gbk"),
        (b"<meta content='text/html; charset = \"gbk\" ; x' http-equiv=content-type>", "gbk"),
        (b"<meta content='text/html; charset=gbk; x' http-equiv=content-type>", "gbk"),
        (b"<meta content='charset charset=gbk' http-equiv=content-type>", "gbk"),
        (b'<meta content="text/html; charset=gbk">', None),
        (b"<meta http-equiv=refresh content='0; charset=gbk'>", None),
        (b"<meta content='charset=big5' http-equiv=content-type charset=gbk>", "gbk"),
        (b"<meta charset=gbk charset=big5>", "gbk"),
        (b"<meta charset=bogus><meta charset=gbk>", "gbk"),
        (b'<!DOCTYPE html>\n<html lang=\'de\' class="a>b">\n<head>\n<meta charset="gbk" />', "gbk"),
        (b"<html lang=de><meta charset='bogus' charset=gbk><meta charset=big5>", "big5"),
        (b'<html lang="<meta charset=gbk>"><meta charset=big5>', "big5"),
        (b'<html x= b="c d="><meta charset=gbk>"><meta charset=big5>', "big5"),
        (b"<html><meta charset=gbk/>", None),
        (b"<meta charset=utf-16>", "utf-8"),
        (b"<meta charset=utf-16be>", "utf-8"),
        (b"<meta charset=x-user-defined>", "windows-1252"),
        (b"<!-- <meta charset=big5> --><meta charset=gbk>", "gbk"),
        (b"<!--><meta charset=gbk>", "gbk"),
        (b"<!-- never closed <meta charset=gbk>", None),
        (b"<a title='<meta charset=big5>'><meta charset=gbk>", "gbk"),
        (b"<!doctype html><?php a ?></x <><meta charset=gbk>", "gbk"),
        (b"< <3 <meta charset=gbk>", "gbk"),
        (b"<metal charset=big5><meta charset=gbk>", "gbk"),
        (b'<meta charset="gbk', None),
        (b"charset=gbk", None),
        (b"<?xml version='1.0' encoding='GBK'?><rss/>", "gbk"),
        (b'<?xml version="1.0" encoding = "gbk"?><html><meta charset=big5>', "big5"),
        (b'<?xml version="1.0"?><x encoding="gbk"/>', None),
        (b" " * 1024 + b"<meta charset=gbk>", None),
        (b" " * 1000 + b"<meta charset=gbk>", "gbk"),
    ],
)
def test_a_declaration_is_found_as_the_html_standard_finds_it(head: bytes, expected: str | None) -> None:
    charset = sniff_charset(head, None)

    assert charset == (Charset(expected, "meta") if expected else Charset("utf-8", "detected"))


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("UTF8", "utf-8"),
        ("latin1", "windows-1252"),
        ("us-ascii", "windows-1252"),
        ("iso-8859-9", "windows-1254"),
        ("tis-620", "windows-874"),
        ("gb2312", "gbk"),
        ("sjis", "shift_jis"),
        ("ks_c_5601-1987", "euc-kr"),
        ("iso_8859-2:1987", "iso-8859-2"),
        ("sun_eu_greek", "iso-8859-7"),
        ("x-cp1254", "windows-1254"),
        ("unicode", "utf-16le"),
        ("koi8-ru", "koi8-u"),
        ("utf-7", None),
        ("utf-32", None),
        ("hex", None),
        ("iso-2022-kr", None),
        ("", None),
    ],
)
def test_a_label_means_what_it_means_to_browsers(label: str, name: str | None) -> None:
    assert canonical(label) == name
    assert canonical(f"\t{label.upper()} ") == name


@pytest.mark.parametrize("name", NAMES)
def test_every_encoding_of_the_standard_has_a_name_and_a_codec(name: str) -> None:
    assert canonical(name) == name
    assert codecs.lookup(Charset(name, "header").codec)


@pytest.mark.parametrize(
    ("text", "name", "codec"),
    [
        ("größer: “ja”", "windows-1252", "cp1252"),
        ("Привет", "koi8-r", "koi8_r"),
        ("ελληνικά", "iso-8859-7", "iso8859_7"),
        ("漢字 €", "gbk", "gb18030"),
        ("漢字㗎", "big5", "big5hkscs"),
        ("日本語①", "shift_jis", "cp932"),
        ("日本語", "euc-jp", "euc_jp"),
        ("日本語", "iso-2022-jp", "iso2022_jp"),
        ("한국어뷁", "euc-kr", "cp949"),
        ("שלום", "iso-8859-8-i", "iso8859_8"),
        ("\ufeffmark", "utf-8", "utf-8"),
        ("\ufeffmark", "utf-16le", "utf-16-le"),
    ],
)
def test_text_is_read_as_it_was_written(text: str, name: str, codec: str) -> None:
    data = text.encode(codec)

    assert to_text(data, Charset(name, "header")) == text.removeprefix("\ufeff")


def test_what_cannot_be_decoded_is_replaced_and_an_unknown_name_is_no_error() -> None:
    assert to_text(b"a\xffb", Charset("utf-8", "header")) == "a\ufffdb"
    assert to_text(b"caf\xe9", Charset("hex", "header")) == "café"


@pytest.mark.parametrize("name", NAMES)
@given(data=st.binary(max_size=200))
def test_no_bytes_are_beyond_decoding(name: str, data: bytes) -> None:
    assert isinstance(to_text(data, Charset(name, "header")), str)


@given(
    data=st.lists(
        st.sampled_from([b"<meta", b" ", b"charset", b"=", b'"', b"'", b">", b"<!--", b"-->", b"</", b"<?xml", b"gbk"])
        | st.binary(max_size=4)
    ).map(b"".join),
    header=st.none() | st.text(max_size=12),
)
def test_any_bytes_and_any_header_give_a_charset_that_decodes(data: bytes, header: str | None) -> None:
    charset = sniff_charset(data, header)

    assert canonical(charset.name) == charset.name
    assert isinstance(to_text(data, charset), str)


@given(text=st.text(min_size=1))
def test_valid_utf_8_is_recognised_unless_it_declares_otherwise(text: str) -> None:
    data = b"<p>" + text.replace("\0", " ").encode()

    assert to_text(data, sniff_charset(data, None)) == data.decode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain text\r\n\tand more\f\x1b$B",
        b"x" * 500 + b"\0\x01" + b"x" * 500,
        "größer".encode("latin-1"),
        "漢字".encode("shift_jis") * 100,
        "日本語".encode("iso2022_jp") * 100,
        "\ufeffhello".encode("utf-16-le"),
        "<html><p>hello".encode("utf-16-be"),
    ],
)
def test_text_does_not_look_binary(data: bytes) -> None:
    assert not looks_binary(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0",
        b"GIF89a\x01\0\x01\0\x80\0\0",
        b"PK\x03\x04\x14\0\0\0\x08\0",
        b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01",
        b"%PDF-1.7\nobj",
        bytes(1000),
        random.Random(1).randbytes(4096),  # noqa: S311 — the same bytes each time, not a secret
    ],
)
def test_a_picture_an_archive_and_noise_look_binary(data: bytes) -> None:
    """H0-6, H2-11: such bodies cost a look at the first kilobyte and no more."""
    assert looks_binary(data)
