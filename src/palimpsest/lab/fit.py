"""How far the estimates of a recording are off, and how to correct them.

Most recordings hold neither system text nor tools, though every request carried both. That share
is taken from the first request whose size is known; the ratio is learned from what follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import median
from typing import NamedTuple

from palimpsest.core.calibration import HIGHEST_RATIO, LOWEST_RATIO, Calibration
from palimpsest.core.estimate import text_tokens
from palimpsest.core.placeholder import PRUNE_PLACEHOLDER
from palimpsest.core.view import summary_measure
from palimpsest.lab.measured import Measured
from palimpsest.transcripts.recording import RecordedCompaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Corrections for one recording. Errors are shares of the provider's count.

    Attributes:
        fixed_tokens: system text and tools of every request, in the provider's tokens.
        calibration: learned ratio for the history's estimates; uncalibrated without usage.
        requests_counted: requests whose size the recording knows.
        raw_error: median error of fixed share plus uncorrected estimate, or None without usage.
        calibrated_error: median error of what a session's meter would have shown: the count of
            the request before plus the corrected estimate of what came since; None without usage.
        calibrated_error_p95: the same, 95th percentile.
    """

    fixed_tokens: int
    calibration: Calibration
    requests_counted: int
    raw_error: float | None
    calibrated_error: float | None
    calibrated_error_p95: float | None


class _Sample(NamedTuple):
    context: int
    """Compactions before it; samples of different contexts are not compared."""
    local: int
    reported: int


def fit(measured: Measured, compactions: list[RecordedCompaction]) -> Fit:
    """Compare the estimates with the counts in the recording, where it has any."""
    samples = list(_samples(measured, compactions))
    if not samples:
        return Fit(
            fixed_tokens=measured.fixed.tokens,
            calibration=Calibration(),
            requests_counted=0,
            raw_error=None,
            calibrated_error=None,
            calibrated_error_p95=None,
        )
    fixed = max(0, samples[0].reported - samples[0].local)
    calibration = Calibration(ratio=_ratio(samples, fixed), observations=len(samples))
    raw = [abs(fixed + item.local - item.reported) / item.reported for item in samples]
    metered = [
        abs(before.reported + calibration.scale(item.local - before.local) - item.reported)
        / item.reported
        for before, item in pairwise(samples)
        if before.context == item.context
    ]
    return Fit(
        fixed_tokens=fixed,
        calibration=calibration,
        requests_counted=len(samples),
        raw_error=median(raw),
        calibrated_error=median(metered) if metered else None,
        calibrated_error_p95=_percentile(metered, 95) if metered else None,
    )


def _ratio(samples: list[_Sample], fixed: int) -> float:
    """Give the median ratio over the larger half of the requests, where it is best known."""
    large = sorted(samples, key=lambda item: item.local)[len(samples) // 2 :]
    ratios = [(item.reported - fixed) / item.local for item in large if item.local > 0]
    if not ratios:
        return 1.0
    return min(HIGHEST_RATIO, max(LOWEST_RATIO, median(ratios)))


def _percentile(values: list[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def _samples(measured: Measured, compactions: list[RecordedCompaction]) -> Iterator[_Sample]:
    """Yield the size of the recorded context at each reply whose size is known."""
    tokens = [0, *accumulate(_message_tokens(measured, index) for index in range(_count(measured)))]
    pending = sorted(compactions, key=lambda compaction: compaction.message_index)
    start = summary_tokens = saved = context = 0
    for reply in measured.replies:
        while pending and pending[0].message_index <= reply:
            compaction = pending.pop(0)
            context += 1
            if compaction.kind == "summary":
                start, saved = compaction.first_kept_message_index, 0
                summary_tokens = summary_measure(compaction.summary).tokens
            else:
                saved += _saved(measured, compaction)
        reported = measured.reported.get(reply)
        if reported is not None:
            local = summary_tokens + tokens[reply] - tokens[start] - saved
            yield _Sample(context=context, local=local, reported=reported.input_tokens)


def _count(measured: Measured) -> int:
    return len(measured.outlines)


def _message_tokens(measured: Measured, index: int) -> int:
    message = measured.outlines[index]
    return message.envelope_tokens + sum(part.tokens for part in message.parts)


def _saved(measured: Measured, clearing: RecordedCompaction) -> int:
    placeholder_tokens = text_tokens(PRUNE_PLACEHOLDER)
    cleared = set(clearing.cleared_call_ids)
    return sum(
        part.content.tokens - placeholder_tokens
        for message in measured.outlines[: clearing.message_index]
        for part in message.parts
        if part.content is not None and part.call_id in cleared
    )
