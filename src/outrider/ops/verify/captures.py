"""What does a file of the archive hold? Its records from the first to the last, gathered into captures.

What is damaged costs only itself: reading goes on at the next place that an index or a page names.
"""

import os
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from msgspec import Struct

from outrider.model.capture import Capture
from outrider.stores.warc.reading import Member, Torn, capture_of, is_answer, member_at
from outrider.stores.warc.records import record_id

_SAME: Final = ("WARC-Date", "WARC-Target-URI")


class Whole(Struct, frozen=True):
    """A capture with all its records. `faults` is what is not as the writer makes it."""

    answer: Member
    capture: Capture
    records: int
    faults: tuple[str, ...]


class Info(Struct, frozen=True):
    """The record that a file begins with."""

    member: Member


class Broken(Struct, frozen=True):
    """Nothing that can be read begins at `start`; reading went on at `resumed`, or ended when that is None."""

    start: int
    why: str
    resumed: int | None


class Stray(Struct, frozen=True):
    """A record that is part of no capture."""

    member: Member
    why: str


Found: TypeAlias = Whole | Info | Broken | Stray


def captures_in(file: int, size: int, next_place: Callable[[int], int | None]) -> Iterator[Found]:
    """`next_place` says where another answer begins behind this one, as far as anybody knows."""
    position = 0
    waiting: list[Member] = []
    while position < size:
        try:
            member = member_at(file, position)
        except Torn as error:
            yield from _strays(waiting)
            waiting = []
            resumed = next_place(position)
            if resumed is not None and resumed >= size:
                resumed = None
            yield Broken(position, str(error), resumed)
            if resumed is None:
                return
            position = resumed
            continue
        if position == 0 and member.kind == "warcinfo":
            yield Info(member)
        elif is_answer(member):
            yield from _strays(waiting)
            waiting = [member]
        elif not waiting or member.kind not in {"request", "metadata"}:
            yield Stray(member, f"the {member.kind} at {position} belongs to no answer")
        else:
            waiting.append(member)
            if member.kind == "metadata":
                yield _whole(waiting)
                waiting = []
        position = member.end
    yield from _strays(waiting)


def size_of(file: int) -> int:
    return os.fstat(file).st_size


def _strays(waiting: list[Member]) -> Iterator[Stray]:
    for member in waiting:
        yield Stray(member, f"the {member.kind} at {member.start} lacks the metadata that ends a capture")


def _whole(members: list[Member]) -> Whole | Stray:
    answer, *others = members
    metadata = others[-1]
    try:
        capture = capture_of(answer, metadata)
    except (Torn, UnicodeDecodeError) as error:
        return Stray(answer, str(error))
    return Whole(answer, capture, len(members), tuple(_faults(answer, others, capture)))


def _faults(answer: Member, others: list[Member], capture: Capture) -> Iterator[str]:
    if not capture.fetch_id:
        yield "its metadata names no visit"
        return
    if [member.kind for member in others] not in (["metadata"], ["request", "metadata"]):
        yield f"beside the answer are {', '.join(member.kind for member in others)}"
    own_id = answer.fields.get("WARC-Record-ID")
    for member in (answer, *others):
        if member.fields.get("WARC-Record-ID") != record_id(member.kind, capture.fetch_id):
            yield f"the {member.kind} at {member.start} has an id that is not of this visit"
    for member in others:
        if member.fields.get("WARC-Concurrent-To") != own_id:
            yield f"the {member.kind} at {member.start} is not said to belong to the answer"
        for field in _SAME:
            if member.fields.get(field) != answer.fields.get(field):
                yield f"the {member.kind} at {member.start} has another {field}"
