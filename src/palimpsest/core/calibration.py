"""Estimates corrected by what the provider really counted (SPEC section 2).

``Calibration`` is the learned ratio of one model; ``Meter`` is the one number that feeds both the
policy and every meter a person sees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from palimpsest.core.budget import Measure
from palimpsest.core.view import View

SMOOTHING = 0.5
"""Weight of the newest observation; the first one counts whole."""

LOWEST_RATIO = 0.5
HIGHEST_RATIO = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Reported ÷ estimated tokens of one model, smoothed and clamped to 0.5–4.0.

    Attributes:
        ratio: factor for purely local estimates.
        observations: how many provider counts it was learned from; 0 means uncalibrated.
    """

    ratio: float = 1.0
    observations: int = 0

    def observe(self, *, reported_tokens: int, estimated_tokens: int) -> Calibration:
        """Learn from one request; a count or estimate of zero teaches nothing."""
        if reported_tokens <= 0 or estimated_tokens <= 0:
            return self
        seen = min(HIGHEST_RATIO, max(LOWEST_RATIO, reported_tokens / estimated_tokens))
        weight = SMOOTHING if self.observations else 1.0
        ratio = self.ratio + weight * (seen - self.ratio)
        return Calibration(ratio=ratio, observations=self.observations + 1)

    def scale(self, tokens: int) -> int:
        """Correct a local estimate, rounded up."""
        return math.ceil(tokens * self.ratio) if self.observations else tokens


UNCALIBRATED = Calibration()


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A provider's count of an earlier request of the present view.

    Attributes:
        message_count: messages of the history that the request held; its reply is the next one.
        fixed: size of the request's system text and tools, uncalibrated.
        reported_tokens: the provider's input count, cache reads and writes included.
    """

    message_count: int
    fixed: Measure
    reported_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """Measures requests of one session; a value, replaced when something is learned.

    ``enabled`` off makes every reading purely local and uncalibrated.
    """

    calibration: Calibration = UNCALIBRATED
    anchor: Anchor | None = None
    enabled: bool = True

    def after_reply(
        self, view: View, fixed: Measure, *, message_count: int, reported_tokens: int
    ) -> Meter:
        """Learn from the usage of a complete reply to a request of the present view.

        Args:
            view: the view that was sent.
            fixed: size of the system text and tools that were sent, uncalibrated.
            message_count: messages the history had when the request was sent.
            reported_tokens: the provider's input count. Less than half of the estimate cannot be
                all of the request (servers leave out what they had cached), and teaches nothing.
        """
        if not self.enabled or reported_tokens <= 0:
            return self
        since = view.measure_between(message_count, len(view.outline)).tokens
        estimated = view.measure().tokens - since + fixed.tokens
        if reported_tokens < LOWEST_RATIO * estimated:
            return self
        return replace(
            self,
            calibration=self.calibration.observe(
                reported_tokens=reported_tokens, estimated_tokens=estimated
            ),
            anchor=Anchor(
                message_count=message_count, fixed=fixed, reported_tokens=reported_tokens
            ),
        )

    def after_record(self) -> Meter:
        """Forget the provider's count: the view it was taken of is gone. The ratio stays."""
        return replace(self, anchor=None)

    def local(self, view: View, fixed: Measure) -> Measure:
        """Measure a whole request locally, scaled: for comparing candidates."""
        return self.scaled(view.measure() + fixed)

    def scaled(self, size: Measure) -> Measure:
        """Scale a local size by what is known of the provider's counts."""
        return Measure(tokens=self.calibration.scale(size.tokens), bytes=size.bytes)

    def pressure(self, view: View, fixed: Measure) -> Measure:
        """Measure a whole request as well as is known: for pressure, fit and meters."""
        local = self.local(view, fixed)
        anchor = self.anchor
        if anchor is None or anchor.fixed != fixed:
            return local
        since = view.measure_between(anchor.message_count, len(view.outline)).tokens
        return replace(local, tokens=anchor.reported_tokens + self.calibration.scale(since))
