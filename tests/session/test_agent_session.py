from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from pydantic_ai import Tool
from pydantic_ai.exceptions import ModelAuthenticationError
from pydantic_ai.messages import BinaryContent, ModelRequest, ModelResponse, ToolReturnPart

from palimpsest.core.errors import (
    ContextBudgetExceededError,
    InvalidSettingError,
    NothingToCompactError,
    SessionBusyError,
    SessionDisposedError,
    UnknownCheckpointError,
)
from palimpsest.models.engine import EngineSettings
from palimpsest.models.limits import LimitChoices
from palimpsest.session.create import create_agent_session
from palimpsest.session.manager import SessionManager
from palimpsest.session.settings import SessionSettings
from palimpsest.testing import Call, Gate, Reply, ScriptedModel
from palimpsest.testing.provider_errors import authentication_failed
from tests.session import helpers
from tests.session.helpers import read, rig, work
from tests.session.waiting import until

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_prompt_runs_tools_and_stores_step_by_step() -> None:
    found = await rig(work(1))
    assert await found.session.prompt("go") == "turn 0 is done"
    assert found.tool_runs == ["t0s0", "t0s1"]
    stored = await found.store.load()
    assert list(stored.messages) == list(found.session.messages)
    kinds = [type(message) for message in stored.messages]
    assert kinds == [ModelRequest, ModelResponse] * 3
    assert found.session.state.outcome == "success"
    assert found.kinds().count("settled") == 1
    assert found.kinds()[-1] == "settled"


async def test_a_long_session_compacts_and_keeps_every_original() -> None:
    found = await rig(work(12, prose=6_000))
    for turn in range(12):
        await found.session.prompt(f"do part {turn}")
    assert found.session.get_compactions()
    assert found.of("pruned")
    assert found.tool_runs == [f"t{turn}s{step}" for turn in range(12) for step in range(2)]
    stored = await found.store.load()
    assert list(stored.messages) == list(found.session.messages)
    returned = [
        part.content
        for message in stored.messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert returned == [f"{name}:" + "x" * 4_000 for name in found.tool_runs]


async def test_every_request_extends_the_one_before_or_a_record_says_why() -> None:
    found = await rig(work(12, prose=6_000))
    records: list[int] = []
    for turn in range(12):
        await found.session.prompt(f"do part {turn}")
        stored = await found.store.load()
        records += [len(stored.records)] * (len(found.model.requests) - len(records))
    broken = [
        number
        for number, (before, after) in enumerate(pairwise(found.model.requests), start=1)
        if after.lines[: len(before.lines)] != before.lines
    ]
    explained = {
        number for number in range(1, len(records)) if records[number] > records[number - 1]
    }
    turn_starts = {number - number % 3 for number in broken}
    assert turn_starts <= {number - number % 3 for number in explained}
    assert len(broken) < len(records) // 3


async def test_the_meter_and_the_policy_show_one_number() -> None:
    found = await rig(work(3))
    for turn in range(3):
        await found.session.prompt(f"do part {turn}")
    last = found.of("context_budget")[-1]
    state = found.session.state.context_budget
    assert state.calibrated
    assert state.size.tokens >= last.size.tokens
    assert last.size.tokens == pytest.approx(found.model.requests[-1].tokens, rel=0.05)


async def test_manual_compaction_and_undo() -> None:
    found = await rig(work(6, characters=2_000))
    with pytest.raises(NothingToCompactError, match="fewer than two turns"):
        await found.session.compact()
    assert found.session.state.outcome == "idle"
    assert not found.of("compaction_start")
    for turn in range(6):
        await found.session.prompt(f"do part {turn}")
    whole = found.session.state.context_budget.size.tokens
    assert found.session.state.compaction_available
    checkpoint = await found.session.compact()
    state = found.session.state
    assert state.compaction is not None
    assert state.compaction.id == checkpoint.id
    assert state.context_budget.size.tokens < whole
    (end,) = found.of("compaction_end")
    assert end.checkpoint == checkpoint.id
    assert end.receipt.reduced
    with pytest.raises(UnknownCheckpointError):
        await found.session.restore("00000000-0000-4000-8000-999999999999")
    restored = await found.session.restore(None, outputs=True)
    assert restored.fits
    assert found.session.state.compaction is None
    await found.session.restore(checkpoint.id)
    assert found.session.state.compaction is not None


async def test_a_request_that_cannot_fit_is_never_sent() -> None:
    found = await rig(work(1), window=2_048, instructions="r" * 8_000)
    with pytest.raises(ContextBudgetExceededError) as caught:
        await found.session.prompt("go")
    assert not found.model.requests
    assert caught.value.fixed_tokens > 2_000
    assert "history is preserved" in str(caught.value)
    assert found.session.state.outcome == "error"
    assert len(found.session.messages) == 1


async def test_fixed_overhead_above_the_trigger_does_not_loop() -> None:
    script = [Reply(text=f"answer {turn}") for turn in range(8)]
    found = await rig(script, window=4_096, instructions="r" * 10_280)
    for turn in range(8):
        await found.session.prompt(f"question {turn}")
    assert len(found.model.requests) == 8
    assert len(found.session.get_compactions()) <= 8


async def test_automatic_off_is_off() -> None:
    found = await rig(work(8), engine=EngineSettings(automatic=False, prunes=False))
    with pytest.raises(ContextBudgetExceededError, match="automatic compaction is off"):
        for turn in range(8):
            await found.session.prompt(f"do part {turn}")
    assert not found.session.get_compactions()


async def test_refusals_in_order() -> None:
    gate = Gate()
    found = await rig([Reply(text="a", before=gate), Reply(text="b")])
    running = asyncio.ensure_future(found.session.prompt("one"))
    await gate.reached.wait()
    for operation in (
        found.session.prompt("two"),
        found.session.compact(),
        found.session.restore(None),
        found.session.flush(),
        found.session.dispose(),
    ):
        with pytest.raises(SessionBusyError, match="busy \\(prompt\\)"):
            await operation
    gate.open()
    assert await running == "a"
    await found.session.dispose()
    await found.session.dispose()
    with pytest.raises(SessionDisposedError):
        await found.session.prompt("three")


@pytest.mark.parametrize("text", ["", " \n\t"])
async def test_a_prompt_that_says_nothing_is_refused_before_anything_happens(text: str) -> None:
    found = await rig([Reply(text="seen")])
    with pytest.raises(InvalidSettingError, match="a prompt that says something"):
        await found.session.prompt(text)
    assert (found.events, len(found.session.messages)) == ([], 0)
    picture = BinaryContent(data=b"png", media_type="image/png")
    assert await found.session.prompt(text, attachments=[picture])


async def test_a_providers_failure_is_said_in_plain_words() -> None:
    found = await rig([Reply(breaks_with=authentication_failed()), Reply(text="now")])
    with pytest.raises(ModelAuthenticationError):
        await found.session.prompt("go")
    settled = found.of("settled")[-1]
    assert (settled.outcome, settled.error_code) == ("error", "provider_authentication")
    assert "did not accept the credentials" in settled.error
    assert found.session.state.error == settled.error
    assert await found.session.prompt("again") == "now"


async def test_abort_while_the_model_answers() -> None:
    gate = Gate()
    found = await rig([Reply(text=("half", " more"), midway=gate), Reply(text="fine")])
    running = asyncio.ensure_future(found.session.prompt("one"))
    await gate.reached.wait()
    await found.session.abort()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert found.session.state.outcome == "cancelled"
    assert not found.session.state.is_running
    assert await found.session.prompt("two") == "fine"
    stored = await found.store.load()
    assert list(stored.messages) == list(found.session.messages)


async def test_abort_inside_a_batch_keeps_what_was_finished() -> None:
    started = asyncio.Event()

    async def slow() -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    quick = Call(tool="read", arguments={"name": "quick", "characters": 3})
    script = [Reply(calls=(quick, Call(tool="slow"))), Reply(text="fine")]
    found = await rig(script, tools={"slow": slow})
    running = asyncio.ensure_future(found.session.prompt("one"))
    await started.wait()
    await until(found.session, lambda: bool(found.of("tool_end")))
    await found.session.abort()
    with pytest.raises(asyncio.CancelledError):
        await running
    outcomes = {
        part.tool_name: (part.outcome, part.content)
        for message in found.session.messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    assert outcomes["read"] == ("success", "quick:xxx")
    assert outcomes["slow"][0] == "interrupted"
    assert "may have had effects" in str(outcomes["slow"][1])
    stored = await found.store.load()
    assert list(stored.messages) == list(found.session.messages)
    assert await found.session.prompt("go on") == "fine"
    assert found.tool_runs == ["quick"]


async def test_a_result_answers_its_own_call_where_ids_come_again() -> None:
    started = asyncio.Event()

    async def deploy() -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    script = [
        Reply(calls=(Call(tool="read", arguments={"name": "a", "characters": 3}, id="call_0"),)),
        Reply(calls=(Call(tool="deploy", id="call_0"),)),
    ]
    found = await rig(script, tools={"deploy": deploy})
    running = asyncio.ensure_future(found.session.prompt("one"))
    await started.wait()
    await found.session.abort()
    await asyncio.gather(running, return_exceptions=True)
    [result] = found.session.messages[-1].parts
    assert isinstance(result, ToolReturnPart)
    assert (result.tool_name, result.outcome) == ("deploy", "interrupted")


async def test_an_answer_in_half_characters_is_given_whole() -> None:
    found = await rig([Reply(text=("a\ud83d", "\ude00b"))])
    assert await found.session.prompt("one") == "a\U0001f600b"
    assert "".join(event.delta for event in found.of("message_update")) == "a\U0001f600b"


async def test_cancelled_twice_it_has_settled_all_the_same() -> None:
    started, gate = threading.Event(), threading.Event()

    def block() -> str:
        started.set()
        gate.wait()
        return "done"

    found = await rig([Reply(calls=(Call(tool="block"),))], tools={"block": block})
    running = asyncio.ensure_future(found.session.prompt("one"))
    await asyncio.to_thread(started.wait)
    for _ in range(2):
        running.cancel()
        await asyncio.sleep(0)
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert found.session.state.operation is None
    assert found.session.state.outcome == "cancelled"


async def test_a_tool_that_was_found_stays_found_behind_a_summary() -> None:
    """The agent reads off its own list which tools it has; what lasts stands above a summary."""

    async def read(characters: int, name: str) -> str:
        return name + "x" * characters

    async def forecast(city: str) -> str:
        """Forecast of the weather in a city."""
        return f"sunny in {city}"

    def ask(city: str) -> Reply:
        return Reply(calls=(Call(tool="forecast", arguments={"city": city}),))

    found = Call(tool="search_tools", arguments={"queries": ["weather"]})
    long = [replace(helpers.read("file", 3_000), text=" really" * 500) for _ in range(12)]
    script = [Reply(calls=(found,)), *long, ask("Rome"), Reply(text="."), ask("Oslo")]
    session = await create_agent_session(
        session_manager=SessionManager.in_memory(),
        model=ScriptedModel([*script, Reply(text="done")], window=8_000),
        tools=[read, Tool(forecast, defer_loading=True)],
        settings=SessionSettings(
            limits=LimitChoices(window=8_000, max_output=500), summarizer="extractive"
        ),
    )
    async with session:
        await session.prompt("one")
        assert session.get_compactions()
        assert await session.prompt("two") == "done"
        answers = [
            part.content
            for message in session.messages
            for part in message.parts
            if isinstance(part, ToolReturnPart) and part.tool_name == "forecast"
        ]
    assert answers == ["sunny in Rome", "sunny in Oslo"]


@pytest.mark.parametrize("approved", [True, False])
async def test_approvals(approved: bool) -> None:
    found = await rig([read("x", 3), Reply(text="done")], approving=frozenset({"read"}))
    running = asyncio.ensure_future(found.session.prompt("one"))
    await until(found.session, lambda: bool(found.session.state.pending_approvals))
    (request,) = found.session.state.pending_approvals
    assert found.session.answer_approval(request.request_id, approved=approved)
    assert not found.session.answer_approval(request.request_id, approved=not approved)
    assert await running == "done"
    assert found.tool_runs == (["x"] if approved else [])
    assert [event.approved for event in found.of("approval_resolved")] == [approved]
    assert not found.session.state.pending_approvals


async def test_approvals_are_cancelled_with_the_run() -> None:
    found = await rig([read("x", 3), Reply(text="done")], approving=frozenset({"read"}))
    running = asyncio.ensure_future(found.session.prompt("one"))
    await until(found.session, lambda: bool(found.session.state.pending_approvals))
    await found.session.abort()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [event.approved for event in found.of("approval_resolved")] == [False]
    assert found.tool_runs == []


async def test_listener_errors_are_collected_never_fatal() -> None:
    found = await rig(work(1))

    def broken(event: Any) -> None:
        raise ValueError(event.kind)

    stop = found.session.subscribe(broken)
    await found.session.prompt("go")
    assert len(found.session.listener_errors) == len(found.events)
    stop()
    stop()


async def test_resume_equals_the_live_view() -> None:
    found = await rig(work(10, prose=6_000))
    for turn in range(9):
        await found.session.prompt(f"do part {turn}")
    live = found.session.state
    again = await rig([], store=found.store)
    assert list(again.session.messages) == list(found.session.messages)
    assert again.session.state.compaction == live.compaction
    covered = [replace(item, covers="") for item in again.session.get_compactions()]
    assert covered == list(found.session.get_compactions())


async def test_leaving_the_block_disposes_and_keeps_the_own_exception() -> None:
    found = await rig(work(1))
    with pytest.raises(ZeroDivisionError):
        async with found.session:
            await found.session.prompt("go")
            raise ZeroDivisionError
    with pytest.raises(SessionDisposedError):
        await found.session.flush()
