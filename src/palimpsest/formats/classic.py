"""The classic pruning tool: plain functions that edit the caller's own list in place.

For people who want just that (SPEC section 4). They work on pydantic-ai messages and on any
objects with the same attributes: a message has ``parts``, a part has ``part_kind`` and
``content``. Everything else in Palimpsest is lossless; these functions are not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from palimpsest.core.outline import Position
from palimpsest.core.placeholder import PRUNE_PLACEHOLDER
from palimpsest.core.pruning import (
    PRUNE_MIN_USER_TURNS,
    PRUNE_MINIMUM_THRESHOLD,
    PRUNE_PROTECT_TOKENS,
    pruning_size,
    victims,
)


class PruneResult(NamedTuple):
    """What pruning did: outputs replaced, and Σ (original − placeholder) in tokens."""

    pruned_count: int
    tokens_reclaimed: int


class PruneThresholds(NamedTuple):
    """Newest outputs that stay, and what must be reclaimed at least, both in tokens."""

    protect_tokens: int
    minimum_threshold: int


def prune_old_tool_outputs(messages: Sequence[object], model: object = None) -> PruneResult:
    """Replace old tool outputs by a placeholder, in the caller's messages.

    Walking from the newest output back, the first that takes the sum above
    ``PRUNE_PROTECT_TOKENS`` and everything older go, if together they hold more than
    ``PRUNE_MINIMUM_THRESHOLD``. Nothing happens before the second user turn. Only tool returns
    are touched; parts that cannot be changed are left alone and the others go on. Calling it again
    changes nothing.

    Args:
        messages: oldest first; their parts are edited in place.
        model: accepted for the classic signature, and ignored.
    """
    del model
    if count_user_turns(messages) < PRUNE_MIN_USER_TURNS:
        return PruneResult(0, 0)
    parts = dict(_shown_outputs(messages))
    outputs = [(position, estimate_part_tokens(part)) for position, part in reversed(parts.items())]
    chosen = list(
        victims(
            outputs,
            protect_tokens=PRUNE_PROTECT_TOKENS,
            placeholder_tokens=pruning_size(len(PRUNE_PLACEHOLDER)),
        )
    )
    if sum(size for _, size in chosen) <= PRUNE_MINIMUM_THRESHOLD:
        return PruneResult(0, 0)
    reclaimed = [prune_part_content(parts[position]) for position, _ in chosen]
    return PruneResult(sum(tokens > 0 for tokens in reclaimed), sum(reclaimed))


def get_prune_thresholds() -> PruneThresholds:
    """Give the thresholds of ``prune_old_tool_outputs``."""
    return PruneThresholds(PRUNE_PROTECT_TOKENS, PRUNE_MINIMUM_THRESHOLD)


def is_tool_return_part(part: object) -> bool:
    """Whether a part is the result of a tool call."""
    return getattr(part, "part_kind", None) == "tool-return"


def count_user_turns(messages: Sequence[object]) -> int:
    """Count the messages that hold a user prompt, each once.

    A message counts with at least one ``user-prompt`` part, or as a mapping with role ``user`` and
    some content.
    """
    return sum(_is_user_turn(message) for message in messages)


def estimate_part_tokens(part: object) -> int:
    """Estimate the content of a part: four characters a token, rounded down.

    Content that is no text counts by its JSON rendering; missing content counts nothing.
    """
    return pruning_size(len(_rendered(getattr(part, "content", None))))


def prune_part_content(part: object) -> int:
    """Replace a part's content by the placeholder.

    Returns:
        Tokens reclaimed; 0 where the content is already cleared, not larger than the placeholder,
        or cannot be changed (the part is then as it was).
    """
    reclaimed = estimate_part_tokens(part) - pruning_size(len(PRUNE_PLACEHOLDER))
    if reclaimed <= 0:
        return 0
    try:
        part.content = PRUNE_PLACEHOLDER  # type: ignore[attr-defined]  # any object may be handed in
    except (AttributeError, TypeError, ValueError):
        return 0
    return reclaimed


def _shown_outputs(messages: Sequence[object]) -> Iterator[tuple[Position, object]]:
    for message_index, message in enumerate(messages):
        for part_index, part in enumerate(_parts(message)):
            cleared = getattr(part, "content", None) == PRUNE_PLACEHOLDER
            if is_tool_return_part(part) and not cleared:
                yield Position(message_index, part_index), part


def _parts(message: object) -> Sequence[object]:
    return cast("Sequence[object]", getattr(message, "parts", None) or ())


def _is_user_turn(message: object) -> bool:
    if isinstance(message, Mapping):
        fields = cast("Mapping[object, object]", message)
        return fields.get("role") == "user" and bool(fields.get("content"))
    return any(getattr(part, "part_kind", None) == "user-prompt" for part in _parts(message))


def _rendered(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)
