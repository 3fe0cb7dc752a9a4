from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter, ToolReturnPart

from palimpsest.core.errors import ContextBudgetExceededError
from palimpsest.models.compacting import CompactingModel
from palimpsest.models.limits import LimitChoices
from palimpsest.testing import OVERFLOWS, Call, Reply, ScriptedModel

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def script(turns: int, characters: int = 4_000, prose: int = 6_000) -> list[Reply]:
    replies: list[Reply] = []
    for turn in range(turns):
        call = Call(tool="read", arguments={"name": f"t{turn}"})
        replies += [Reply(calls=(call,)), Reply(text=f"done {turn}" + " yes" * (prose // 4))]
    return replies


def agent_over(
    model: ScriptedModel, events: list[Any], characters: int = 4_000
) -> Agent[None, str]:
    limits = LimitChoices(window=16_000, max_output=1_024)
    agent = Agent(
        CompactingModel(model, limits=limits, on_event=events.append), instructions="Rules"
    )

    @agent.tool_plain
    def read(name: str) -> str:
        return f"{name}:" + "x" * characters

    return agent


@pytest.mark.parametrize("streamed", [False, True])
async def test_any_agent_stays_within_the_window_and_keeps_its_history(streamed: bool) -> None:
    model = ScriptedModel(script(12), window=16_000)
    events: list[Any] = []
    agent = agent_over(model, events)
    history: list[Any] = []
    for turn in range(12):
        if streamed:
            async with agent.run_stream(f"part {turn}", message_history=history) as result:
                await result.get_output()
            history = result.all_messages()
        else:
            history = (await agent.run(f"part {turn}", message_history=history)).all_messages()
    kinds = {event.kind for event in events}
    assert {"pruned", "compaction_start", "compaction_end", "context_budget"} <= kinds
    assert max(request.tokens for request in model.requests) <= 16_000 - 1_024 - 800
    returned = [
        part.content
        for message in history
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert returned == [f"t{turn}:" + "x" * 4_000 for turn in range(12)]
    assert len(history) == 4 * 12
    assert "<summary>" not in str(history)


async def test_a_history_that_was_stored_meanwhile_goes_on() -> None:
    model = ScriptedModel(script(10), window=16_000)
    events: list[Any] = []
    agent = agent_over(model, events)
    history: list[Any] = []
    for turn in range(10):
        result = await agent.run(f"part {turn}", message_history=history)
        history = ModelMessagesTypeAdapter.validate_json(
            ModelMessagesTypeAdapter.dump_json(result.all_messages())
        )
    assert any(event.kind == "compaction_end" for event in events)


async def test_conversations_do_not_mix() -> None:
    model = ScriptedModel(script(4, prose=10), window=16_000)
    agent = agent_over(model, [])
    first = await agent.run("alpha")
    second = await agent.run("beta")
    await agent.run("more alpha", message_history=first.all_messages())
    await agent.run("more beta", message_history=second.all_messages())
    assert "beta" not in model.requests[4].text
    assert "alpha" not in model.requests[6].text


async def test_a_history_edited_by_its_owner_starts_anew() -> None:
    model = ScriptedModel(script(3, prose=10), window=16_000)
    agent = agent_over(model, [])
    history = (await agent.run("alpha")).all_messages()
    shorter = [history[0], history[-1]]
    await agent.run("again", message_history=shorter)
    assert "t0" not in model.requests[2].text
    assert "again" in model.requests[2].text


async def test_a_rejected_request_is_compacted_and_sent_once_more() -> None:
    model = ScriptedModel(script(8), window=9_000, overflow=OVERFLOWS["llama.cpp"], count_ratio=1.4)
    events: list[Any] = []
    agent = agent_over(model, events, characters=1_000)
    history: list[Any] = []
    for turn in range(6):
        history = (await agent.run(f"part {turn}", message_history=history)).all_messages()
    triggers = [event.trigger for event in events if event.kind == "compaction_start"]
    assert "overflow" in triggers


async def test_what_cannot_fit_is_refused_before_it_is_sent() -> None:
    model = ScriptedModel(script(1), window=16_000)
    agent = agent_over(model, [])
    with pytest.raises(ContextBudgetExceededError):
        await agent.run("word " * 20_000)
    assert not model.requests
