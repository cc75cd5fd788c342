"""Which character set is the text in? Byte order mark, then header, then what the document says, then a cheap look.

The order and the labels are those of the HTML and Encoding Standards. Where nobody says anything there is no
statistical guess: such detectors cost several per cent of a crawl's CPU, stall on large bodies (H2) and are
wrong just where it matters, on short texts. Text that is valid UTF-8 is UTF-8, since nothing else looks like it by
chance; zeros in every second byte are UTF-16; the rest is windows-1252, the default of the Web. Links are
ASCII in nearly every page, so a wrong default costs a title and no URL. The looks are at prefixes: they take the same
time whatever the size of the body.
"""

import codecs
import re
from functools import cache
from typing import Final, Literal

from msgspec import Struct

Source = Literal["bom", "header", "meta", "detected", "default"]

_DECLARED_WITHIN: Final = 1024
"""HTML Standard, "prescan a byte stream": authors must declare the encoding in the first 1024 bytes."""

_LOOKED_AT: Final = 262_144
"""How much of an undeclared text is checked for UTF-8."""


class Charset(Struct, frozen=True):
    """`name` is that of the Encoding Standard, in lower case; `source` is who said so."""

    name: str
    source: Source

    @property
    def codec(self) -> str:
        """Python's decoder that comes nearest to the browsers' of that name (often of a superset: gbk is gb18030)."""
        return _CODECS.get(self.name, "cp1252")


def sniff_charset(data: bytes, header_charset: str | None) -> Charset:
    """The character set of a text: always one that `to_text` can decode."""
    if data.startswith(_ANY_MARK):
        return Charset(next(name for mark, name in _MARKS if data.startswith(mark)), "bom")
    if header_charset and (named := canonical(header_charset)):
        return Charset(named, "header")
    if declared := _declared(data[:_DECLARED_WITHIN].lower()):
        return Charset(declared, "meta")
    if wide := _wide(data[:_DECLARED_WITHIN]):
        return Charset(wide, "detected")
    try:
        # Not final: a character that the cut, or a truncated body, goes through is no error.
        codecs.utf_8_decode(data[:_LOOKED_AT], "strict", False)
    except UnicodeDecodeError:
        return Charset("windows-1252", "default")
    return Charset("utf-8", "detected")


def to_text(data: bytes, charset: Charset) -> str:
    """The text without its byte order mark; what cannot be decoded is U+FFFD. Never raises."""
    if charset.codec not in _SEVERAL_BYTES:
        return codecs.charmap_decode(data, "strict", _alphabet(charset.codec))[0]
    return data.decode(charset.codec, "replace").removeprefix("\ufeff")


def canonical(label: str) -> str | None:
    """The encoding that a label means. None when it is not in the standard, or is there only to be refused."""
    return _NAMES.get(label.strip("\t\n\f\r ").lower())


def looks_binary(data: bytes) -> bool:
    """Is this no text at all, whatever the header says? Read from the first kilobyte.

    Bytes that no text has (the "binary data bytes" of the MIME Sniffing Standard) are a tenth of random or compressed
    data; a page that was pasted together badly has one or two. One in 32 tells them apart.
    """
    start = data[:_DECLARED_WITHIN]
    if start.startswith(b"%PDF-"):
        return True
    strange = len(start) - len(start.translate(None, _BINARY))
    return strange * 32 > len(start) and not start.startswith((_UTF_16LE, _UTF_16BE)) and not _wide(start)


@cache
def _alphabet(codec: str) -> str:
    """What each byte means where a byte is a character, with U+FFFD where it means nothing.

    Python asks an error handler about each byte that means nothing: a page of 20 MB of them took five seconds.
    """
    return bytes(range(256)).decode(codec, "replace")


# ── what the document says ───────────────────────────────────────────────────────────────────────────────────────────

_META: Final = re.compile(rb"<meta[\t\n\f\r /]")
_TAG: Final = re.compile(rb"</?[a-z][^\t\n\f\r >]*")
_ATTRIBUTE: Final = re.compile(
    rb"[\t\n\f\r /]*([^\t\n\f\r />][^\t\n\f\r />=]*)"
    rb"""(?:[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r >"'][^\t\n\f\r >]*)?))?"""
)
_USUAL: Final = re.compile(
    rb"""
    (?> (?: [^<]* <
        (?: ! [^>-] [^>]*
          | (?! meta [\t\n\f\r /] )  /? [a-z][a-z0-9]*
            (?> (?: [\t\n\f\r ]+ [a-z][a-z0-9:_-]* (?: = (?: "[^"]*" | '[^']*' | [^\t\n\f\r <>"'=/]+ ) )? )* )
            [\t\n\f\r ]* /?
        ) >
    )* )
    [^<]* < meta [\t\n\f\r ]+ charset= (?: "([^"]*)" | '([^']*)' | ([^\t\n\f\r >"'][^\t\n\f\r >]*) )
    """,
    re.VERBOSE,
)
"""How most pages begin: tags written by the book, then a meta element whose first attribute is the charset.

One step instead of five for each tag. What it does not match is read tag by tag, and means the same if it does match.
"""

_CONTENT: Final = re.compile(
    rb"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r ;"'][^\t\n\f\r ;]*))"""
)
_XML: Final = re.compile(rb"""<\?xml[^>]*?[\t\n\f\r ]encoding[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^">]*)"|'([^'>]*)')""")


def _declared(head: bytes) -> str | None:
    """The first meta element that names a known encoding, else the XML declaration; `head` is in lower case."""
    if b"charset" in head and (named := _in_meta(head)):
        return named
    found = _XML.match(head)
    return _named_inside(found[found.lastindex or 0]) if found else None


def _in_meta(head: bytes) -> str | None:
    usual = _USUAL.match(head)
    if usual and (named := _named_inside(usual[usual.lastindex or 0])):
        return named
    at = head.find(b"<")
    while at >= 0:
        if head.startswith(b"<!--", at):
            # `<!-->` is a whole comment: its closing dashes may be the opening ones.
            at = head.find(b"-->", at + 2)
        elif opened := _META.match(head, at) or _TAG.match(head, at):
            attributes, at = _attributes(head, opened.end())
            if opened.re is _META and (named := _of_meta(attributes)):
                return named
        elif head[at + 1 : at + 2] in {b"!", b"/", b"?"}:
            at = head.find(b">", at)
        if at >= 0:
            at = head.find(b"<", at + 1)
    return None


def _attributes(head: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """Those of the tag, the first of a name counting, and where the last of them ends."""
    attributes: dict[bytes, bytes] = {}
    while found := _ATTRIBUTE.match(head, at):
        attributes.setdefault(found[1], found[2] or found[3] or found[4] or b"")
        at = found.end()
    # What ended the tag is ahead; a `<` that an attribute swallowed is behind, as it should be.
    return attributes, at - 1


def _of_meta(attributes: dict[bytes, bytes]) -> str | None:
    if b"charset" in attributes:
        return _named_inside(attributes[b"charset"])
    found = _CONTENT.search(attributes.get(b"content", b""))
    if found is None or attributes.get(b"http-equiv") != b"content-type":
        return None
    return _named_inside(found[found.lastindex or 0])


def _named_inside(label: bytes) -> str | None:
    """A declaration that could be read as ASCII is not in UTF-16, whatever it says."""
    named = canonical(label.decode("ascii", "replace"))
    return "utf-8" if named in {"utf-16le", "utf-16be"} else named


# ── what the bytes look like ─────────────────────────────────────────────────────────────────────────────────────────

_UTF_16BE: Final = b"\xfe\xff"
_UTF_16LE: Final = b"\xff\xfe"
_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8"), (_UTF_16BE, "utf-16be"), (_UTF_16LE, "utf-16le"))
_ANY_MARK: Final = tuple(mark for mark, _ in _MARKS)
_BINARY: Final = bytes({*range(0x20)} - {*b"\t\n\f\r\x1b"})


def _wide(start: bytes) -> str | None:
    """UTF-16 without its mark: in text with markup, most characters have a zero for one half and none for the other."""
    pairs = len(start) // 2
    first, second = start[0::2].count(0), start[1::2].count(0)
    if pairs < 2 or (first + second) * 2 < pairs or min(first, second) * 16 > pairs:
        return None
    return "utf-16be" if first > second else "utf-16le"


# ── Encoding Standard, 4.2 "Names and labels" ────────────────────────────────────────────────────────────────────────

_TABLE: Final = """
utf-8 = utf_8: unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf8 x-unicode20utf8
ibm866 = cp866: 866 cp866 csibm866
iso-8859-2 = iso8859_2: csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
iso-8859-3 = iso8859_3: csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3
iso-8859-4 = iso8859_4: csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4
iso-8859-5 = iso8859_5: csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988
iso-8859-6 = iso8859_6: arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e iso-8859-6-i
 iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
iso-8859-7 = iso8859_7: csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597 iso_8859-7
 iso_8859-7:1987 sun_eu_greek
iso-8859-8 = iso8859_8: csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8
 iso_8859-8:1988 visual
iso-8859-8-i = iso8859_8: csiso88598i logical
iso-8859-10 = iso8859_10: csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6
iso-8859-13 = iso8859_13: iso8859-13 iso885913
iso-8859-14 = iso8859_14: iso8859-14 iso885914
iso-8859-15 = iso8859_15: csisolatin9 iso8859-15 iso885915 iso_8859-15 l9
iso-8859-16 = iso8859_16:
koi8-r = koi8_r: cskoi8r koi koi8 koi8_r
koi8-u = koi8_u: koi8-ru
macintosh = mac_roman: csmacintosh mac x-mac-roman
windows-874 = cp874: dos-874 iso-8859-11 iso8859-11 iso885911 tis-620
windows-1250 = cp1250: cp1250 x-cp1250
windows-1251 = cp1251: cp1251 x-cp1251
windows-1252 = cp1252: ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591
 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii x-cp1252 x-user-defined
windows-1253 = cp1253: cp1253 x-cp1253
windows-1254 = cp1254: cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5
 x-cp1254
windows-1255 = cp1255: cp1255 x-cp1255
windows-1256 = cp1256: cp1256 x-cp1256
windows-1257 = cp1257: cp1257 x-cp1257
windows-1258 = cp1258: cp1258 x-cp1258
x-mac-cyrillic = mac_cyrillic: x-mac-ukrainian
gbk = gb18030: chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk
gb18030 = gb18030:
big5 = big5hkscs: big5-hkscs cn-big5 csbig5 x-x-big5
euc-jp = euc_jp: cseucpkdfmtjapanese x-euc-jp
iso-2022-jp = iso2022_jp_ext: csiso2022jp
shift_jis = cp932: csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis
euc-kr = cp949: cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949
utf-16be = utf_16_be: unicodefffe
utf-16le = utf_16_le: csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16
"""
"""Name = Python's codec: further labels. Labels that the standard maps to "replacement" are left out: to a crawler the
ASCII of such a page is of use, so it is looked at like one that names no encoding."""

_SEVERAL_BYTES: Final = frozenset(
    {"utf_8", "utf_16_be", "utf_16_le", "gb18030", "big5hkscs", "euc_jp", "iso2022_jp_ext", "cp932", "cp949"}
)
"""Codecs in which one character may take more than one byte."""

_CODECS: Final[dict[str, str]] = {}
_NAMES: Final[dict[str, str]] = {}
for _row in _TABLE.strip().replace("\n ", " ").splitlines():
    _name, _, _codec, *_labels = _row.split()
    _CODECS[_name] = _codec.rstrip(":")
    _NAMES.update(dict.fromkeys((_name, *_labels), _name))
