"""Errors of the driver end at the link; errors of ours do not."""

import pytest
from redis.asyncio import Connection

from outrider.errors import StoreUnavailable
from outrider.stores.place import Place
from outrider.stores.redis.link import translated

PLACE = Place("redis+cluster://127.0.0.1:7000")


async def test_a_line_that_the_driver_let_go_of_is_a_store_that_is_away() -> None:
    """It writes to a line that another call has closed, and falls over its own feet."""
    closed = Connection()

    with pytest.raises(StoreUnavailable, match="the line was closed meanwhile"), translated(PLACE):
        await closed._send_packed_command([b"PING"])  # noqa: SLF001 - where it happens


def test_a_bug_of_ours_stays_one() -> None:
    nothing: object = None

    with pytest.raises(AttributeError), translated(PLACE):
        nothing.strip()  # type: ignore[attr-defined] # the bug
