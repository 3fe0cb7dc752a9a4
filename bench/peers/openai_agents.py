"""OpenAI Agents SDK: a filter trims a copy of the input; its compaction needs OpenAI's server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agents import Agent
from agents.extensions import ToolOutputTrimmer
from agents.run import CallModelData, ModelInputData

from peers.histories import REPLY, Item, Prompt
from peers.library import MakeLibrary


def converted(item: Item) -> list[Any]:
    """One item as input items of the Responses API."""
    if isinstance(item, Prompt):
        return [{"role": "user", "content": item.text}]
    call = {"call_id": item.call_id, "name": "read", "arguments": json.dumps({"n": item.number})}
    return [
        {"role": "assistant", "content": REPLY},
        {"type": "function_call", **call},
        {"type": "function_call_output", "call_id": item.call_id, "output": item.result},
    ]


class Trimmer:
    """``ToolOutputTrimmer`` at its defaults, anew on each request; it knows no window."""

    def __init__(self, window: int) -> None:
        del window
        self._trimmer = ToolOutputTrimmer()
        self._agent: Agent[Any] = Agent(name="bench")
        self._items: list[Any] = []
        self._input: list[Any] = []

    def take(self, items: Sequence[Item]) -> None:
        for item in items:
            self._items += converted(item)

    async def manage(self) -> None:
        data = ModelInputData(input=list(self._items), instructions=None)
        self._input = self._trimmer(CallModelData(data, self._agent, None)).input

    def sent(self) -> list[str]:
        return list(map(json.dumps, self._input))

    def declared(self) -> int:
        return 0  # no event, no record

    def held(self) -> list[str]:
        return [one["output"] for one in self._items if "output" in one]


LIBRARIES: dict[str, MakeLibrary] = {"ToolOutputTrimmer": Trimmer}
