"""Which messages the person typed: said by us when a prompt is accepted, kept with the message."""

from __future__ import annotations

import dataclasses
from typing import cast

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart

from palimpsest.formats.pydantic_ai import answers

_KEY = "palimpsest"


def mark(message: ModelRequest, *, prompt: bool, injected_parts: int = 0) -> ModelRequest:
    """Give the message marked as the person's prompt, or as text that nobody typed.

    Args:
        message: a request.
        prompt: whether the person typed it.
        injected_parts: of a prompt, how many parts at its front nobody typed (expanded skills).
    """
    said: dict[str, object] = {"prompt": prompt}
    if injected_parts:
        said["injected_parts"] = injected_parts
    return dataclasses.replace(message, metadata={**(message.metadata or {}), _KEY: said})


def mark_truncated(message: ModelResponse) -> ModelResponse:
    """Give the reply marked as cut short because the window was full."""
    metadata = {**(message.metadata or {}), _KEY: {"truncated": True}}
    return dataclasses.replace(message, metadata=metadata)


def is_truncated(message: ModelMessage) -> bool:
    """Whether the message is a reply that was marked as cut short."""
    return _said(message, "truncated") is True


def injected_parts(message: ModelMessage) -> int:
    """Give how many parts at the front of a prompt nobody typed."""
    count = _said(message, "injected_parts")
    return count if isinstance(count, int) else 0


def is_prompt(message: ModelMessage) -> bool | None:
    """Whether the person typed it; None where nothing was said, so that its parts decide."""
    said = _said(message, "prompt")
    return said if isinstance(said, bool) else None


def starts_turn(message: ModelMessage) -> bool:
    """Whether a message is the person's prompt: as it says, else by its parts (SPEC section 1)."""
    said = is_prompt(message)
    typed = not any(map(answers, message.parts)) if said is None else said
    return typed and any(isinstance(part, UserPromptPart) for part in message.parts)


def _said(message: ModelMessage, name: str) -> object:
    mark = (message.metadata or {}).get(_KEY)
    return cast("dict[str, object]", mark).get(name) if isinstance(mark, dict) else None
