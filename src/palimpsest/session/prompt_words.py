"""What was said in messages, by whom: the person's own words told from what was put beside them."""

from __future__ import annotations

from pathlib import Path

from pydantic_ai.messages import ModelMessage

from palimpsest.core.excerpt import Excerpt
from palimpsest.formats.prompts import injected_parts, starts_turn
from palimpsest.formats.pydantic_ai import part_excerpts
from palimpsest.session.doctor import export_messages


def excerpts_of(message: ModelMessage) -> list[Excerpt]:
    """Read a message; skills in front of a prompt count as injected."""
    injected = injected_parts(message)
    typed = starts_turn(message)
    rows = list(part_excerpts(message, is_prompt=typed))
    front = list(part_excerpts(message, is_prompt=False))[:injected]
    return [row for part in [*front, *rows[injected:]] for row in part]


def prompt_words(message: ModelMessage) -> str:
    """Give what the person typed in a prompt, attachments and skills left out."""
    texts = [row.text for row in excerpts_of(message) if row.kind == "user_text"]
    return "\n".join(texts)


def first_words(path: Path) -> str:
    """Give a stored session's first prompt, or nothing; reads no more than that.

    Raises:
        SessionNotFoundError: there is no such file.
        OSError: it cannot be read.
    """
    first = next(filter(starts_turn, export_messages(path)), None)
    return "" if first is None else prompt_words(first)
