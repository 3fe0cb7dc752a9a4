"""Agent Framework: annotates the messages; what is left out is marked, and stays in the list."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agent_framework import (
    Content,
    ContextWindowCompactionStrategy,
    Message,
    included_messages,
)

from peers.histories import REPLY, Item, Prompt
from peers.library import MakeLibrary


def converted(item: Item) -> list[Message]:
    """One item as messages."""
    if isinstance(item, Prompt):
        return [Message("user", [item.text])]
    call = Content.from_function_call(item.call_id, "read", arguments={"n": item.number})
    result = Content.from_function_result(item.call_id, result=item.result)
    return [
        Message("assistant", [Content.from_text(REPLY), call]),
        Message("tool", [result]),
    ]


class ContextWindow:
    """``ContextWindowCompactionStrategy``: evicts tool results, then truncates."""

    def __init__(self, window: int) -> None:
        self._strategy = ContextWindowCompactionStrategy(
            max_context_window_tokens=window, max_output_tokens=window // 10
        )
        self._messages: list[Message] = []
        self._sent: list[Message] = []
        self._changes = 0

    def take(self, items: Sequence[Item]) -> None:
        for item in items:
            self._messages += converted(item)

    async def manage(self) -> None:
        self._changes += await self._strategy(self._messages)
        self._sent = included_messages(self._messages)

    def sent(self) -> list[str]:
        return [json.dumps([one.role, list(map(_content, one.contents))]) for one in self._sent]

    def declared(self) -> int:
        return self._changes

    def held(self) -> list[str]:
        return [
            str(content.result)
            for one in self._messages
            for content in one.contents
            if content.type == "function_result"
        ]


def _content(content: Any) -> list[str]:
    return [str(content.type), str(content.text or content.result or content.arguments)]


LIBRARIES: dict[str, MakeLibrary] = {"ContextWindowCompactionStrategy": ContextWindow}
