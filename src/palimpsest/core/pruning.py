"""Which old tool outputs leave the view (SPEC section 4).

Sizes here are pruning sizes: content only, four characters a token, rounded down, uncalibrated.
Nothing is edited: a plan says which positions show a placeholder from now on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from palimpsest.core.outline import Position
from palimpsest.core.placeholder import PRUNE_PLACEHOLDER
from palimpsest.core.view import View

PRUNE_PROTECT_TOKENS = 40_000
"""Newest outputs up to this sum are never cleared; reaching it exactly still protects."""

PRUNE_MINIMUM_THRESHOLD = 20_000
"""Clearing happens only when it takes more than this out of the view."""

PRUNE_MIN_USER_TURNS = 2
"""A conversation with fewer turns is left alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruningSettings:
    """Thresholds of pruning.

    Attributes:
        protect_tokens: newest outputs up to this sum stay, inclusive.
        minimum_tokens: nothing is cleared unless the victims sum to more than this.
        min_user_turns: fewer turns than this are left alone.
        placeholder: text shown in place of an output.
        keep_errors: results that report no success stay.
        never: names of tools whose results stay.
    """

    protect_tokens: int = PRUNE_PROTECT_TOKENS
    minimum_tokens: int = PRUNE_MINIMUM_THRESHOLD
    min_user_turns: int = PRUNE_MIN_USER_TURNS
    placeholder: str = PRUNE_PLACEHOLDER
    keep_errors: bool = False
    never: frozenset[str] = frozenset()

    @classmethod
    def for_window(cls, window: int) -> PruningSettings:
        """Give a session's defaults: no larger than a fifth and a tenth of the window."""
        return cls(
            protect_tokens=min(PRUNE_PROTECT_TOKENS, window // 5),
            minimum_tokens=min(PRUNE_MINIMUM_THRESHOLD, window // 10),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearingPlan:
    """Outputs to clear, ascending, and Σ (original − placeholder) in pruning sizes."""

    positions: tuple[Position, ...]
    tokens_reclaimed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimPlan:
    """One output to show by head and tail, in at most ``shown_tokens`` (uncalibrated)."""

    position: Position
    shown_tokens: int


def pruning_size(characters: int) -> int:
    """Give the pruning size of a content of so many code points."""
    return characters // 4


def victims(
    outputs: Iterable[tuple[Position, int]],
    *,
    protect_tokens: int,
    placeholder_tokens: int,
    may_clear: Callable[[Position], bool] = lambda _: True,
) -> Iterator[tuple[Position, int]]:
    """Yield the outputs behind the protection window that a placeholder would shrink.

    Args:
        outputs: uncleared outputs with their pruning sizes, newest first.
        protect_tokens: the first output that takes the sum above this is the newest victim.
        placeholder_tokens: a victim not larger than this is passed over.
        may_clear: whether an output may go; one that may not is passed over.
    """
    total = 0
    for position, size in outputs:
        total += size
        if total > protect_tokens and size > placeholder_tokens and may_clear(position):
            yield position, size


def plan_pruning(view: View, settings: PruningSettings) -> ClearingPlan | None:
    """Plan the clearing at the start of a prompt, on the history before it.

    Results of the newest step, results shown again by a restore and results that cannot be
    cleared stay. Planning again after the plan was recorded finds nothing.

    Returns:
        The plan, or None when there is nothing to clear or it would reclaim too little.
    """
    if view.outline.turns < settings.min_user_turns:
        return None
    return _plan(view, settings, minimum_tokens=settings.minimum_tokens)


def plan_relief(view: View, settings: PruningSettings) -> ClearingPlan | None:
    """Plan the last resort's clearing: inside the newest turn too, however little it reclaims.

    The newest step stays whole; so does the protection window.
    """
    return _plan(view, settings, minimum_tokens=0)


def plan_trim(view: View, *, excess_tokens: int, excess_bytes: int) -> TrimPlan | None:
    """Plan to trim the largest shown output so that the view shrinks by the excess.

    Args:
        view: the view that does not fit.
        excess_tokens: uncalibrated tokens to lose.
        excess_bytes: bytes to lose.

    Returns:
        The plan, or None when no output is large enough to be worth a notice.
    """
    trimmable = (at for at in _shown_outputs(view) if view.outline.part(at).clearable)
    largest = max(trimmable, key=lambda at: (_tokens(view, at), at), default=None)
    if largest is None:
        return None
    content = view.outline.part(largest).content
    assert content is not None
    excess = max(excess_tokens, -(-excess_bytes * content.tokens // max(1, content.bytes)))
    shown_tokens = max(SMALLEST_TRIM_TOKENS, content.tokens - excess)
    if shown_tokens >= content.tokens:
        return None
    return TrimPlan(position=largest, shown_tokens=shown_tokens)


SMALLEST_TRIM_TOKENS = 256
"""A trimmed output always shows this much, its notice included."""


def _plan(view: View, settings: PruningSettings, *, minimum_tokens: int) -> ClearingPlan | None:
    placeholder_tokens = pruning_size(len(settings.placeholder))
    chosen = list(
        victims(
            _sized(view),
            protect_tokens=settings.protect_tokens,
            placeholder_tokens=placeholder_tokens,
            may_clear=lambda position: _may_clear(view, settings, position),
        )
    )
    if sum(size for _, size in chosen) <= minimum_tokens:
        return None
    return ClearingPlan(
        positions=tuple(position for position, _ in reversed(chosen)),
        tokens_reclaimed=sum(size - placeholder_tokens for _, size in chosen),
    )


def _sized(view: View) -> Iterator[tuple[Position, int]]:
    for position in _shown_outputs(view):
        content = view.outline.part(position).content
        assert content is not None
        yield position, pruning_size(content.characters)


def _may_clear(view: View, settings: PruningSettings, position: Position) -> bool:
    part = view.outline.part(position)
    newest_step = view.outline.replies[-1] if view.outline.replies else 0
    return (
        part.clearable
        and position.message < newest_step
        and position not in view.state.shown_again
        and part.tool_name not in settings.never
        and not (settings.keep_errors and part.is_error)
    )


def _shown_outputs(view: View) -> Iterator[Position]:
    """Yield the outputs that the view shows whole, newest first, in time of what it shows."""
    outputs = view.outline.outputs
    first = bisect_left(outputs, Position(view.cut, 0))
    edited = view.edited_count(Position(view.cut, 0), outputs[-1]) if outputs else 0
    left = len(outputs) - first - edited
    for position in reversed(outputs):
        if left <= 0:
            return
        if view.shows(position):
            left -= 1
            yield position


def _tokens(view: View, position: Position) -> int:
    content = view.outline.part(position).content
    return content.tokens if content is not None else 0
