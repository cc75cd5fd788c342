"""What a worker does beside its work."""

import asyncio

import pytest

from outrider.app.worker_process import EVERY, give_memory_back


async def test_memory_is_given_back_again_and_again_until_the_work_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through glibc itself, where it is there."""
    woken = 0

    async def soon(seconds: float) -> None:
        nonlocal woken
        assert seconds == EVERY
        woken += 1
        if woken > 3:
            await asyncio.Event().wait()

    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "sleep", soon)
        giving = asyncio.create_task(give_memory_back())
        while woken <= 3:
            assert not giving.done()
            await _turn()
        giving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await giving

    assert woken == 4


async def _turn() -> None:
    """One turn of the loop, without the clock that is patched."""
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, None)
    await future
