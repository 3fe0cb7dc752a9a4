"""A recording in, every policy's figures out."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import partial

from palimpsest.core.budget import Budget, default_max_output
from palimpsest.lab.engine_run import EngineRun
from palimpsest.lab.fit import fit
from palimpsest.lab.measured import Measured, measure
from palimpsest.lab.policies import KeepAll, KeepNewestResults, Policy, Setting
from palimpsest.lab.results import RecordedCompactionAt, SessionReplay
from palimpsest.lab.walk import walk
from palimpsest.models.pricing import choose_pricing, resolve_window
from palimpsest.transcripts.recording import Problem, Recording

POLICIES = (
    Policy(name="keep-all", label="keep all", start=KeepAll),
    Policy(
        name="palimpsest", label="palimpsest (default)", start=partial(EngineRun, compacts=True)
    ),
    Policy(name="pruning-only", label="pruning only", start=partial(EngineRun, compacts=False)),
    Policy(
        name="last-10-results", label="last 10 results", start=partial(KeepNewestResults, keep=10)
    ),
    Policy(
        name="clear-at-100k",
        label="clear at 100k, keep 3",
        start=partial(KeepNewestResults, keep=3, trigger_tokens=100_000),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """What a person may choose.

    Attributes:
        model: take prices and window of this model instead of the recording's own.
        window: take this context window, in tokens.
    """

    model: str | None = None
    window: int | None = None


def replay(recording: Recording, settings: ReplaySettings | None = None) -> SessionReplay:
    """Play every policy over one recording.

    Time and memory are linear in the recording.

    Raises:
        InvalidSettingError: the window is no positive integer, or no table knows the model.
    """
    settings = settings or ReplaySettings()
    pricing = choose_pricing(asked=settings.model, recorded=recording.model)
    window, window_source = resolve_window(settings.window, pricing)
    measured = measure(recording)
    fitted = fit(measured, recording.compactions)
    budget = Budget(window=window, reserved_output=default_max_output(window))
    setting = Setting(measured=measured, fit=fitted, budget=budget)
    return SessionReplay(
        path=str(recording.path),
        format=recording.format,
        session_id=recording.session_id,
        model=pricing.name if pricing else recording.model,
        window=window,
        fits_tokens=budget.input_limit,
        trigger_tokens=budget.pressured_at,
        window_source=window_source,
        messages=recording.counts.messages,
        calls=recording.counts.calls,
        results=recording.counts.results,
        images=recording.counts.images,
        interrupted=recording.counts.interrupted,
        recorded_compactions=_recorded(recording, measured),
        set_aside=recording.set_aside,
        problems=list(map(_sentence, recording.problems)),
        requests_counted=fitted.requests_counted,
        ratio=fitted.calibration.ratio,
        fixed_tokens=fitted.fixed_tokens,
        raw_error=fitted.raw_error,
        calibrated_error=fitted.calibrated_error,
        calibrated_error_p95=fitted.calibrated_error_p95,
        traces=[walk(setting, policy, pricing) for policy in POLICIES],
    )


def _recorded(recording: Recording, measured: Measured) -> list[RecordedCompactionAt]:
    return [
        RecordedCompactionAt(
            request=bisect_left(measured.replies, compaction.message_index),
            kind=compaction.kind,
            trigger=compaction.trigger,
            tokens_before=compaction.tokens_before,
        )
        for compaction in recording.compactions
    ]


def _sentence(problem: Problem) -> str:
    place = problem.path if problem.line is None else f"{problem.path}:{problem.line}"
    return f"{place}: {problem.what}"
