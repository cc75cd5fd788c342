"""Waiting for pages ends in time, however slow the machine is that waits."""

import time
from typing import cast

import pytest
from confluent_kafka import Consumer

from outrider.stores.kafka.consumer import KafkaPages
from outrider.stores.place import Place


class Silent:
    """Nothing comes. What it was told to wait is noted: the driver takes less than nothing for ever."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def poll(self, timeout: float) -> None:
        self.waits.append(timeout)


async def test_nobody_waits_for_ever_who_was_held_up_between_two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    pages, silent = KafkaPages(Place("kafka://127.0.0.1:9092/webpage_log")), Silent()
    now = 100.0

    def ticking() -> float:
        nonlocal now
        now += 0.3
        return now

    monkeypatch.setattr(time, "monotonic", ticking)

    came = pages._fetch(cast("Consumer", silent), 10, 1.0)  # noqa: SLF001 - what it does with the driver is the point

    assert came == []
    assert min(silent.waits) >= 0
