"""OpenAI Agents SDK: a filter of what a model is sent, and a session that remembers for it.

``CompactingSession(SQLiteSession("a"))`` stores every item as the session under it does;
``session.run_config()`` gives the runner the filter that belongs to it, and models that answer a
rejection. Without a session, ``CompactionFilter`` does by itself.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from agents import RunConfig
from agents.models.interface import Model
from agents.run_config import CallModelData, CallModelInputFilter, ModelInputData
from agents.tool import FunctionTool

from palimpsest.core.errors import ForeignStateError
from palimpsest.core.excerpt import Json
from palimpsest.core.record_codec import JsonObject
from palimpsest.formats.content import Record
from palimpsest.formats.openai_responses import OpenAIResponses
from palimpsest.integrations.compactor import (
    Compactor,
    CompactorSettings,
    MessagesDoNotFitError,
    Overhead,
)
from palimpsest.integrations.openai_agents_model import (
    NEWEST_REQUEST,
    RecoveringProvider,
    recovering,
)
from palimpsest.models.overflow import Overflow
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
    as they are. With ``run_config()`` it learns a provider's counts and answers its rejections,
    too. Of a conversation that the server keeps it sees only what is new.
    """

    def __init__(self, settings: CompactorSettings | None = None) -> None:
        """Take the choices; None takes the defaults, and the window of the agent's model."""
        self._settings = settings or CompactorSettings()
        self._conversations: OrderedDict[str, _Conversation] = OrderedDict()

    def run_config(self, base: RunConfig | None = None) -> RunConfig:
        """Give a run's configuration with this filter in it, and models that recover."""
        return _recovering_config(base or RunConfig(), self)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Give the view of the items that are about to be sent.

        Raises:
            ContextBudgetExceededError: the request does not fit and nothing made it fit.
            InvalidMessageError: an item cannot be read, and why.
        """
        key, conversation = self._known(cast("list[Record]", data.model_data.input))
        sent = await conversation.send(data)
        self._conversations.pop(key, None)
        # What was said so far names a conversation; two that began alike part with their items.
        self._conversations["".join(conversation.state.digests)] = conversation
        if len(self._conversations) > MOST_CONVERSATIONS:
            self._conversations.popitem(last=False)
        return sent

    def _known(self, items: list[Record]) -> tuple[str, _Conversation]:
        """Give the longest conversation that these items go on with."""
        said = "".join(_compactor("", self._settings).digests(items))
        known = [key for key in self._conversations if said.startswith(key)]
        key = max(known, key=len, default="")
        return key, self._conversations.get(key) or _Conversation(self._settings)


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
        self._conversation = _Conversation(settings or CompactorSettings())

    def run_config(self, base: RunConfig | None = None) -> RunConfig:
        """Give a run's configuration with this session's filter in it, and models that recover."""
        return _recovering_config(base or RunConfig(), self.filter)

    async def filter(self, data: CallModelData[Any]) -> ModelInputData:
        """Give the view of the items that are about to be sent.

        Items that were removed or edited since make it start anew.

        Raises:
            ContextBudgetExceededError: the request does not fit and nothing made it fit.
            InvalidMessageError: an item cannot be read, and why.
        """
        try:
            return await self._conversation.send(data)
        except ForeignStateError:
            self._conversation.begin(NEW)
            return await self._conversation.send(data)

    def dump(self) -> JsonObject:
        """Give what is known beside the items, as JSON."""
        return self._conversation.state.dump()

    def load(self, state: Json) -> None:
        """Take up what ``dump`` gave.

        Raises:
            InvalidSettingError: it is none, or was changed.
        """
        self._conversation.begin(CompactionState.load(state))

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
        self._conversation.begin(NEW)


class _Conversation:
    """What is known of one conversation."""

    def __init__(self, settings: CompactorSettings) -> None:
        self._settings = settings
        self.begin(NEW)

    def begin(self, state: CompactionState) -> None:
        """Take up a state, or none."""
        self.state = state
        self.reported_tokens = 0

    async def send(self, data: CallModelData[Any]) -> ModelInputData:
        """Give the view of a request, and have the model find it."""
        view = await self.view(data)
        NEWEST_REQUEST.set(_Request(self, data, view))
        return ModelInputData(input=view, instructions=data.model_data.instructions)

    async def view(
        self, data: CallModelData[Any], overflow: Overflow | None = None
    ) -> list[TResponseInputItem]:
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
        try:
            compacted = await _compactor(_model_name(data.agent), self._settings).compact(
                cast("list[Record]", data.model_data.input),
                state=self.state,
                overhead=Overhead(system=data.model_data.instructions, tools=tools),
                reported_tokens=self.reported_tokens,
                overflow=overflow,
            )
        except MessagesDoNotFitError as error:
            self.begin(error.state)
            raise
        self.begin(compacted.state)
        return cast("list[TResponseInputItem]", compacted.messages)


@dataclass(frozen=True, slots=True)
class _Request:
    """A request of a conversation, as ``FilteredRequest`` describes it."""

    conversation: _Conversation
    data: CallModelData[Any]
    view: list[TResponseInputItem]

    async def again(self, overflow: Overflow) -> list[TResponseInputItem]:
        return await self.conversation.view(self.data, overflow)

    def counted(self, tokens: int) -> None:
        self.conversation.reported_tokens = tokens


def _recovering_config(base: RunConfig, filter: CallModelInputFilter) -> RunConfig:
    return replace(
        base,
        call_model_input_filter=filter,
        model=recovering(base.model) if isinstance(base.model, Model) else base.model,
        model_provider=RecoveringProvider(base.model_provider),
    )


def _compactor(model: str, settings: CompactorSettings) -> Compactor[Record]:
    return Compactor(OpenAIResponses(), replace(settings, model=settings.model or model or None))


def _model_name(agent: Agent[Any]) -> str:
    name = agent.model if isinstance(agent.model, str) else getattr(agent.model, "model", "")
    return name if isinstance(name, str) else ""
