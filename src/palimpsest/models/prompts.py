"""Which messages the person typed: said by us when a prompt is accepted, kept with the message."""

from __future__ import annotations

import dataclasses
from typing import cast

from pydantic_ai.messages import ModelMessage, ModelRequest

_KEY = "palimpsest"


def mark(message: ModelRequest, *, prompt: bool) -> ModelRequest:
    """Give the message marked as the person's prompt, or as text that nobody typed."""
    metadata = {**(message.metadata or {}), _KEY: {"prompt": prompt}}
    return dataclasses.replace(message, metadata=metadata)


def is_prompt(message: ModelMessage) -> bool | None:
    """Whether the person typed it; None where nothing was said, so that its parts decide."""
    mark = (message.metadata or {}).get(_KEY)
    if not isinstance(mark, dict):
        return None
    said = cast("dict[str, object]", mark).get("prompt")
    return said if isinstance(said, bool) else None
