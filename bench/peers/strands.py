"""Strands: the default conversation manager, before each model call, with proactive compression."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.event_loop.event_loop import _estimate_input_tokens
from strands.models.model import Model

from peers.histories import REPLY, Item, Prompt
from peers.library import MakeLibrary


class Offline(Model):
    """A model that is asked for its window and for counts only, and counts as its base does."""

    def __init__(self, window: int) -> None:
        self._window = window

    def get_config(self) -> Any:
        return {"model_id": "offline", "context_window_limit": self._window}

    def update_config(self, **model_config: Any) -> None:
        raise NotImplementedError

    def stream(self, *arguments: Any, **named: Any) -> Any:
        raise NotImplementedError

    def structured_output(self, *arguments: Any, **named: Any) -> Any:
        raise NotImplementedError


def converted(item: Item) -> list[dict[str, Any]]:
    """One item as messages."""
    if isinstance(item, Prompt):
        return [{"role": "user", "content": [{"text": item.text}]}]
    use = {"toolUseId": item.call_id, "name": "read", "input": {"n": item.number}}
    reply: dict[str, Any] = {"role": "assistant", "content": [{"text": REPLY}, {"toolUse": use}]}
    if item.input_tokens is not None:
        total = item.input_tokens + 9
        usage = {"inputTokens": item.input_tokens, "outputTokens": 9, "totalTokens": total}
        reply["metadata"] = {"usage": usage}
    result = {"toolUseId": item.call_id, "status": "success", "content": [{"text": item.result}]}
    return [reply, {"role": "user", "content": [{"toolResult": result}]}]


class SlidingWindow:
    """What the event loop does: estimate, then the manager's two hooks."""

    def __init__(self, window: int) -> None:
        self._manager = SlidingWindowConversationManager(per_turn=True, proactive_compression=True)
        self._agent: Any = SimpleNamespace(
            messages=[],
            system_prompt=None,
            _system_prompt_content=None,
            model=Offline(window),
            tool_registry=SimpleNamespace(get_all_tool_specs=list),
        )

    def take(self, items: Sequence[Item]) -> None:
        for item in items:
            self._agent.messages += converted(item)

    async def manage(self) -> None:
        tokens = await _estimate_input_tokens(self._agent)
        event: Any = SimpleNamespace(agent=self._agent, projected_input_tokens=tokens)
        self._manager._on_before_model_call_threshold(event)
        self._manager._on_before_model_call(event)

    def sent(self) -> list[str]:
        return [json.dumps([one["role"], one["content"]]) for one in self._agent.messages]

    def declared(self) -> int:
        return self._manager.removed_message_count

    def held(self) -> list[str]:
        blocks = (block for message in self._agent.messages for block in message["content"])
        return [b["toolResult"]["content"][0]["text"] for b in blocks if "toolResult" in b]


LIBRARIES: dict[str, MakeLibrary] = {"SlidingWindow(40)": SlidingWindow}
