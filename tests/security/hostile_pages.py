"""Pages made to stop a parser: each grows with `size`, and ends with a link to `/after`. The bench reads them too."""

from collections.abc import Callable
from typing import Final

AFTER: Final = b"<a href=/after>"


def _repeated(unit: bytes, before: bytes = b"", after: bytes = b"") -> Callable[[int], bytes]:
    return lambda size: before + unit * (size // len(unit)) + after + AFTER


def _numbered(unit: bytes, before: bytes = b"", after: bytes = b"") -> Callable[[int], bytes]:
    return lambda size: before + b"".join(unit % n for n in range(size // len(unit % 99_999))) + after + AFTER


def _halves(first: bytes, second: bytes, before: bytes = b"", between: bytes = b"") -> Callable[[int], bytes]:
    """As many bytes of the one as of the other."""

    def made(size: int) -> bytes:
        one, other = (unit * (size // 2 // len(unit)) for unit in (first, second))
        return before + one + between + other + AFTER

    return made


REACHED: Final[dict[str, Callable[[int], bytes]]] = {
    "misnested formatting": _repeated(b"<b><i><a href=/x><p></b></i>"),
    "misnested, all open": _repeated(b"<a><b><i><u><s><font><nobr><p>"),
    "misnested tables": _repeated(b"<table><tr><td><table><b>x</tr>"),
    "nested div": _repeated(b"<div>"),
    "nested svg": _repeated(b"<svg><foreignObject>"),
    "closing tags only": _repeated(b"</div>"),
    "closing tags of nothing that is open": _halves(b"<span>", b"</x>"),
    "formatting that is opened again": _halves(b"<b><i><u>", b"<p>x</p>", b"<p>", b"</p>"),
    "many attributes": _numbered(b" a%d=1", b"<p", b">"),
    "one attribute, many times": _repeated(b" href=/x", b"<a", b">"),
    "a huge value": _repeated(b"x", b"<a href='/", b"'>"),
    "a huge name": _repeated(b"x", b"<", b">"),
    "a huge rel": _repeated(b"no follow ", b"<a href=/x rel='", b"'>"),
    "a huge robots": _repeated(b"noindex:,", b"<meta name=robots content='", b"'>"),
    "a huge refresh": _repeated(b" ", b"<meta http-equiv=refresh content='1", b"'>"),
    "many refreshes": _numbered(b"<meta http-equiv=refresh content='1;/%d'>"),
    "many links": _numbered(b"<a href=/%d>"),
    "many wrong links": _numbered(b"<a href='http://[%d'>"),
    "a number without end": _repeated(b"9", b"<title>&#", b"</title>"),
    "a number in a link": _repeated(b"9", b"<a href='/&#", b"'>"),
    "names without end in a link": _repeated(b"&amp", b"<a href='/", b"'>"),
    "values in halves": _repeated(b"<p a='b\"c'd=\"e'f\"g=h'i\"j>"),
    "spaces in a tag": _repeated(b" ", b"<a href", b"=/x>"),
    "dashes in a comment": _repeated(b"-", b"<!--", b"->"),
    "many folders up": _repeated(b"../", b"<a href='", b"'>"),
    "many bases": _repeated(b"<base href=/x/>", b"<base href=/>"),
    "many titles": _repeated(b"<title>x</title>"),
    "titles without end": _repeated(b"<title ", b"<p>", b">x</title>"),
    "zeros": _repeated(b"\0"),
    "zeros in tags": _repeated(b"<\0p \0>"),
    "bytes that are no text": _repeated(b"\xff\xfe\x80"),
    "entities": _repeated(b"&amp;"),
    "entities without end": _repeated(b"&ampamp"),
    "entities by number": _repeated(b"&#65;"),
    "comments": _repeated(b"<!---->"),
    "declarations": _repeated(b"<!doctype html [<!ENTITY x 'y'>]>"),
    "instructions": _repeated(b"<?x?>"),
}
"""Behind these the rest of the page is still read."""

SWALLOWED: Final[dict[str, Callable[[int], bytes]]] = {
    "a comment without end": _repeated(b"<!-- ", b"<p>"),
    "a script without end": _repeated(b"<script>"),
    "scripts with comments": _repeated(b"<!--<script>", b"<script>"),
    "a text area without end": _repeated(b"<a href=/x>", b"<textarea>"),
    "a tag without end": _repeated(b" a='", b"<p"),
    "a value without end": _repeated(b"<a href=/x>", b"<p a='"),
    "values without end": _repeated(b'<p a=\'"<p b="', b"<p>"),
    "opening brackets": _repeated(b"<"),
}
"""These swallow what follows, as they do in a browser."""

PAGES: Final = REACHED | SWALLOWED
