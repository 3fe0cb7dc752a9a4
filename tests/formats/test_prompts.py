"""Which messages start a turn: said by us, else told from their parts."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest

from palimpsest.formats.prompts import mark, starts_turn
from palimpsest.formats.pydantic_ai import outline

PROMPT = {"part_kind": "user-prompt", "content": "go on"}
RETURN = {"part_kind": "tool-return", "tool_name": "t", "content": "x", "tool_call_id": "a"}
RETRY = {"part_kind": "retry-prompt", "content": "again"}


@pytest.mark.parametrize(
    ("parts", "starts"),
    [
        ([PROMPT], True),
        ([RETURN], False),
        ([RETURN, PROMPT], False),
        ([RETRY, PROMPT], False),
    ],
)
def test_the_parts_decide_where_nothing_is_said(parts: list[Any], starts: bool) -> None:
    [message] = ModelMessagesTypeAdapter.validate_python([{"kind": "request", "parts": parts}])
    assert isinstance(message, ModelRequest)
    assert starts_turn(message) is starts
    assert outline(message).starts_turn is starts
    has_prompt = PROMPT in parts
    assert starts_turn(mark(message, prompt=True)) is has_prompt
    assert not starts_turn(mark(message, prompt=False))
