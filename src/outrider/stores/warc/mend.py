"""What a killed process left behind is made whole: every settled capture kept and listed, the rest cut off.

Before any worker starts, each `.warc.gz.open` that nobody holds is read. Captures that its index does not list are
asked about, all in one question. Then, in this order, so that it may be killed at any moment and begun again:

1. the file is cut after its last settled capture: what is gone was not settled, or not even whole;
2. the index is written anew, sorted, in one step: now it lists all that is settled, and no torn line;
3. the file gets its complete name, which is the sign that nothing is left to do.

A file without any settled capture is removed, its index first. An unsettled capture between settled ones stays, for
their places are known by now; but no index lists it, and its URL will be visited again.
"""

import asyncio
import fcntl
import os
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from outrider.errors import StoreError
from outrider.model.url import Url
from outrider.stores.warc.cdxj import index_line, read_index, sync_directory, write_sorted
from outrider.stores.warc.names import COMPLETE, OPEN, index_path, stem_of
from outrider.stores.warc.reading import Member, Torn, capture_of, is_answer, member_at

Story: TypeAlias = tuple[str, tuple[Url, ...]]
"""The fetch id of a capture, and the URLs that led to it: where it was found comes first."""
IsSettled: TypeAlias = Callable[[Sequence[Story]], Awaitable[list[bool]]]


class Mended(Struct, frozen=True):
    """`kept` captures are listed now; `rescued` ones of them were not. `left`: unsettled, but between settled ones.

    `in_use` are files that a living process holds: they were not touched.
    """

    files: int = 0
    kept: int = 0
    rescued: int = 0
    cut: int = 0
    left: int = 0
    bytes_cut: int = 0
    in_use: int = 0


class Found(Struct, frozen=True):
    """A whole capture in a file: from its answer to the end of its metadata. `story` is None when it is listed."""

    start: int
    end: int
    line: bytes
    story: Story | None = None


class Survey(Struct, frozen=True):
    path: Path
    file: int
    size: int
    found: tuple[Found, ...]


class Plan(Struct, frozen=True):
    """What becomes of a file: cut at `end`, with these lines in its index; an `end` of 0 is the end of it."""

    end: int
    lines: tuple[bytes, ...]
    mended: Mended


async def mend(archive: Path, indexes: Path, is_settled: IsSettled) -> Mended:
    """Raises `StoreError` when the disk fails, and what `is_settled` raises; it may then be called again."""
    with ExitStack() as held:
        try:
            surveys, in_use = await asyncio.to_thread(_survey_all, archive, indexes, held)
            stories = [found.story for survey in surveys for found in survey.found if found.story]
            answers = iter(await is_settled(stories) if stories else ())
            total = Mended(in_use=in_use)
            for survey in surveys:
                settled = [found.story is None or next(answers) for found in survey.found]
                plan = decide(survey.size, survey.found, settled)
                await asyncio.to_thread(_carry_out, survey, indexes, plan)
                total = _sum(total, plan.mended)
        except OSError as error:
            raise StoreError(f"{error.filename or archive}: cannot be mended: {error.strerror or error}") from error
    return total


def decide(size: int, found: Sequence[Found], settled: Sequence[bool]) -> Plan:
    """Where to cut, and what to list."""
    kept = [capture for capture, is_kept in zip(found, settled, strict=True) if is_kept]
    lost = [capture for capture, is_kept in zip(found, settled, strict=True) if not is_kept]
    end = max((capture.end for capture in kept), default=0)
    left = sum(capture.start < end for capture in lost)
    return Plan(
        end,
        tuple(capture.line for capture in kept),
        Mended(
            files=1,
            kept=len(kept),
            rescued=sum(capture.story is not None for capture in kept),
            cut=len(lost) - left,
            left=left,
            bytes_cut=size - end,
        ),
    )


def _survey_all(archive: Path, indexes: Path, held: ExitStack) -> tuple[list[Survey], int]:
    surveys = []
    in_use = 0
    for path in sorted(archive.glob(f"*{OPEN}")):
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # completed by its own process, just now
        held.callback(os.close, file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            in_use += 1
            continue
        if not path.exists():
            continue  # the same, a moment later
        listed = read_index(index_path(indexes, stem_of(path)))
        size = os.fstat(file).st_size
        surveys.append(Survey(path, file, size, tuple(survey_file(file, size, f"{stem_of(path)}{COMPLETE}", listed))))
    return surveys, in_use


def survey_file(file: int, size: int, name: str, listed: dict[int, tuple[int, bytes]]) -> list[Found]:
    """All whole captures, in order. What the index lists was synced before, so it is stepped over, not read."""
    found: list[Found] = []
    # A disk may lie about what is synced: a line that points beyond the end is not believed.
    listed = {offset: entry for offset, entry in listed.items() if offset + entry[0] <= size}
    places = sorted(listed)
    position = 0
    answer: Member | None = None
    while position < size:
        if position in listed:
            length, line = listed[position]
            found.append(Found(position, position + length, line))
            answer = None
            position += length
            continue
        try:
            member = member_at(file, position)
            if is_answer(member):
                answer = member
            elif answer is not None and member.kind == "metadata":
                found.append(_unlisted(answer, member, name))
                answer = None
            elif answer is None and found:
                last = found[-1]
                found[-1] = Found(last.start, member.end, last.line, last.story)
            position = member.end
        except Torn:
            # The tail, unless something that is settled comes after: damage in the middle costs only itself.
            answer = None
            following = bisect_right(places, position)
            if following == len(places):
                break
            position = places[following]
    return found


def _unlisted(answer: Member, metadata: Member, name: str) -> Found:
    capture = capture_of(answer, metadata)
    line = index_line(capture, capture.payload_sha256, name, answer.start, answer.end - answer.start)
    urls = (capture.url, *(hop.url for hop in capture.chain))
    return Found(answer.start, metadata.end, line, (capture.fetch_id, urls))


def _carry_out(survey: Survey, indexes: Path, plan: Plan) -> None:
    index = index_path(indexes, stem_of(survey.path))
    if plan.end == 0:
        index.unlink(missing_ok=True)
        survey.path.unlink()
    else:
        if plan.end < survey.size:
            os.ftruncate(survey.file, plan.end)
        os.fsync(survey.file)
        indexes.mkdir(parents=True, exist_ok=True)
        write_sorted(index, plan.lines)
        survey.path.rename(survey.path.with_name(f"{stem_of(survey.path)}{COMPLETE}"))
    sync_directory(survey.path.parent)


def _sum(a: Mended, b: Mended) -> Mended:
    return Mended(*(getattr(a, name) + getattr(b, name) for name in Mended.__struct_fields__))
