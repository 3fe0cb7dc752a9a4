"""LangChain agents with the middleware: requests fit, the thread stays whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import PrivateAttr

from palimpsest.core.errors import ContextBudgetExceededError, InvalidMessageError
from palimpsest.formats.langchain import LangChainMessages
from palimpsest.integrations.compactor import Compactor, CompactorSettings
from palimpsest.integrations.langchain import CompactionMiddleware
from palimpsest.integrations.messages import run_sync
from palimpsest.models.limits import LimitChoices
from palimpsest.testing.provider_rules import openai_chat_violations

pytestmark = pytest.mark.anyio

TINY = LimitChoices(window=8_000, max_output=500)
CONFIG: Any = {"configurable": {"thread_id": "a"}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Scripted(BaseChatModel):
    """Reads in each turn, then says so; refuses what is longer than its window."""

    window: int = 0
    profile: Any = None
    replies_without_calls: bool = False
    _requests: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def requests(self) -> list[list[BaseMessage]]:
        return self._requests

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _reply(self, messages: list[BaseMessage]) -> AIMessage:
        tokens = sum(len(str(message.content)) for message in messages) // 4
        if self.window and tokens > self.window:
            raise ContextOverflowError(
                f"prompt is too long: {tokens} tokens > {self.window} maximum"
            )
        self._requests.append(messages)
        number = len(self._requests)
        if self.replies_without_calls or isinstance(messages[-1], ToolMessage):
            return AIMessage(f"Done {number}.")
        calls: Any = [
            {"name": "read", "args": {"path": f"p{number}/{one}"}, "id": f"c{number}/{one}"}
            for one in range(2)
        ]
        return AIMessage("", tool_calls=calls)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        reply = self._reply(messages)
        chunks: Any = [
            {"name": c["name"], "args": json.dumps(c["args"]), "id": c["id"], "index": at}
            for at, c in enumerate(reply.tool_calls)
        ]
        for word in str(reply.content).split() or [""]:
            chunk = AIMessageChunk(word, tool_call_chunks=chunks)
            yield ChatGenerationChunk(message=chunk)
            chunks = []


@tool
def read(path: str) -> str:
    """Read a file."""
    return f"{path}: " + "value = 1\n" * 60


def agent_of(model: Scripted, **choices: Any) -> Any:
    settings = CompactorSettings(**{"limits": TINY, **choices})
    return create_agent(
        model,
        [read],
        system_prompt="Rules of the house.",
        middleware=[CompactionMiddleware(settings)],
        checkpointer=InMemorySaver(),
    )


def said(messages: Sequence[BaseMessage]) -> list[Any]:
    return [LangChainMessages().identity(message) for message in messages]


def test_three_hundred_requests_stay_legal_extend_each_other_and_lose_nothing() -> None:
    model, events = Scripted(), list[Any]()
    agent = agent_of(model, on_event=events.append)
    for turn in range(150):
        agent.invoke({"messages": [("user", f"Prompt {turn}.")]}, CONFIG)
    assert len(model.requests) == 300
    for request in model.requests:
        assert openai_chat_violations(convert_to_openai_messages(request)) == []
    thread = agent.get_state(CONFIG).values["messages"]
    assert len(thread) == 5 * 150
    assert sum("value = 1" in str(message.content) for message in thread) == 300
    assert [m.content for m in thread if isinstance(m, HumanMessage)] == [
        f"Prompt {turn}." for turn in range(150)
    ]
    assert sum(event.kind == "compaction_end" for event in events) >= 3
    decisions = [event for event in events if event.kind == "context_budget"]
    assert len(decisions) == 300
    assert changed_without_a_record(model.requests, events) == 0


def changed_without_a_record(requests: list[list[BaseMessage]], events: list[Any]) -> int:
    """Count requests that do not extend the one before, though nothing was recorded between."""
    recorded: list[bool] = [False]
    for event in events:
        if event.kind == "context_budget":
            recorded.append(False)
        elif event.kind in {"pruned", "compaction_end"}:
            recorded[-1] = True
    pairs = zip(requests, requests[1:], recorded[1:], strict=False)
    return sum(
        not record and said(later)[: len(earlier)] != said(earlier)
        for earlier, later, record in pairs
    )


def test_old_outputs_are_cleared_in_the_request_only() -> None:
    model, events = Scripted(), list[Any]()
    agent = agent_of(model, on_event=events.append)
    for turn in range(12):
        agent.invoke({"messages": [("user", f"Prompt {turn}.")]}, CONFIG)
    assert {event.kind for event in events} == {"pruned", "context_budget"}
    assert "[Old tool result content cleared]" in str(model.requests[-1])
    assert "cleared" not in str(agent.get_state(CONFIG).values["messages"])


async def test_asynchronous_runs_and_streams() -> None:
    model = Scripted()
    agent = agent_of(model)
    await agent.ainvoke({"messages": [("user", "One.")]}, CONFIG)
    chunks = [
        chunk
        async for chunk, _ in agent.astream(
            {"messages": [("user", "Two.")]}, CONFIG, stream_mode="messages"
        )
    ]
    assert any("Done" in str(chunk.content) for chunk in chunks)
    assert "palimpsest" in agent.get_state(CONFIG).values
    result = await agent.ainvoke({"messages": [("user", "Three.")]}, CONFIG)
    assert "palimpsest" not in result


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_rejected_request_is_sent_once_more(is_async: bool) -> None:
    model, events = Scripted(window=2_000), list[Any]()
    agent = agent_of(
        model, on_event=events.append, limits=LimitChoices(window=64_000, max_output=100)
    )
    for turn in range(10):
        prompt: Any = {"messages": [("user", f"Prompt {turn}.")]}
        if is_async:
            await agent.ainvoke(prompt, CONFIG)
        else:
            agent.invoke(prompt, CONFIG)
    triggers = [event.trigger for event in events if event.kind == "compaction_start"]
    assert triggers[0] == "overflow"
    assert agent.get_state(CONFIG).values["palimpsest"]["window"] == 2_000
    assert len(agent.get_state(CONFIG).values["messages"]) == 50


def test_a_thread_that_was_edited_starts_anew() -> None:
    model = Scripted()
    agent = agent_of(model)
    agent.invoke({"messages": [("user", "One.")]}, CONFIG)
    first = agent.get_state(CONFIG).values["messages"][0]
    agent.update_state(CONFIG, {"messages": [HumanMessage("Other.", id=first.id)]})
    agent.invoke({"messages": [("user", "Two.")]}, CONFIG)
    assert model.requests[-1][1].content == "Other."
    agent.update_state(CONFIG, {"messages": [RemoveMessage(id=first.id)]})
    agent.invoke({"messages": [("user", "Three.")]}, CONFIG)


def test_the_model_says_what_fits() -> None:
    events: list[Any] = []
    settings = {"on_event": events.append, "limits": LimitChoices()}
    profile = {"max_input_tokens": 48_000, "max_output_tokens": 4_000}
    agent_of(Scripted(profile=profile), **settings).invoke({"messages": [("user", "Go.")]}, CONFIG)
    assert {(e.budget.window, e.budget.reserved_output) for e in events} == {(48_000, 4_000)}


def test_what_cannot_fit_is_refused() -> None:
    with pytest.raises(ContextBudgetExceededError):
        agent_of(Scripted()).invoke({"messages": [("user", "x" * 90_000)]}, CONFIG)


def test_the_providers_count_is_learned_from() -> None:
    usage: Any = {"input_tokens": 40, "output_tokens": 1, "total_tokens": 41}
    thread = [HumanMessage("One."), AIMessage("Yes.", usage_metadata=usage), HumanMessage("Two.")]
    middleware = CompactionMiddleware(CompactorSettings(limits=TINY))
    agent: Any = create_agent(Scripted(), [], middleware=[middleware], checkpointer=InMemorySaver())
    agent.invoke({"messages": thread[:1]}, CONFIG)
    reply = agent.get_state(CONFIG).values["messages"][1]
    agent.update_state(CONFIG, {"messages": [thread[1].model_copy(update={"id": reply.id})]})
    agent.invoke({"messages": thread[2:]}, CONFIG)
    assert agent.get_state(CONFIG).values["palimpsest"]["observations"] == 1


def test_content_of_all_kinds_is_read() -> None:
    image = "data:image/png;base64,iVBORw0KGgo="
    history = [
        SystemMessage("Rules."),
        HumanMessage([{"type": "text", "text": "See"}, {"type": "image_url", "image_url": image}]),
        AIMessage(
            [
                "plain",
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "reasoning", "reasoning": "hm"},
                {"type": "tool_use", "id": "c", "name": "read", "input": {}},
                {"type": "novel", "x": 1},
            ],
            tool_calls=[{"name": "read", "args": {}, "id": "c"}],
            invalid_tool_calls=[{"name": "f", "args": "{", "id": "d", "error": "x"}],
        ),
        ToolMessage("no", tool_call_id="c", status="error"),
        HumanMessage("Go on."),
    ]
    compactor = Compactor(LangChainMessages(), CompactorSettings())
    compacted = run_sync(compactor.compact(history))
    assert compacted.messages == history
    unanswered = run_sync(compactor.compact([*history[:3], history[4]]))
    assert isinstance(unanswered.messages[3], ToolMessage)
    assert unanswered.messages[3].status == "error"
    orphan = run_sync(compactor.compact([history[1], history[3], history[4]]))
    assert orphan.messages == [history[1], history[4]]


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (RemoveMessage(id="x"), "a RemoveMessage, which no model is sent"),
        (AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": None}]), "without an id"),
        (
            AIMessageChunk("", invalid_tool_calls=[{"name": "f", "args": "{", "id": "c"}]),  # type: ignore[typeddict-item]
            "'f' whose arguments break off",
        ),
    ],
)
def test_a_message_that_cannot_be_read_is_named(message: BaseMessage, why: str) -> None:
    compactor = Compactor(LangChainMessages(), CompactorSettings())
    with pytest.raises(InvalidMessageError, match=f"Message 1 .*{why}"):
        run_sync(compactor.compact([HumanMessage("Go."), message]))
