"""What the next request is made of: the context meter's number, divided up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palimpsest.core.budget import Budget
from palimpsest.core.estimate import text_tokens
from palimpsest.core.outline import Position
from palimpsest.core.view import View, summary_measure
from palimpsest.models.limits import RequestOverhead


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBreakdown:
    """The next request by what stands in it; all in tokens, and they add up to ``total``.

    System text and tools are known from the first request on; before, they are 0.

    Attributes:
        budget: limits of the request.
        total: the number that every meter shows.
        system: system text.
        tools: declarations of tools.
        skills: skills that the person selected, in kept turns.
        summary: of the active checkpoint, 0 without one.
        turns: everything else that is kept word for word.
        cleared: what stands in the place of cleared and trimmed outputs.
        turns_kept: turns that stand in the view.
        outputs_cleared: outputs of kept turns that are cleared or trimmed.
        cleared_away: what those outputs would take on top of ``cleared``.
    """

    budget: Budget
    total: int
    system: int
    tools: int
    skills: int
    summary: int
    turns: int
    cleared: int
    turns_kept: int
    outputs_cleared: int
    cleared_away: int

    @property
    def free(self) -> int:
        """Tokens that may still be added; 0 where the request does not fit."""
        return max(0, self.budget.largest_fitting - self.total)


def context_breakdown(
    view: View,
    overhead: RequestOverhead,
    *,
    skill_parts: Mapping[int, int],
    total: int,
    budget: Budget,
) -> ContextBreakdown:
    """Divide ``total`` in proportion to local estimates of what stands in the request.

    Args:
        view: what the model receives.
        overhead: of the newest request.
        skill_parts: of each prompt of the view that has any, how many parts at its front are
            expanded skills.
        total: what the meter shows.
        budget: limits of the request.
    """
    checkpoint = view.state.checkpoint
    summary = 0 if checkpoint is None else summary_measure(checkpoint.summary).tokens
    skills = _skill_tokens(view, skill_parts)
    edited = [at for at in {*view.state.cleared, *view.state.trimmed} if at.message >= view.cut]
    shown, whole = sum(_shown(view, at) for at in edited), sum(_whole(view, at) for at in edited)
    turns = max(0, view.measure().tokens - summary - skills - shown)
    parts = (overhead.system.tokens, overhead.tools.tokens, skills, summary, shown, turns)
    system, tools, skills, summary, cleared, turns = _apportioned(total, parts)
    return ContextBreakdown(
        budget=budget,
        total=total,
        system=system,
        tools=tools,
        skills=skills,
        summary=summary,
        turns=turns,
        cleared=cleared,
        turns_kept=sum(start >= view.cut for start in view.outline.prompts)
        + (view.prompt_index is not None),
        outputs_cleared=len(edited),
        cleared_away=max(0, whole - shown),
    )


def _skill_tokens(view: View, skill_parts: Mapping[int, int]) -> int:
    return sum(
        part.tokens
        for index, count in skill_parts.items()
        for part in view.outline[index].parts[:count]
    )


def _whole(view: View, at: Position) -> int:
    content = view.outline.part(at).content
    return 0 if content is None else content.tokens


def _shown(view: View, at: Position) -> int:
    """Measure what stands in an output's place."""
    placeholder = view.state.cleared.get(at)
    if placeholder is None:
        return view.state.trimmed[at].shown_tokens
    return text_tokens(placeholder)


def _apportioned(total: int, parts: Sequence[int]) -> list[int]:
    """Scale parts so that they add up to ``total`` exactly: the largest remainders round up."""
    whole = sum(parts)
    if whole == 0:  # an empty request, or one that only the provider has measured
        return [*parts[:-1], parts[-1] + total]
    shares = [divmod(part * total, whole) for part in parts]
    missing = total - sum(share for share, _ in shares)
    by_remainder = sorted(range(len(parts)), key=lambda index: -shares[index][1])
    rounded_up = set(by_remainder[:missing])
    return [share + (index in rounded_up) for index, (share, _) in enumerate(shares)]
