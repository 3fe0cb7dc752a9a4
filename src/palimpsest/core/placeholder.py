"""What stands in the view in place of a cleared tool output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palimpsest.core.call_facts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

PRUNE_PLACEHOLDER = "[Old tool result content cleared]"
MAX_NAMED_ATOMS = 10
_MAX_TARGET_CHARS = 120


def content_aware_placeholder(
    tool_name: str, target: str, size_tokens: int, unique_atoms: Iterable[str]
) -> str:
    """Name what a cleared output was, and what stands nowhere else in the view.

    Args:
        tool_name: the tool that gave the output.
        target: what it worked on (``CallFacts.target``); white space is collapsed and all beyond
            120 characters left out. May be empty.
        size_tokens: size of the output that was cleared.
        unique_atoms: atoms of the output found nowhere else in the view, best first; the first
            ten are named.

    Returns:
        One line in square brackets, beginning like ``PRUNE_PLACEHOLDER``.
    """
    subject = " ".join(
        part for part in (one_line(tool_name), one_line(target, _MAX_TARGET_CHARS)) if part
    )
    named = [one_line(atom) for atom in unique_atoms][:MAX_NAMED_ATOMS]
    only_here = f"; only here: {' '.join(named)}" if named else ""
    return f"{PRUNE_PLACEHOLDER[:-1]}: {subject}, {size_tokens:,} tokens{only_here}]"
