"""Numbers with their nouns, as people say them; pure."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """Give a number with its noun, in the plural where that is due: ``1 turn``, ``1,200 turns``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
