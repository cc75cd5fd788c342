"""What is a visitor of a site busy with? Each of its seconds is spent on one of these: together they are all."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

from outrider.model.outcome import Failure, Timing
from outrider.model.reason import Reason


class Activity(StrEnum):
    """`turn`: waiting until the site may be asked (again). `room`: waiting for permits, or for the disk.

    `probing`: a site that was down is asked whether it is back, by us or by another visitor. `first_byte` is the wait
    for the answer. `reading` is decoding, links and what is decided about them. `other` is what is left: looking up
    rules, waiting for another visitor's robots.txt, requests that were given up, and a machine with too much to do.
    """

    TURN = "turn"
    ROOM = "room"
    PROBING = "probing"
    RESOLVING = "resolving"
    CONNECTING = "connecting"
    TLS = "tls"
    FIRST_BYTE = "first_byte"
    RECEIVING = "receiving"
    READING = "reading"
    OTHER = "other"


_FAILED_AT: Final = {
    **dict.fromkeys((Reason.DNS_FAILURE, Reason.DNS_NOT_FOUND, Reason.BLOCKED_ADDRESS), Activity.RESOLVING),
    **dict.fromkeys((Reason.CONNECT_REFUSED, Reason.CONNECT_FAILED, Reason.CONNECT_TIMEOUT), Activity.CONNECTING),
    **dict.fromkeys(
        (Reason.TLS_FAILURE, Reason.TLS_EXPIRED, Reason.TLS_WRONG_NAME, Reason.TLS_UNTRUSTED), Activity.TLS
    ),
}


def phases(timing: Timing, passed: float) -> Iterator[tuple[Activity, float]]:
    """What a request that took so long was spent on; the parts are never more than the whole, whatever was measured."""
    before = 0.0
    for activity, until in (
        (Activity.RESOLVING, timing.dns),
        (Activity.CONNECTING, timing.connect),
        (Activity.TLS, timing.tls),
        (Activity.FIRST_BYTE, timing.first_byte),
        (Activity.RECEIVING, timing.total),
        (Activity.OTHER, passed),
    ):
        end = min(until, passed)
        if end > before:
            yield activity, end - before
            before = end


def spent_in_vain(failure: Failure) -> Activity:
    """Where a request without an answer came to its end."""
    return _FAILED_AT.get(failure.reason, Activity.FIRST_BYTE)


def shares(seconds: Mapping[Activity, float]) -> dict[Activity, int]:
    """Whole percents that add up to 100, the largest first; those of nothing at all are none.

    What rounding down leaves over goes to those that lost the most by it.
    """
    whole = sum(seconds.values())
    if whole <= 0.0:
        return {}
    exact = {activity: 100.0 * seconds[activity] / whole for activity in Activity if activity in seconds}
    found = {activity: int(share) for activity, share in exact.items()}
    lost = sorted(exact, key=lambda activity: found[activity] - exact[activity])
    for activity in lost[: 100 - sum(found.values())]:
        found[activity] += 1
    return dict(sorted(((activity, share) for activity, share in found.items() if share), key=lambda item: -item[1]))
