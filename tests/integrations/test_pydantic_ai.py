"""A wrapped pydantic-ai agent: what it can do, it still can; what it remembers can be stored."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, RunContext
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessagesTypeAdapter, ToolReturnPart
from pydantic_ai.models.test import TestModel

from palimpsest.core.errors import ForeignStateError, InvalidSettingError
from palimpsest.integrations.pydantic_ai import MOST_MODELS, CompactingAgent, wrap
from palimpsest.models.compacting import CompactingModel
from palimpsest.models.limits import LimitChoices
from palimpsest.models.seen import SeenRequest
from palimpsest.testing import OVERFLOWS, Call, Reply, ScriptedModel
from palimpsest.testing.provider_rules import PROVIDER_RULES, Violation
from tests.models.wire import ModelMaker, Wire, anthropic, google, openai_chat, openai_responses

pytestmark = pytest.mark.anyio

SMALL = LimitChoices(window=16_000, max_output=1_000)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def script(turns: int, *, prose: int = 1_500) -> list[Reply]:
    return [
        reply
        for turn in range(turns)
        for reply in (
            Reply(calls=(Call(tool="read", arguments={"name": f"t{turn}"}),)),
            Reply(text=f"done {turn}" + " yes" * prose),
        )
    ]


def wrapped(model: ScriptedModel, **choices: Any) -> CompactingAgent[None, str]:
    agent = Agent(model, instructions="Rules")

    @agent.tool_plain
    def read(name: str) -> str:
        return f"{name}:" + "x" * 4_000

    return wrap(agent, limits=SMALL, **choices)


def outputs(history: list[Any]) -> list[Any]:
    parts = [part for message in history for part in message.parts]
    return [part.content for part in parts if isinstance(part, ToolReturnPart)]


async def test_three_hundred_requests_fit_extend_each_other_and_lose_nothing() -> None:
    model = ScriptedModel(script(150), window=16_000)
    events: list[Any] = []
    agent = wrapped(model, on_event=events.append)
    history: list[Any] = []
    changed = 0
    for turn in range(150):
        recorded = sum(event.kind in {"pruned", "compaction_end"} for event in events)
        history = (await agent.run(f"part {turn}", message_history=history)).all_messages()
        now = sum(event.kind in {"pruned", "compaction_end"} for event in events)
        earlier, later = model.requests[-3:-1] if turn else model.requests[-2:]
        if now == recorded:
            changed += not later.extends(earlier)
    assert len(model.requests) == 300
    assert changed == 0
    assert max(request.tokens for request in model.requests) <= 16_000 - 1_000 - 800
    assert sum(event.kind == "compaction_end" for event in events) > 5
    assert outputs(history) == [f"t{turn}:" + "x" * 4_000 for turn in range(150)]
    # Every third holds requests behind a prompt and behind results alike.
    for provider in _PROVIDERS:
        bodies = await on_the_wire(provider, model.requests[::3])
        assert [violations(provider, body) for body in bodies] == [[]] * 100


_PROVIDERS: dict[str, tuple[ModelMaker, str, str]] = {
    "openai-chat": (openai_chat, "gpt-5", "messages"),
    "openai-responses": (openai_responses, "gpt-5", "input"),
    "anthropic-messages": (anthropic, "claude-x", "messages"),
    "google-contents": (google, "gemini-2.5-pro", "contents"),
}
"""By dialect: the adapter, a model of it, and where its request holds the messages."""


async def on_the_wire(provider: str, requests: Sequence[SeenRequest]) -> list[dict[str, Any]]:
    """The bodies that the adapter of a provider sends for requests."""
    wire = Wire()
    make, name, _ = _PROVIDERS[provider]
    adapter = make(wire, name, None)
    for request in requests:
        with pytest.raises(ModelHTTPError, match="enough"):
            await adapter.request([*request.messages], request.settings, request.parameters)
    return wire.sent


def violations(provider: str, body: dict[str, Any]) -> list[Violation]:
    return PROVIDER_RULES[provider](body[_PROVIDERS[provider][2]])


async def test_old_outputs_are_cleared_in_the_view_only() -> None:
    model = ScriptedModel(script(6, prose=1), window=16_000)
    events: list[Any] = []
    agent = wrapped(model, on_event=events.append)
    history: list[Any] = []
    for turn in range(6):
        history = (await agent.run(f"part {turn}", message_history=history)).all_messages()
    assert {event.kind for event in events} == {"pruned", "context_budget"}
    assert "[Old tool result content cleared]" in model.requests[-1].text
    assert outputs(history) == [f"t{turn}:" + "x" * 4_000 for turn in range(6)]


def test_blocking_runs() -> None:
    agent = wrapped(ScriptedModel(script(1)))
    # pydantic-ai runs on the thread's loop, and leaves open one that it has to make.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        assert agent.run_sync("Go.").output.startswith("done 0")
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def test_streams_and_iteration() -> None:
    agent = wrapped(ScriptedModel(script(2)))
    async with agent.run_stream("Go.") as result:
        assert (await result.get_output()).startswith("done 0")
    async with agent.iter("Go on.", message_history=result.all_messages()) as run:
        nodes = [type(node).__name__ async for node in run]
    assert nodes[-1] == "End"
    assert run.result is not None
    assert run.result.output.startswith("done 1")


async def test_a_rejected_request_is_sent_once_more() -> None:
    model = ScriptedModel(
        script(8, prose=300), window=9_000, overflow=OVERFLOWS["llama.cpp"], count_ratio=1.4
    )
    events: list[Any] = []
    agent = wrapped(model, on_event=events.append)
    history: list[Any] = []
    for turn in range(8):
        history = (await agent.run(f"part {turn}", message_history=history)).all_messages()
    assert "overflow" in {e.trigger for e in events if e.kind == "compaction_start"}
    state = agent.dump(history)
    assert state["window"] == 9_000


class City(BaseModel):
    name: str
    country: str


async def test_the_providers_count_is_learned_from() -> None:
    compactions: list[int] = []
    for ratio in (1.0, 3.0):
        events: list[Any] = []
        model = ScriptedModel(script(5, prose=300), window=16_000, count_ratio=ratio)
        agent, history = wrapped(model, on_event=events.append), list[Any]()
        for turn in range(5):
            history = (await agent.run(f"part {turn}", message_history=history)).all_messages()
        compactions.append(sum(event.kind == "compaction_end" for event in events))
    as_estimated, three_times_as_large = compactions
    assert (as_estimated, three_times_as_large > 0) == (0, True)


async def test_structured_output_and_the_turns_behind_it() -> None:
    replies = [
        Reply(
            calls=(Call(tool="final_result", arguments={"name": f"C{n}", "country": "x" * 9_000}),)
        )
        for n in range(12)
    ]
    model = ScriptedModel(replies, window=16_000)
    events: list[Any] = []
    agent = wrap(Agent(model, output_type=City), limits=SMALL, on_event=events.append)
    history: list[Any] = []
    for number in range(12):
        result = await agent.run(f"city {number}", message_history=history)
        assert result.output.name == f"C{number}"
        history = result.all_messages()
    ends = [event for event in events if event.kind == "compaction_end"]
    assert ends
    assert ends[-1].receipt.figures.turns_summarised + ends[-1].receipt.figures.turns_kept >= 10
    state = agent.dump(history)
    later = wrap(Agent(model, output_type=City), limits=SMALL)
    stored = ModelMessagesTypeAdapter.dump_json(history)
    later.load(ModelMessagesTypeAdapter.validate_json(stored), state)
    assert later.dump(history) == state


async def test_conversations_with_joined_messages_do_not_mix() -> None:
    found = [{"name": f"C{number}", "country": "x"} for number in range(6)]
    replies = [Reply(calls=(Call(tool="final_result", arguments=city),)) for city in found]
    model = ScriptedModel(replies)
    agent = wrap(Agent(model, output_type=City), limits=SMALL)
    histories: list[list[Any]] = [[], []]
    for turn in range(3):
        for talk, history in enumerate(histories):
            result = await agent.run(f"talk {talk}, city {turn}", message_history=history)
            histories[talk] = result.all_messages()
    for talk, history in enumerate(histories):
        assert [1, 1] in agent.dump(history)["pieces"]
        assert f"talk {1 - talk}" not in model.requests[-2 + talk].text


async def test_deferred_approvals() -> None:
    model = ScriptedModel(
        [Reply(calls=(Call(tool="drop", arguments={"table": "t"}),)), Reply(text="dropped")]
    )
    agent: Agent[None, Any] = Agent(model, output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def drop(table: str) -> str:
        return f"{table} is gone"

    compacting = wrap(agent, limits=SMALL)
    first = await compacting.run("Drop it.")
    assert isinstance(first.output, DeferredToolRequests)
    [asked] = first.output.approvals
    second = await compacting.run(
        message_history=first.all_messages(),
        deferred_tool_results=DeferredToolResults(approvals={asked.tool_call_id: True}),
    )
    assert second.output == "dropped"
    assert "t is gone" in model.requests[1].text


async def test_delegation_to_another_wrapped_agent() -> None:
    helper = wrapped(ScriptedModel(script(1, prose=1)))
    lead_model = ScriptedModel(
        [Reply(calls=(Call(tool="ask", arguments={"what": "x"}),)), Reply(text="all done")]
    )
    lead: Agent[None, str] = Agent(lead_model)

    @lead.tool
    async def ask(ctx: RunContext[None], what: str) -> str:
        return (await helper.run(what, usage=ctx.usage)).output

    result = await wrap(lead, limits=SMALL).run("Ask.")
    assert result.output == "all done"
    assert "done 0" in lead_model.requests[1].text


async def test_models_of_a_run_and_of_an_override_are_wrapped_too() -> None:
    own, other = ScriptedModel(script(1)), ScriptedModel(script(1))
    events: list[Any] = []
    agent = wrapped(own, on_event=events.append)
    await agent.run("Go.", model=other)
    with agent.override(model=TestModel(call_tools=[])):
        assert (await agent.run("Go.")).output == "success (no tool calls)"
    assert not own.requests
    assert len([event for event in events if event.kind == "context_budget"]) == 3
    nameless = wrap(Agent())
    with pytest.raises(InvalidSettingError, match="model must be set"):
        await nameless.run("Go.")
    with nameless.override(model=TestModel()):
        await nameless.run("Go.")
    with pytest.raises(InvalidSettingError, match="model must be set"):
        nameless.load([], {})
    compacting = CompactingModel(own)
    assert agent.compacting_model(compacting) is compacting


async def test_what_is_remembered_can_be_stored_beside_the_history() -> None:
    model = ScriptedModel(script(20), window=16_000)
    agent = wrapped(model)
    history: list[Any] = []
    for turn in range(10):
        history = (await agent.run(f"part {turn}", message_history=history)).all_messages()
    stored = ModelMessagesTypeAdapter.dump_json(history)
    state = json.dumps(agent.dump(history))

    events: list[Any] = []
    later = wrapped(model, on_event=events.append)
    history = list(ModelMessagesTypeAdapter.validate_json(stored))
    later.load(history, json.loads(state))
    before = model.requests[-1]
    history = (await later.run("part 10", message_history=history)).all_messages()
    kinds = [event.kind for event in events]
    if not {"pruned", "compaction_end"} & {*kinds}:
        assert model.requests[-2].extends(before)
    assert "<summary>" in model.requests[-2].text
    assert json.loads(json.dumps(later.dump(history)))["records"]


async def test_a_state_of_another_history_is_refused() -> None:
    agent = wrapped(ScriptedModel(script(3)))
    first = (await agent.run("alpha")).all_messages()
    second = (await agent.run("beta")).all_messages()
    state = agent.dump(first)
    with pytest.raises(ForeignStateError, match="message 0 is not the one"):
        agent.load(second, state)
    with pytest.raises(ForeignStateError, match="made with 3 messages, and there are 1"):
        agent.load(first[:1], state)
    with pytest.raises(ForeignStateError, match="has not served"):
        wrapped(ScriptedModel([])).dump(first)
    with pytest.raises(ForeignStateError, match="has not served"):
        agent.dump([first[0], second[1]])
    with pytest.raises(InvalidSettingError, match="as it was given out"):
        agent.load(first, {**state, "counter": 7})


def test_the_models_asked_for_last_are_kept() -> None:
    agent = wrapped(ScriptedModel([]))
    models = [ScriptedModel([]) for _ in range(MOST_MODELS + 1)]
    first, *others = [agent.compacting_model(model) for model in models[:-1]]
    assert agent.compacting_model(models[0]) is first
    agent.compacting_model(models[-1])
    assert agent.compacting_model(models[0]) is first
    assert agent.compacting_model(models[1]) is not others[0]
