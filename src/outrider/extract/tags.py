"""The start tags of a page that say something to a crawler, in one pass that nothing in the page can slow down.

It splits a page as the tokenizer of the HTML Standard (13.2.5) does, and builds no tree: what is inside a comment, a
script or a quoted value is no tag, and what is open or misnested does not matter. Trees are where pages can be made to
cost the square of their length. The regular expressions below give nothing back that they have taken (all repetition is
possessive or in an atomic group), and where the page ends inside of something, they take all of it: each character is
read a few times.

One match runs over everything up to the next tag that is heard, so that the others cost no step of Python.
"""

import re
from collections.abc import Iterator, Sequence
from html import unescape
from html.entities import html5
from typing import Final

_RAW: Final = ("iframe", "noembed", "noframes", "style", "textarea", "title", "xmp")
"""What stands inside is text, up to their end tag."""
_HEARD: Final = ("a", "area", "base", "frame", "link", "meta", "plaintext", "script", "svg", *_RAW)

_SPACE: Final = r"\t\n\f\r "
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def _by_letter(names: Sequence[str]) -> dict[str, list[str]]:
    """How the names go on, by their first letter."""
    return {letter: [name[1:] for name in names if name[0] == letter] for letter in sorted({one[0] for one in names})}


def _one_of(names: Sequence[str]) -> str:
    """Any of these names, in whatever case, and not only the beginning of a name."""
    going_on = _by_letter([name for name in names if name])
    inner = [f"[{one}{one.upper()}]{_one_of(rest)}" for one, rest in going_on.items()]
    ends = [rf"(?=[{_SPACE}/>])"] if "" in names else []
    return f"(?:{'|'.join(inner + ends)})"


def _none_of(names: Sequence[str], *, begins: bool = True) -> str:
    """As much of a name as it takes to know that it is none of these."""
    going_on = _by_letter([name for name in names if name])
    known = "".join(going_on)
    others = "".join(letter for letter in _LETTERS if letter not in known)
    differs = f"[{others}{others.upper()}]" if begins else rf"[^{known}{known.upper()}{_SPACE}/>]"
    inner = [f"[{one}{one.upper()}]{_none_of(rest, begins=False)}" for one, rest in going_on.items()]
    ends = [] if begins or "" in names else [rf"(?=[{_SPACE}/>])"]
    return f"(?:{'|'.join([differs, *inner, *ends])})"


_QUOTED: Final = r""""[^"]*+"|'[^']*+'"""
_UNQUOTED: Final = rf"[^{_SPACE}>\"'][^{_SPACE}>]*+"
_NAME: Final = rf"[^{_SPACE}/>][^{_SPACE}/>=]*+"
_IS: Final = rf"[{_SPACE}]*+=[{_SPACE}]*+"
# Most attributes are written like this, and read in half the time.
_USUAL: Final = rf"(?>(?: [a-z\-]++=(?:{_QUOTED}))*)"
_VALUE: Final = rf"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|{_UNQUOTED}|(?=>))"""
_ANY: Final = rf"(?>(?:[{_SPACE}/]*+{_NAME}(?>(?:{_IS}{_VALUE})?))*)[{_SPACE}/]*+"
_UNHEARD: Final = (
    # A tag, opening or closing,
    rf"[b-zB-Z]>|(?:/[A-Za-z]|{_none_of(_HEARD)})[^{_SPACE}/>]*+(?:>|{_USUAL}>|{_ANY}(?:>|\Z))"
    # a comment,
    r"|!--(?:-?>|(?>(?:[^\-]++|-(?!-!?>))*)(?:--!?>|\Z))"
    # something that is taken for one, such as <!doctype html>, or a bracket that is text.
    r"|[!?/][^>]*+(?:>|\Z)|(?![A-Za-z!?/])"
)
_NO_REL: Final = rf"(?>(?: (?!href=|rel=)[a-z\-]++=(?:{_QUOTED}))*)"
_LINK: Final = rf"""a{_NO_REL} href=(?:"([^"&]*+)"|'([^'&]*+)'){_NO_REL}>"""
_NEXT: Final = re.compile(rf"[^<]*+(?>(?:<(?:{_UNHEARD})[^<]*+)*)<(?:{_LINK}|({_one_of(_HEARD)})({_USUAL}{_ANY})>)")
_ATTRIBUTE: Final = re.compile(rf"""({_NAME})(?>(?:{_IS}(?:"([^"]*+)"|'([^']*+)'|({_UNQUOTED})|))?)""")
_ENDS: Final = {name: re.compile(rf"</{name}(?=[{_SPACE}/>])", re.IGNORECASE) for name in _RAW}
_SCRIPT: Final = re.compile(rf"<!--|-->|</?script(?=[{_SPACE}/>])", re.IGNORECASE)
_REFERENCE: Final = re.compile(r"&(?:#([0-9]++|[xX][0-9A-Fa-f]++);?|([A-Za-z0-9]++)(;|(?!=)))")
_LONGEST_NUMBER: Final = 12
"""Of a character, with some zeros before it."""


def heard_tags(page: str) -> Iterator[tuple[str, str, int]]:
    """Each tag's name, its attributes as they are written, and where in the page it ends.

    Most links say nothing but where they lead. Of those there is no name, and the `href` in place of the attributes.
    """
    at = 0
    while tag := _NEXT.match(page, at):
        double, single, name, attributes = tag.groups()
        at = tag.end()
        if name is None:
            yield "", double or single or "", at
            continue
        name = name.lower()
        yield name, attributes, at
        if name in _ENDS:
            ends = _ENDS[name].search(page, at)
            if ends is None:
                return
            at = ends.start()
        elif name == "script":
            at = _end_of_script(page, at)
        elif name == "plaintext":
            return


def attributes_of(written: str) -> dict[str, str]:
    """The first of a name counts."""
    attributes: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(written):
        value = double or single or bare
        attributes.setdefault(name.lower(), _REFERENCE.sub(_meant, value) if "&" in value else value)
    return attributes


def _meant(reference: re.Match[str]) -> str:
    """In a value, a name without a semicolon counts only where nothing could go on: `?a=1&copy=2` is a query."""
    number, name, end = reference.groups()
    if number is None:
        return unescape(reference[0]) if name + end in html5 else reference[0]
    if len(number) > _LONGEST_NUMBER:
        return "\ufffd"
    # `unescape` leaves out controls, which the standard keeps.
    return unescape(reference[0]) or chr(int(f"0{number}", 16 if number[0] in "xX" else 10))


def _end_of_script(page: str, at: int) -> int:
    """A script in a comment in a script does not end the outer one; so it was decided long ago."""
    in_comment = in_script = False
    while found := _SCRIPT.search(page, at):
        mark = found[0]
        at = found.end()
        if mark == "<!--":
            in_comment = True
            at -= 2  # its dashes may be those of its end
        elif mark == "-->":
            in_comment = in_script = False
        elif mark[1] != "/":
            in_script = in_script or in_comment
        elif in_script:
            in_script = False
        else:
            return found.start()
    return len(page)
