"""OpenAI Agents SDK: a filter of what a model is sent, and a session that remembers for it.

``CompactingSession(SQLiteSession("a"))`` stores every item as the session under it does;
``session.run_config()`` gives the runner the filter that belongs to it. Without a session,
``CompactionFilter`` does by itself.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from agents import RunConfig
from agents.run_config import CallModelData, ModelInputData
from agents.tool import FunctionTool

from palimpsest.core.errors import ForeignStateError
from palimpsest.core.excerpt import Json
from palimpsest.core.record_codec import JsonObject
from palimpsest.formats.content import Record
from palimpsest.formats.openai_responses import OpenAIResponses
from palimpsest.integrations.compactor import (
    CompactedMessages,
    Compactor,
    CompactorSettings,
    Overhead,
)
from palimpsest.models.state import NEW, CompactionState

if TYPE_CHECKING:
    from agents import Agent
    from agents.items import TResponseInputItem
    from agents.memory import Session, SessionSettings

MOST_CONVERSATIONS = 64
"""Conversations that a filter keeps at once. One that is dropped starts anew from its items."""


class CompactionFilter:
    """``RunConfig(call_model_input_filter=CompactionFilter())``: each request fits its model.

    One instance serves many conversations, told apart by their items. The runner's own items stay
    as they are. It sees neither a provider's counts nor its rejections, which the SDK keeps from
    filters; and of a conversation that the server keeps, only what is new.
    """

    def __init__(self, settings: CompactorSettings | None = None) -> None:
        """Take the choices; None takes the defaults, and the window of the agent's model."""
        self._settings = settings or CompactorSettings()
        self._states: OrderedDict[str, CompactionState] = OrderedDict()

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Give the view of the items that are about to be sent.

        Raises:
            ContextBudgetExceededError: the request does not fit and nothing made it fit.
            InvalidMessageError: an item cannot be read, and why.
        """
        items = cast("list[Record]", data.model_data.input)
        key, state = self._known(items)
        compacted = await compacted_items(data, items, state, self._settings)
        self._states.pop(key, None)
        # What was said so far names a conversation; two that began alike part with their items.
        self._states["".join(compacted.state.digests)] = compacted.state
        if len(self._states) > MOST_CONVERSATIONS:
            self._states.popitem(last=False)
        return _sent(data, compacted)

    def _known(self, items: list[Record]) -> tuple[str, CompactionState]:
        """Give the state of the longest conversation that these items go on with."""
        said = "".join(_compactor("", self._settings).digests(items))
        known = [key for key in self._states if said.startswith(key)]
        key = max(known, key=len, default="")
        return key, self._states.get(key, NEW)


class CompactingSession:
    """A session around another one, which keeps every item; its filter sends a view of them."""

    def __init__(self, underlying: Session, settings: CompactorSettings | None = None) -> None:
        """Wrap a session.

        Args:
            underlying: stores the items, all of them.
            settings: None takes the defaults, and the window of the agent's model.
        """
        self.underlying = underlying
        self.session_id = underlying.session_id
        self.session_settings: SessionSettings | None = underlying.session_settings
        self._settings = settings or CompactorSettings()
        self._state = NEW

    def run_config(self, base: RunConfig | None = None) -> RunConfig:
        """Give a run's configuration with this session's filter in it."""
        return replace(base or RunConfig(), call_model_input_filter=self.filter)

    async def filter(self, data: CallModelData[Any]) -> ModelInputData:
        """Give the view of the items that are about to be sent.

        Items that were removed or edited since make it start anew.

        Raises:
            ContextBudgetExceededError: the request does not fit and nothing made it fit.
            InvalidMessageError: an item cannot be read, and why.
        """
        items = cast("list[Record]", data.model_data.input)
        try:
            compacted = await compacted_items(data, items, self._state, self._settings)
        except ForeignStateError:
            compacted = await compacted_items(data, items, NEW, self._settings)
        self._state = compacted.state
        return _sent(data, compacted)

    def dump(self) -> JsonObject:
        """Give what is known beside the items, as JSON."""
        return self._state.dump()

    def load(self, state: Json) -> None:
        """Take up what ``dump`` gave.

        Raises:
            InvalidSettingError: it is none, or was changed.
        """
        self._state = CompactionState.load(state)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Give the items, originals."""
        return await self.underlying.get_items(limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store items."""
        await self.underlying.add_items(items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item and give it."""
        return await self.underlying.pop_item()

    async def clear_session(self) -> None:
        """Remove all items, and what is known of them."""
        await self.underlying.clear_session()
        self._state = NEW


async def compacted_items(
    data: CallModelData[Any],
    items: list[Record],
    state: CompactionState,
    settings: CompactorSettings,
) -> CompactedMessages[Record]:
    """Compact the items of a request, beside what its agent says and can do."""
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.params_json_schema,
        }
        for tool in data.agent.tools
        if isinstance(tool, FunctionTool)
    ]
    overhead = Overhead(system=data.model_data.instructions, tools=tools)
    compactor = _compactor(_model_name(data.agent), settings)
    return await compactor.compact(items, state=state, overhead=overhead)


def _compactor(model: str, settings: CompactorSettings) -> Compactor[Record]:
    return Compactor(OpenAIResponses(), replace(settings, model=settings.model or model or None))


def _model_name(agent: Agent[Any]) -> str:
    name = agent.model if isinstance(agent.model, str) else getattr(agent.model, "model", "")
    return name if isinstance(name, str) else ""


def _sent(data: CallModelData[Any], compacted: CompactedMessages[Record]) -> ModelInputData:
    items = cast("list[TResponseInputItem]", compacted.messages)
    return ModelInputData(input=items, instructions=data.model_data.instructions)
