"""A clock that stands still."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

DEFAULT_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(slots=True, kw_only=True)
class FrozenClock:
    """Tells the same time until it is moved.

    Attributes:
        now: the time it tells, with a time zone.
    """

    now: datetime = DEFAULT_START

    def __call__(self) -> datetime:
        """Tell the time."""
        return self.now

    @property
    def milliseconds(self) -> int:
        """Milliseconds since the epoch, as records carry them."""
        return round(self.now.timestamp() * 1000)

    @property
    def monotonic_s(self) -> float:
        """Seconds since some fixed moment, for measuring durations."""
        return self.now.timestamp()

    def advance(self, seconds: float) -> None:
        """Move on; a clock never goes back.

        Raises:
            ValueError: ``seconds`` is negative.
        """
        if seconds < 0:
            raise ValueError(f"a clock cannot go back {-seconds} s")
        self.now += timedelta(seconds=seconds)
