"""Agents of the OpenAI SDK with the filter: requests fit, the session stays whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool
from agents.memory import Session
from agents.testing import ScriptedModel, assistant_message, function_call

from palimpsest.core.errors import ContextBudgetExceededError, InvalidMessageError
from palimpsest.integrations.compactor import CompactorSettings
from palimpsest.integrations.openai_agents import CompactingSession, CompactionFilter
from palimpsest.models.limits import LimitChoices
from palimpsest.testing.provider_rules import openai_responses_violations

pytestmark = pytest.mark.anyio

TINY = LimitChoices(window=8_000, max_output=500)
QUIET = RunConfig(tracing_disabled=True)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@function_tool
def read(path: str) -> str:
    """Read a file."""
    return f"{path}: " + "value = 1\n" * 60


def script(turns: int) -> list[Any]:
    steps: list[Any] = []
    for turn in range(turns):
        arguments = json.dumps({"path": f"p{turn}"})
        calls = [
            function_call("read", arguments, call_id=f"c{turn}/{one}", item_id=f"f{turn}/{one}")
            for one in range(2)
        ]
        said = assistant_message(f"Done {turn}.", item_id=f"m{turn}")
        steps += [{"output": calls}, {"output": [said]}]
    return steps


def agent_of(model: ScriptedModel) -> Agent[Any]:
    return Agent(name="a", instructions="Rules of the house.", model=model, tools=[read])


def inputs(model: ScriptedModel) -> list[list[Any]]:
    return [call.input for call in model.calls if isinstance(call.input, list)]


def changed_without_a_record(requests: list[list[Any]], events: list[Any]) -> int:
    """Count requests that do not extend the one before, though nothing was recorded between."""
    recorded: list[bool] = [False]
    for event in events:
        if event.kind == "context_budget":
            recorded.append(False)
        elif event.kind in {"pruned", "compaction_end"}:
            recorded[-1] = True
    pairs = zip(requests, requests[1:], recorded[1:], strict=False)
    return sum(not record and later[: len(earlier)] != earlier for earlier, later, record in pairs)


async def test_three_hundred_requests_stay_legal_extend_each_other_and_lose_nothing() -> None:
    model, events = ScriptedModel(script(150)), list[Any]()
    settings = CompactorSettings(limits=TINY, on_event=events.append)
    session = CompactingSession(SQLiteSession("a"), settings)
    assert isinstance(session, Session)
    for turn in range(150):
        await Runner.run(
            agent_of(model),
            f"Prompt {turn}.",
            session=session,
            run_config=session.run_config(QUIET),
        )
    requests = inputs(model)
    assert len(requests) == 300
    assert [openai_responses_violations(request) for request in requests] == [[]] * 300
    assert changed_without_a_record(requests, events) == 0
    assert sum(event.kind == "compaction_end" for event in events) >= 3
    stored: list[Any] = await session.get_items()
    assert len(stored) == 6 * 150
    assert sum("value = 1" in json.dumps(item) for item in stored) == 300
    assert max(len(request) for request in requests) < 200


async def test_a_session_may_be_taken_up_later() -> None:
    model, store = ScriptedModel(script(40)), SQLiteSession("a")
    settings = CompactorSettings(limits=TINY)
    first = CompactingSession(store, settings)
    for turn in range(39):
        config = first.run_config(QUIET)
        await Runner.run(agent_of(model), f"Prompt {turn}.", session=first, run_config=config)
    later = CompactingSession(store, settings)
    later.load(json.loads(json.dumps(first.dump())))
    config = later.run_config(QUIET)
    await Runner.run(agent_of(model), "Once more.", session=later, run_config=config)
    assert "<summary>" in json.dumps(inputs(model)[-1])
    assert later.dump()["records"]


async def test_a_session_that_was_edited_starts_anew() -> None:
    model = ScriptedModel(script(3))
    session = CompactingSession(SQLiteSession("a"), CompactorSettings(limits=TINY))
    config = session.run_config(QUIET)
    await Runner.run(agent_of(model), "One.", session=session, run_config=config)
    for _ in range(3):
        await session.pop_item()
    await session.add_items([{"role": "assistant", "content": "Never mind."}])
    await session.pop_item()
    while await session.pop_item():
        pass
    await Runner.run(agent_of(model), "Two.", session=session, run_config=config)
    assert "One." not in json.dumps(inputs(model)[-1])
    await session.clear_session()
    assert await session.get_items() == []
    assert session.dump()["digests"] == ""


async def test_the_filter_alone_tells_conversations_apart_and_streams() -> None:
    events: list[Any] = []
    compaction = CompactionFilter(CompactorSettings(limits=TINY, on_event=events.append))
    config = RunConfig(tracing_disabled=True, call_model_input_filter=compaction)
    models = [ScriptedModel(script(20)), ScriptedModel(script(20))]
    histories: list[list[Any]] = [[], []]
    for turn in range(20):
        for number, model in enumerate(models):
            prompt: Any = {"role": "user", "content": f"Talk {number}, prompt {turn}."}
            result = Runner.run_streamed(
                agent_of(model), [*histories[number], prompt], run_config=config
            )
            async for _ in result.stream_events():
                pass
            histories[number] = result.to_input_list()
    for number, model in enumerate(models):
        assert len(histories[number]) == 6 * 20
        for request in inputs(model):
            assert openai_responses_violations(request) == []
            assert f"Talk {1 - number}" not in json.dumps(request)
    assert sum(event.kind == "pruned" for event in events) >= 2


async def test_conversations_are_let_go_of() -> None:
    compaction = CompactionFilter()
    config = RunConfig(tracing_disabled=True, call_model_input_filter=compaction)
    model = ScriptedModel([{"output": [assistant_message("Yes.")]}] * 70)
    agent = Agent(name="a", model=model)
    for number in range(70):
        await Runner.run(agent, f"Talk {number}.", run_config=config)
    assert len(model.calls) == 70


async def test_what_cannot_fit_or_be_read_is_refused() -> None:
    compaction = CompactionFilter(CompactorSettings(limits=TINY))
    config = RunConfig(tracing_disabled=True, call_model_input_filter=compaction)
    with pytest.raises(ContextBudgetExceededError):
        await Runner.run(agent_of(ScriptedModel([])), "x" * 90_000, run_config=config)
    broken: Any = [{"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"pa'}]
    with pytest.raises(InvalidMessageError, match=r"Message 0 .* break off"):
        await Runner.run(agent_of(ScriptedModel([])), broken, run_config=config)
