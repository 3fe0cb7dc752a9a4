"""LangChain 1.x: a middleware that edits the request, never the thread.

``create_agent(model, tools, middleware=[CompactionMiddleware()])``. The thread's messages stay as
they are; what was decided about them is stored in the thread's own state, by its checkpointer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, cast

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.types import Command

from palimpsest.core.errors import ForeignStateError
from palimpsest.formats.langchain import LangChainMessages
from palimpsest.integrations.compactor import (
    CompactedMessages,
    Compactor,
    CompactorSettings,
    Overhead,
)
from palimpsest.integrations.messages import run_sync
from palimpsest.models.overflow import Overflow, classify_rejection
from palimpsest.models.state import NEW, CompactionState

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

STATE_KEY = "palimpsest"


class CompactionAgentState(AgentState[Any]):
    """The thread's state, with what the middleware remembers; no input and no output shows it."""

    palimpsest: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


class CompactionMiddleware(AgentMiddleware[CompactionAgentState, Any, Any]):
    """Sends a view of the thread that fits the model, and recovers once where it did not fit.

    A thread whose earlier messages were edited or removed starts anew.
    """

    state_schema = CompactionAgentState

    def __init__(self, settings: CompactorSettings | None = None) -> None:
        """Take the choices.

        Args:
            settings: None takes the defaults. Without a model in them, the window is that of the
                request's model, by its profile or its name.
        """
        super().__init__()
        self.settings = settings or CompactorSettings()

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ExtendedModelResponse[Any]:
        """Send the view.

        Raises:
            ContextBudgetExceededError: the request does not fit and nothing made it fit.
            InvalidMessageError: a message of the thread cannot be read, and why.
        """
        compacted = run_sync(self._compacted(request, _state(request)))
        try:
            response = handler(_with(request, compacted))
        except ContextOverflowError as error:
            compacted = run_sync(self._compacted(request, compacted.state, _overflow(error)))
            response = handler(_with(request, compacted))
        return _extended(response, compacted)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ExtendedModelResponse[Any]:
        """Send the view; raises as ``wrap_model_call`` does."""
        compacted = await self._compacted(request, _state(request))
        try:
            response = await handler(_with(request, compacted))
        except ContextOverflowError as error:
            compacted = await self._compacted(request, compacted.state, _overflow(error))
            response = await handler(_with(request, compacted))
        return _extended(response, compacted)

    async def _compacted(
        self, request: ModelRequest[Any], state: CompactionState, overflow: Overflow | None = None
    ) -> CompactedMessages[BaseMessage]:
        compactor = Compactor(LangChainMessages(), _settings_for(request.model, self.settings))
        messages = cast("list[BaseMessage]", request.messages)
        try:
            return await compactor.compact(
                messages,
                state=state,
                overhead=_overhead(request),
                reported_tokens=0 if overflow else _reported(messages, state),
                overflow=overflow,
            )
        except ForeignStateError:
            return await compactor.compact(messages, overhead=_overhead(request), overflow=overflow)


def _state(request: ModelRequest[Any]) -> CompactionState:
    stored = cast("Mapping[str, Any]", request.state).get(STATE_KEY)
    return CompactionState.load(stored) if stored else NEW


def _with(
    request: ModelRequest[Any], compacted: CompactedMessages[BaseMessage]
) -> ModelRequest[Any]:
    return request.override(messages=cast("Any", compacted.messages))


def _extended(
    response: ModelResponse[Any], compacted: CompactedMessages[BaseMessage]
) -> ExtendedModelResponse[Any]:
    update: dict[str, Any] = {STATE_KEY: compacted.state.dump()}
    return ExtendedModelResponse(model_response=response, command=Command(update=update))


def _overflow(error: ContextOverflowError) -> Overflow:
    """Read the numbers in a rejection where its wording is known."""
    return classify_rejection(str(error)) or Overflow()


def _reported(messages: list[BaseMessage], state: CompactionState) -> int:
    """Give the provider's count of the newest request: its reply stands right behind it."""
    reply = messages[state.sent_units] if 0 < state.sent_units < len(messages) else None
    usage = reply.usage_metadata if isinstance(reply, AIMessage) else None
    return 0 if usage is None else usage["input_tokens"]


def _overhead(request: ModelRequest[Any]) -> Overhead:
    tools = [convert_to_openai_tool(tool)["function"] for tool in request.tools]
    return Overhead(system=request.system_prompt, tools=tools)


def _settings_for(model: BaseChatModel, settings: CompactorSettings) -> CompactorSettings:
    """Fill in what the request's model says of itself."""
    profile = cast("Mapping[str, Any]", getattr(model, "profile", None) or {})
    limits = settings.limits
    limits = replace(
        limits,
        window=limits.window or profile.get("max_input_tokens"),
        max_output=limits.max_output
        or getattr(model, "max_tokens", None)
        or profile.get("max_output_tokens"),
    )
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    named = name if isinstance(name, str) else None
    return replace(settings, limits=limits, model=settings.model or named)
