"""One oversized tool output shown by head and tail (SPEC section 4)."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.core.estimate import text_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimmedText:
    """How much of a text is shown, in code points; the rest is omitted."""

    head_characters: int
    tail_characters: int
    text: str


def trimmed_text(text: str, head_characters: int, tail_characters: int) -> str:
    """Render head, notice and tail; the text itself where nothing would be omitted."""
    omitted = len(text) - head_characters - tail_characters
    if omitted <= 0:
        return text
    head, tail = text[:head_characters], text[len(text) - tail_characters :]
    return f"{head}\n[{omitted:,} characters omitted from this view]\n{tail}"


def trim_to(text: str, shown_tokens: int) -> TrimmedText:
    """Choose head and tail, of equal length, so that the shown text stays within the tokens.

    A limit too small for the notice shows the notice alone.
    """
    low, high = 0, len(text) // 2
    while low < high:
        side = (low + high + 1) // 2
        if text_tokens(trimmed_text(text, side, side)) <= shown_tokens:
            low = side
        else:
            high = side - 1
    return TrimmedText(head_characters=low, tail_characters=low, text=trimmed_text(text, low, low))
