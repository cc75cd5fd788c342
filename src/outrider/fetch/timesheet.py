"""Where do the seconds of a visitor go? A lap begins where the one before ended: together they are all of its time.

Only what is over is written down, so that no sum ever goes back.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from outrider.model.activity import Activity, phases, spent_in_vain
from outrider.model.outcome import Failure
from outrider.ports import Clock, Response


class Timesheet:
    """Of one visitor, which does one thing at a time. `seconds` may be those of many visitors together."""

    __slots__ = ("_clock", "_only", "_since", "seconds")

    def __init__(self, clock: Clock, seconds: dict[Activity, float] | None = None) -> None:
        self._clock = clock
        self._since = clock.now()
        self._only: Activity | None = None
        self.seconds = {} if seconds is None else seconds

    def lap(self, activity: Activity, now: float | None = None) -> None:
        """What has passed since the last lap was spent on this."""
        self._add(activity, self._passed(now))

    def answered(self, response: Response | None, failure: Failure | None, now: float) -> None:
        """A request was. Without a response and a failure it was given up."""
        passed = self._passed(now)
        if response is not None:
            for activity, seconds in phases(response.timing, passed):
                self._add(activity, seconds)
        else:
            self._add(Activity.OTHER if failure is None else spent_in_vain(failure), passed)

    @contextmanager
    def only(self, activity: Activity) -> Iterator[None]:
        """Meanwhile it is all for this, whatever it is."""
        self._only = activity
        try:
            yield
            self.lap(activity)
        finally:
            self._only = None

    def _passed(self, now: float | None) -> float:
        now = self._clock.now() if now is None else now
        # A clock that was set back makes no negative time.
        passed = max(now - self._since, 0.0)
        self._since = now
        return passed

    def _add(self, activity: Activity, seconds: float) -> None:
        if seconds:
            spent = self._only or activity
            self.seconds[spent] = self.seconds.get(spent, 0.0) + seconds
