"""Histories as LangChain messages, for the two libraries that speak them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from peers.histories import REPLY, Item, Prompt


def converted(item: Item) -> list[Any]:
    """One item as messages."""
    if isinstance(item, Prompt):
        return [HumanMessage(item.text)]
    usage: Any = None
    if item.input_tokens is not None:
        total = item.input_tokens + 9
        usage = {"input_tokens": item.input_tokens, "output_tokens": 9, "total_tokens": total}
    call = {"name": "read", "args": {"n": item.number}, "id": item.call_id}
    return [
        AIMessage(
            REPLY,
            tool_calls=[call],
            usage_metadata=usage,
            response_metadata={"model_provider": "fake"},
        ),
        ToolMessage(item.result, tool_call_id=item.call_id),
    ]


def as_texts(messages: Iterable[Any]) -> list[str]:
    """What a model sees of messages."""
    return [
        json.dumps([one.type, one.content, getattr(one, "tool_calls", None)]) for one in messages
    ]


def results(messages: Iterable[Any]) -> list[str]:
    """The texts of all tool results."""
    return [str(one.content) for one in messages if isinstance(one, ToolMessage)]
