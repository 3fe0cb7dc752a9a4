"""OpenAI Agents SDK: a filter of what a model is sent, and a session that remembers for it.

``CompactingSession(SQLiteSession("a"))`` stores every item as the session under it does;
``session.run_config()`` gives the runner the filter that belongs to it, and models that answer a
rejection. Without a session, ``CompactionFilter`` does by itself.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

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


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a conversation after its newest request; a value.

    Attributes:
        state: as that request left it.
        reported_tokens: the provider's count of that request; 0 until there is one.
        shared: two requests said the same, so that nobody can tell whose count is whose.
    """

    state: CompactionState = NEW
    reported_tokens: int = 0
    shared: bool = False

    @property
    def key(self) -> str:
        """All that was said, as its digests."""
        return "".join(self.state.digests)


NOTHING_KNOWN = _Known()


class CompactionFilter:
    """``RunConfig(call_model_input_filter=CompactionFilter())``: each request fits its model.

    One instance serves many conversations, told apart by their items. The runner's own items stay
    as they are. With ``run_config()`` it learns a provider's counts and answers its rejections,
    too. Of a conversation that the server keeps it sees only what is new.
    """

    def __init__(self, settings: CompactorSettings | None = None) -> None:
        """Take the choices; None takes the defaults, and the window of the agent's model."""
        self._settings = settings or CompactorSettings()
        self._conversations: OrderedDict[str, _Known] = OrderedDict()

    def run_config(self, base: RunConfig | None = None) -> RunConfig:
        """Give a run's configuration with this filter in it, and models that recover."""
        return _recovering_config(base or RunConfig(), self)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Give the view of the items that are about to be sent.

        Raises:
            ContextBudgetExceededError: the request does not fit and nothing made it fit.
            InvalidMessageError: an item cannot be read, and why.
        """
        request = _Request(self, self._settings, data)
        return await request.send(self._begun(cast("list[Record]", data.model_data.input)))

    def keep(self, before: _Known, after: _Known) -> _Known:
        """Keep what a request made of what it began with, and give it as it is kept.

        What was said so far names a conversation; two that began alike part with their items.
        """
        again = before.key == after.key
        # From what is shared, another run may still go on.
        if not again and not before.shared and self._conversations.get(before.key) is before:
            del self._conversations[before.key]
        found = self._conversations.pop(after.key, before)
        kept = replace(after, shared=found is not before or (again and before.shared))
        self._conversations[after.key] = kept
        if len(self._conversations) > MOST_CONVERSATIONS:
            self._conversations.popitem(last=False)
        return kept

    def count(self, known: _Known, tokens: int) -> None:
        """Learn from a count, unless another run may have sent this request."""
        if not known.shared and self._conversations.get(known.key) is known:
            self._conversations[known.key] = replace(known, reported_tokens=tokens)

    def _begun(self, items: list[Record]) -> _Known:
        """Give the longest conversation that these items go on with."""
        said = "".join(_compactor("", self._settings).digests(items))
        keys = [key for key in self._conversations if said.startswith(key)]
        known = self._conversations.get(max(keys, key=len, default=""), NOTHING_KNOWN)
        # The very same items are those of another run, or of another attempt.
        return replace(known, reported_tokens=0) if known.key == said else known


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
        self._known = NOTHING_KNOWN

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
        request = _Request(self, self._settings, data)
        try:
            return await request.send(self._known)
        except ForeignStateError:
            return await request.send(NOTHING_KNOWN)

    def keep(self, before: _Known, after: _Known) -> _Known:
        """Keep what a request made of what was known."""
        del before
        self._known = after
        return after

    def count(self, known: _Known, tokens: int) -> None:
        """Learn from a count, unless it is of another request than the newest."""
        if self._known is known:
            self._known = replace(known, reported_tokens=tokens)

    def dump(self) -> JsonObject:
        """Give what is known beside the items, as JSON."""
        return self._known.state.dump()

    def load(self, state: Json) -> None:
        """Take up what ``dump`` gave.

        Raises:
            InvalidSettingError: it is none, or was changed.
        """
        self._known = _Known(CompactionState.load(state))

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
        self._known = NOTHING_KNOWN


class _Owner(Protocol):
    """Whoever keeps what is known from request to request."""

    def keep(self, before: _Known, after: _Known) -> _Known:
        """Keep what a request made of what it began with, and give it as it is kept."""
        ...

    def count(self, known: _Known, tokens: int) -> None:
        """Take the provider's count of the request that left this."""
        ...


class _Request:
    """A request of a conversation, as ``FilteredRequest`` describes it.

    What it knows is its own: another run that says the same changes nothing about it.
    """

    def __init__(
        self, owner: _Owner, settings: CompactorSettings, data: CallModelData[Any]
    ) -> None:
        self._owner = owner
        self._settings = settings
        self._data = data
        self._known = NOTHING_KNOWN
        self.view: list[TResponseInputItem] = []

    async def send(self, begun: _Known) -> ModelInputData:
        """Give the view of the request, and have the model find it."""
        self._known = begun
        self.view = await self._compact()
        NEWEST_REQUEST.set(self)
        return ModelInputData(input=self.view, instructions=self._data.model_data.instructions)

    async def again(self, overflow: Overflow) -> list[TResponseInputItem]:
        return await self._compact(overflow)

    def counted(self, tokens: int) -> None:
        self._owner.count(self._known, tokens)

    async def _compact(self, overflow: Overflow | None = None) -> list[TResponseInputItem]:
        """Compact the items of the request, beside what its agent says and can do."""
        begun, data = self._known, self._data
        try:
            compacted = await _compactor(_model_name(data.agent), self._settings).compact(
                cast("list[Record]", data.model_data.input),
                state=begun.state,
                overhead=Overhead(system=data.model_data.instructions, tools=_tools(data.agent)),
                reported_tokens=begun.reported_tokens,
                overflow=overflow,
            )
        except MessagesDoNotFitError as error:
            self._known = self._owner.keep(begun, _Known(error.state))
            raise
        self._known = self._owner.keep(begun, _Known(compacted.state))
        return cast("list[TResponseInputItem]", compacted.messages)


def _tools(agent: Agent[Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.params_json_schema,
        }
        for tool in agent.tools
        if isinstance(tool, FunctionTool)
    ]


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
