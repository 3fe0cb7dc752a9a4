"""inspect-ai: a handler beside the full history gives the compacted input for each request."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    CompactionEdit,
    CompactionSummary,
    ModelOutput,
    ModelUsage,
    compaction,
    get_model,
)
from inspect_ai.tool import ToolCall

from peers.histories import REPLY, Item, Prompt
from peers.library import SUMMARY, MakeLibrary
from peers.vocabularies import use_shipped

use_shipped()


def converted(item: Item) -> list[ChatMessage]:
    """One item as messages."""
    if isinstance(item, Prompt):
        return [ChatMessageUser(content=item.text)]
    call = ToolCall(id=item.call_id, function="read", arguments={"n": item.number})
    return [
        ChatMessageAssistant(content=REPLY, tool_calls=[call]),
        ChatMessageTool(content=item.result, tool_call_id=item.call_id, function="read"),
    ]


class Compaction:
    """One strategy; what is compacted stands beside the history."""

    def __init__(self, strategy: Any, window: int) -> None:
        outputs = [ModelOutput.from_content("mockllm/model", SUMMARY) for _ in range(500)]
        model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
        strategy = strategy(threshold=window * 4 // 5, memory=False)
        self._compact = compaction(strategy, prefix=[], model=model)
        self._messages: list[ChatMessage] = []
        self._input: list[ChatMessage] = []
        self._counted: list[int] = []
        self._changes = 0

    def take(self, items: Sequence[Item]) -> None:
        for item in items:
            self._messages += converted(item)
            if not isinstance(item, Prompt) and item.input_tokens is not None:
                self._counted = [item.input_tokens]

    async def manage(self) -> None:
        """Tell the handler what the last request came to, and ask for the next one."""
        if self._counted and self._input:
            output = ModelOutput.from_content("mockllm/model", REPLY)
            tokens = self._counted.pop()
            output.usage = ModelUsage(input_tokens=tokens, output_tokens=9, total_tokens=tokens + 9)
            await self._compact.record_output(self._input, output)
        self._input, extra = await self._compact.compact_input(self._messages)
        if extra is not None:
            self._messages.append(extra)
            self._changes += 1

    def sent(self) -> list[str]:
        return [
            json.dumps([one.role, one.text, [c.id for c in getattr(one, "tool_calls", None) or []]])
            for one in self._input
        ]

    def declared(self) -> int:
        return self._changes

    def held(self) -> list[str]:
        return [one.text for one in self._messages if isinstance(one, ChatMessageTool)]


LIBRARIES: dict[str, MakeLibrary] = {
    "CompactionEdit": partial(Compaction, CompactionEdit),
    "CompactionSummary": partial(Compaction, CompactionSummary),
}
