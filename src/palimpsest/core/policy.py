"""Automatic compaction as a state machine (SPEC section 6).

``begin`` and ``step`` return the next ``Effect``; the shell performs it and feeds the ``Outcome``
back until the effect is final (``Send``, ``Refuse`` or ``Stop``). Nothing here plans, calls a
model or saves: the machine decides on numbers only, so a session and an offline replay drive the
same policy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, assert_never

from palimpsest.core.budget import Budget, Measure
from palimpsest.core.planning import Cut, NoCut

GENERATIONS_PER_PREFLIGHT = 2
PRESSURED_PREFLIGHTS_PER_RUN = 2
"""After so many pressured preflights in a row, a prompt run generates no more summaries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """Choices of the policy.

    Attributes:
        split_newest_turn: allow the last resort (SPEC section 5.6).
        extractive_fallback: summarise without a model where a generation failed and the request
            would otherwise be refused.
    """

    split_newest_turn: bool = True
    extractive_fallback: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Two sizes of one request.

    Attributes:
        pressure: as well as is known, the provider's own count included; decides pressure and fit.
        comparable: purely local, scaled; compared with a candidate of the same kind.
    """

    pressure: Measure
    comparable: Measure


# --- effects: what the shell does next -----------------------------------------------------------

Keep: TypeAlias = Literal["retention", "emergency", "split", "newest_step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Ask the planner. Answer: ``Cut`` or ``NoCut``.

    ``retention`` and ``emergency`` cut at turn starts (keeping the retention, or only the newest
    turn); ``split`` and ``newest_step`` cut inside the newest turn.
    """

    keep: Keep
    kind: Literal["plan"] = "plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relieve:
    """Clear or trim outputs of the newest turn and save the records.

    Answer: ``Relieved`` or ``NothingToRelieve``, or as for ``Save``.
    """

    kind: Literal["relieve"] = "relieve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarise:
    """Generate one summary and measure the whole candidate.

    Answer: ``Generated``, ``GenerationFailed`` or ``Cancelled``. With ``extractive`` no model is
    called; that summary belongs to the generation that failed before it.
    """

    cut: Cut
    extractive: bool = False
    kind: Literal["summarise"] = "summarise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """Save the candidate just measured, atomically. Answer: ``Saved``, ``SaveFailed``.

    A cancellation that arrives meanwhile waits: the save finishes and ``Saved.cancelled`` says so.
    """

    kind: Literal["save"] = "save"


Why: TypeAlias = Literal[
    "calm", "held", "suppressed", "compacted", "nothing_to_cut", "failed", "relieved"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """Final: send the request. ``detail`` is a sentence where ``why`` alone does not say it."""

    why: Why
    detail: str = ""
    kind: Literal["send"] = "send"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """Final: the request does not fit and is not sent; ``cause`` is a sentence, or empty."""

    cause: str = ""
    kind: Literal["refuse"] = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Final: the run ends; nothing is sent."""

    why: Literal["cancelled", "save_failed"]
    kind: Literal["stop"] = "stop"


Effect: TypeAlias = Plan | Relieve | Summarise | Save | Send | Refuse | Stop


# --- outcomes: what the shell reports ------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Relieved:
    """Outputs were cleared or trimmed; ``reading`` is of the view as it now stands."""

    reading: Reading
    kind: Literal["relieved"] = "relieved"


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToRelieve:
    """No output of the view can be cleared or trimmed; nothing changed."""

    kind: Literal["nothing_to_relieve"] = "nothing_to_relieve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """A summary was written; ``candidate`` is the whole request with it, locally measured."""

    candidate: Measure
    kind: Literal["generated"] = "generated"


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationFailed:
    """No summary: failure or timeout; ``cause`` is a sentence."""

    cause: str
    kind: Literal["generation_failed"] = "generation_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The run was cancelled while the effect was performed; nothing of the effect was kept."""

    kind: Literal["cancelled"] = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """The candidate is saved and is the view now; ``cancelled`` says a cancellation waited."""

    reading: Reading
    cancelled: bool = False
    kind: Literal["saved"] = "saved"


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveFailed:
    """The save failed; everything stays pending."""

    kind: Literal["save_failed"] = "save_failed"


Outcome: TypeAlias = (
    Cut
    | NoCut
    | Relieved
    | NothingToRelieve
    | Generated
    | GenerationFailed
    | Cancelled
    | Saved
    | SaveFailed
)


# --- the machine ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """One preflight in progress, and the effect to perform next.

    Attributes:
        budget: limits of the request.
        settings: choices of the policy.
        counter: pressured preflights of this prompt run, this one included; hand it to the next
            preflight of the same run.
        reading: size of the request as the view now stands.
        generation_limit: summaries this preflight may generate.
        generations: summaries begun, not counting extractive fallbacks.
        saved: checkpoints saved.
        effect: what to do next.
        attempt: which of the two regular passes is under way, or the last resort.
        cut: the cut being summarised, or last summarised.
        relieved: relief was tried.
        failure: why the last generation came to nothing, as a sentence, or empty.
        failed: a generation of this preflight gave no summary at all (one that did not reduce is
            no failure); no split follows then, whatever a fallback came to.
        no_cut: why the planner found no cut last, as a sentence, or empty.
        fell_back: the failed generation was already tried extractively.
    """

    budget: Budget
    settings: PolicySettings
    counter: int
    reading: Reading
    effect: Effect
    generation_limit: int = GENERATIONS_PER_PREFLIGHT
    generations: int = 0
    saved: int = 0
    attempt: Keep = "retention"
    cut: Cut | None = None
    relieved: bool = False
    failure: str = ""
    failed: bool = False
    no_cut: str = ""
    fell_back: bool = False

    @property
    def started(self) -> bool:
        """Whether a compaction began, so that its end must be reported."""
        return self.generations > 0

    @property
    def fits(self) -> bool:
        """Whether the request fits as the view now stands."""
        return self.budget.fits(self.reading.pressure)


def begin(
    *,
    budget: Budget,
    settings: PolicySettings,
    counter: int,
    reading: Reading,
    forced: bool = False,
    held: bool = False,
) -> Preflight:
    """Start the preflight of one main request.

    Args:
        budget: limits of the request.
        settings: choices of the policy.
        counter: what the run's previous preflight returned; 0 for its first.
        reading: size of the request.
        forced: the provider rejected the request as too long: compact whatever the counter says.
        held: a restore is newer than every checkpoint: leave a request alone that fits.
    """
    state = Preflight(
        budget=budget,
        settings=settings,
        counter=counter,
        reading=reading,
        effect=Plan(keep="retention"),
    )
    if forced and not state.fits:
        return state
    if forced:
        floor = budget.input_limit + 1
        pressure = replace(reading.pressure, tokens=max(reading.pressure.tokens, floor))
        return replace(state, reading=replace(reading, pressure=pressure))
    if not budget.pressured(reading.pressure):
        return replace(state, counter=0, effect=Send(why="calm"))
    if held and state.fits:
        return replace(state, effect=Send(why="held"))
    if counter >= PRESSURED_PREFLIGHTS_PER_RUN:
        suppressed = replace(state, generation_limit=1)
        return _leave(suppressed, why="suppressed")
    return replace(state, counter=counter + 1)


def step(state: Preflight, outcome: Outcome) -> Preflight:
    """Take in what the shell reports of ``state.effect`` and give the next state."""
    match outcome:
        case Cut():
            return _summarise(state, outcome)
        case NoCut():
            return _without_cut(state, outcome)
        case Relieved(reading=reading):
            return _leave(replace(state, reading=reading, relieved=True), why="relieved")
        case NothingToRelieve():
            return _leave(replace(state, relieved=True))
        case Generated(candidate=candidate):
            reading = state.reading
            if state.budget.reduces(reading.comparable, candidate, pressure=reading.pressure):
                return replace(state, effect=Save())
            return _leave(replace(state, failure="the summary did not reduce the request."))
        case GenerationFailed(cause=cause):
            return _leave(replace(state, failure=cause, failed=True))
        case Cancelled():
            return replace(state, effect=Stop(why="cancelled"))
        case Saved():
            return _after_save(state, outcome)
        case SaveFailed():
            return replace(state, effect=Stop(why="save_failed"))
        case _:
            assert_never(outcome)


def _summarise(state: Preflight, cut: Cut) -> Preflight:
    return replace(
        state,
        cut=cut,
        generations=state.generations + 1,
        fell_back=False,
        failure="",
        effect=Summarise(cut=cut),
    )


def _without_cut(state: Preflight, no_cut: NoCut) -> Preflight:
    state = replace(state, no_cut=str(no_cut))
    if state.attempt == "retention" and not state.fits:
        return _plan(state, "emergency")
    return _leave(state, why="nothing_to_cut")


def _after_save(state: Preflight, saved: Saved) -> Preflight:
    state = replace(state, saved=state.saved + 1, reading=saved.reading, failure="")
    if saved.cancelled:
        return replace(state, effect=Stop(why="cancelled"))
    if state.fits:
        return _leave(state)
    if state.generations < state.generation_limit:
        if state.attempt == "retention":
            return _plan(state, "emergency")
        if state.attempt == "split":
            return _plan(state, "newest_step")
    return _leave(state)


def _plan(state: Preflight, keep: Keep) -> Preflight:
    return replace(state, attempt=keep, effect=Plan(keep=keep))


def _leave(state: Preflight, why: Why = "compacted") -> Preflight:
    """Send what fits; try what is left of the last resort for what does not; else refuse."""
    if state.fits:
        return replace(state, effect=_send(state, why))
    if state.settings.split_newest_turn:
        if not state.relieved:
            return replace(state, effect=Relieve())
        may_generate = state.generations < state.generation_limit and not state.failed
        if may_generate and state.attempt in {"retention", "emergency"}:
            return _plan(state, "split")
    if _may_fall_back(state):
        assert state.cut is not None
        return replace(state, fell_back=True, effect=Summarise(cut=state.cut, extractive=True))
    return replace(state, effect=Refuse(cause=state.failure or state.no_cut))


def _may_fall_back(state: Preflight) -> bool:
    return state.settings.extractive_fallback and bool(state.failure) and not state.fell_back


def _send(state: Preflight, why: Why) -> Send:
    if state.failure:
        return Send(why="failed", detail=state.failure)
    if state.saved:
        return Send(why="compacted")
    return Send(why=why, detail=state.no_cut if why == "nothing_to_cut" else "")
