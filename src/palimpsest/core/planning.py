"""Where to cut (SPEC section 5). Answers are values: ``Cut`` or ``NoCut`` with its reason."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Literal, TypeAlias

from palimpsest.core.calibration import UNCALIBRATED, Calibration
from palimpsest.core.view import View

NoCutReason: TypeAlias = Literal["fewer_than_two_turns", "everything_fits", "only_one_step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The kept part begins at ``first_kept_message_index``; ``split`` says it is mid-turn."""

    first_kept_message_index: int
    split: bool = False
    kind: Literal["cut"] = "cut"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCut:
    """There is nothing to summarise; an expected answer, not an error."""

    reason: NoCutReason
    kind: Literal["no_cut"] = "no_cut"

    def __str__(self) -> str:
        match self.reason:
            case "fewer_than_two_turns":
                return "this conversation has fewer than two turns after the last compaction."
            case "everything_fits":
                return "all turns after the last compaction fit what a compaction keeps."
            case "only_one_step":
                return "the newest turn has no older step to summarise."


def plan_cut(
    view: View, *, keep_tokens: int, calibration: Calibration = UNCALIBRATED
) -> Cut | NoCut:
    """Cut at a turn start, keeping the newest turn and the older ones that fit ``keep_tokens``.

    Going back from the newest turn, a turn is kept while the running sum stays within
    ``keep_tokens`` (inclusive); the first that does not fit ends the walk, and is summarised with
    everything older. ``keep_tokens=0`` cuts right before the newest turn. Summary, system text
    and tools take no part in the sum.
    """
    starts = _turn_starts(view)
    if len(starts) < 2:
        return NoCut(reason="fewer_than_two_turns")
    end = len(view.outline)
    oldest_kept = len(starts) - 1
    while oldest_kept > 0:
        tokens = view.measure_between(starts[oldest_kept - 1], end).tokens
        if oldest_kept == 1:
            tokens += _riding_prompt_tokens(view)
        if calibration.scale(tokens) > keep_tokens:
            break
        oldest_kept -= 1
    if oldest_kept == 0:
        return NoCut(reason="everything_fits")
    return Cut(first_kept_message_index=starts[oldest_kept])


def plan_split(
    view: View, *, keep_tokens: int, calibration: Calibration = UNCALIBRATED
) -> Cut | NoCut:
    """Cut after a completed step of the newest turn: the last resort.

    Keeps the most steps that fit ``keep_tokens``, and the newest step always;
    ``keep_tokens=0`` keeps only that one. The turn's prompt rides along outside this sum.
    """
    outline = view.outline
    if not outline.prompts:
        return NoCut(reason="fewer_than_two_turns")
    first = max(outline.prompts[-1], view.cut)
    steps = outline.step_starts[bisect_left(outline.step_starts, first) :]
    if len(steps) < 2:
        return NoCut(reason="only_one_step")
    end = len(outline)
    for step in steps[1:]:
        if calibration.scale(view.measure_between(step, end).tokens) <= keep_tokens:
            return Cut(first_kept_message_index=step, split=True)
    return Cut(first_kept_message_index=steps[-1], split=True)


def _turn_starts(view: View) -> list[int]:
    """Give the turns at or after the cut; the kept rest of a split turn counts as one."""
    starts = view.outline.turn_starts
    if view.prompt_index is None:
        return starts[bisect_left(starts, view.cut) :]
    return [view.cut, *starts[bisect_right(starts, view.cut) :]]


def _riding_prompt_tokens(view: View) -> int:
    if view.prompt_index is None:
        return 0
    return view.outline.measure_of(view.prompt_index).tokens
