"""What users of other agents report about compaction, as tests of sessions.

``REPORTS`` says which test stands for which kind of report; kinds that were tested elsewhere are
named there, the others follow here.
"""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.core.errors import ContextBudgetExceededError, SessionBusyError
from palimpsest.core.policy import PolicySettings
from palimpsest.core.pruning import PruningSettings
from palimpsest.models.engine import EngineSettings
from palimpsest.models.limits import LimitChoices
from palimpsest.models.model_summarizer import ModelSummarizer
from palimpsest.session.create import create_agent_session
from palimpsest.session.manager import SessionManager
from palimpsest.session.memory import MemoryStore
from palimpsest.session.settings import SessionSettings
from palimpsest.testing import Call, Gate, Reply, ScriptedModel, SeenRequest
from palimpsest.testing.provider_errors import (
    connection_lost,
    overloaded,
    quota_exceeded,
    rate_limited,
    timed_out,
)
from tests.session.doubles import KeepingSummarizer
from tests.session.helpers import HEADER, Rig, read, rig, work
from tests.session.waiting import until

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[1]

REPORTS = {
    "compacting fails at the limit": "models/test_summarizer.py::test_large_input_is_summarised",
    "the compaction request itself overflows": "models/test_summarizer.py::test_a_chunk_that_the",
    "a refusal without a word": "session/test_field_reports.py::test_every_refusal_is_an_event",
    "a stored session is too large for its model": "::test_a_stored_session_too_large",
    "limit exceeded on an empty session": "::test_too_much_fixed_overhead_is_told_apart",
    "one turn's tools overshoot a large window": "::test_a_result_of_five_megabytes",
    "one huge result kills the task": "session/test_spec_5.py::test_one_result_that_is_too_large",
    "the summariser's window is the smaller one": "::test_a_summariser_with_a_smaller_window",
    "quota or overload while compacting": "::test_a_provider_that_fails_while_compacting",
    "fixed overhead above the trigger": "session/test_spec_6.py::test_fixed_overhead_above",
    "compacting in a loop": "session/test_spec_6.py::test_at_most_two_generations_a_check",
    "a floor above what is usable": "::test_too_much_fixed_overhead_is_told_apart",
    "a summary that does not reduce": "session/test_spec_6.py::test_a_summary_that_does_not_reduce",
    "manual and automatic at once": "::test_a_prompt_during_a_compaction_is_refused_not_lost",
    "a result without its call": "formats/test_engine_properties.py::test_every_view_is_legal",
    "thinking that was changed": "::test_kept_replies_are_sent_as_they_came",
    "an interrupted call left without a result": "::test_an_interrupted_call_is_answered",
    "no legal cut ends the run": "session/test_spec_6.py::test_no_cut_that_fits_is_sent",
    "an orphan in a stored session": "session/test_opening.py::test_a_broken_file_is_refused",
    "an empty or refused summary is stored": "session/test_spec_7.py::test_an_unusable_reply",
    "success is reported for a failure": "session/test_spec_6.py::test_a_failed_generation_leaves",
    "thinking eats the summary's cap": "models/test_summarizer.py::test_a_model_that_cannot_stop",
    "a boundary without its summary": "session/test_spec_6.py::test_checkpoint_and_history_so_far",
    "messages during a compaction are lost": "::test_a_prompt_during_a_compaction",
    "instruction files are gone": "::test_instruction_files_outlive_compactions",
    "the old prompt becomes the task": "::test_the_newest_request_is_verbatim",
    "parts of the newest request are lost": "::test_the_newest_request_is_verbatim",
    "failed attempts are forgotten": "::test_failures_and_rules_outlive_compactions",
    "a list became one line": "core/test_receipt.py::test_long_lists_are_counted_whole",
    "a read-only agent loses its role": "::test_permissions_outlive_compactions",
    "results are cleared that matter": "::test_exempt_tools_are_never_cleared",
    "a synthetic prompt is taken as consent": "::test_nobody_speaks_for_the_person",
    "approvals come back": "::test_an_approval_is_for_one_call",
    "a summary is taken for truth": "session/test_spec_7.py::test_in_the_view_it_is_one_user",
    "counts that are off by a factor": "::test_a_provider_that_counts_four_times_as_much",
    "bytes are the limit": "session/test_spec_6.py::test_an_image_heavy_session_keeps",
    "a declared window is overridden": "::test_a_declared_window_wins_and_is_shown",
    "an overflow is not recognised": "models/test_cap.py::test_overflow_is_recognised_through",
    "off is not off": "session/test_spec_6.py::test_off_is_off_for_a_rejected_request",
    "a switch to a smaller model": "session/test_spec_9.py::test_a_smaller_model_is_preceded",
    "the meter and the trigger disagree": "session/test_agent_session.py::test_the_meter_and_the",
    "an unchanged prefix is written anew": "session/test_agent_session.py::test_every_request_ext",
    "prunings that do not pay": "core/test_pruning.py::test_pruning_table",
    "compactions without an end": "models/test_summarizer.py::test_a_generation_times_out",
    "a hanging compaction": "session/test_spec_6.py::test_a_cancelled_generation_leaves_nothing",
    "hostile output": "session/test_spec_9.py::test_hostile_output_stays_output",
    "a key named twice": "session/test_create.py::test_a_key_named_twice_is_refused",
    "a listener that blocks": "::test_a_listener_that_blocks_only_delays",
    "a listener that raises": "session/test_agent_session.py::test_listener_errors_are_collected",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("report", REPORTS)
def test_every_kind_of_report_has_a_test(report: str) -> None:
    name, _, test = REPORTS[report].partition("::")
    source = (TESTS / name if name else Path(__file__)).read_text(encoding="utf-8")
    assert re.search(rf"^(?:async )?def {test}", source, re.MULTILINE)


async def ask(found: Rig, prompts: Iterable[str]) -> None:
    for prompt in prompts:
        await found.session.prompt(prompt)


def answers(*tokens: int) -> list[Reply]:
    return [Reply(text="word " * (size * 4 // 5)) for size in tokens]


def typed(messages: Iterable[ModelMessage]) -> list[str]:
    """Text in the user's role."""
    return [
        str(part.content)
        for message in messages
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]


def check_pairs(request: SeenRequest) -> None:
    """Every call is answered once, by the message that follows, and nothing else is."""
    for message, following in zip(request.messages, [*request.messages[1:], None], strict=True):
        calls = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
        given = [] if following is None else following.parts
        results = [part.tool_call_id for part in given if isinstance(part, ToolReturnPart)]
        if isinstance(message, ModelResponse):
            assert sorted(calls) == sorted(results)


# --- compaction cannot run exactly when it is needed ---------------------------------------------


async def test_every_refusal_is_an_event_with_its_reason() -> None:
    found = await rig(answers(5_000), engine=EngineSettings(automatic=False))
    await found.session.prompt("first")
    with pytest.raises(ContextBudgetExceededError) as caught:
        await found.session.prompt("word " * 12_000)
    last = found.of("context_budget")[-1]
    assert last.decision == "refused"
    settled = found.of("settled")[-1]
    assert (settled.outcome, settled.error_code) == ("error", "context_budget_exceeded")
    assert settled.error == str(caught.value)


async def test_a_stored_session_too_large_for_its_model_goes_on() -> None:
    store = MemoryStore(HEADER)
    large = await rig(answers(*[9_000] * 6), window=128_000, store=store)
    await ask(large, [f"question {number}" for number in range(6)])
    originals = list(large.session.messages)
    small = await rig(answers(20, 20), window=16_000, store=store, first_id=100)
    assert small.session.state.context_budget.share > 3
    await ask(small, ["and now?", "and then?"])
    assert list(small.session.messages)[: len(originals)] == originals
    assert all(request.tokens <= 14_176 for request in small.model.requests)
    assert small.session.get_compactions()


async def test_too_much_fixed_overhead_is_told_apart_from_history() -> None:
    summarizer = KeepingSummarizer()
    found = await rig([], window=4_096, instructions="r" * 14_000, summarizer=summarizer)
    for _ in range(2):
        with pytest.raises(ContextBudgetExceededError) as caught:
            await found.session.prompt("hello")
        assert caught.value.fixed_tokens > 3_400
        assert caught.value.estimate_tokens - caught.value.fixed_tokens < 100
        assert "which compaction cannot shrink" in str(caught.value)
    assert summarizer.jobs == []
    assert found.model.requests == []


@pytest.mark.parametrize("window", [16_000, 1_000_000])
async def test_a_result_of_five_megabytes_is_shown_in_part_and_kept_whole(window: int) -> None:
    async def dump() -> str:
        return "".join(f"line {number} of the log\n" for number in range(230_000))

    script = [Reply(calls=(Call(tool="dump"),)), *answers(20, 20)]
    found = await rig(script, window=window, tools={"dump": dump})
    await ask(found, ["look", "and now?"])
    (result,) = [
        part
        for message in found.session.messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert result.content == await dump()
    assert len(str(result.content)) > 5_000_000
    limit = found.session.state.context_budget.budget.largest_fitting
    assert all(request.tokens <= limit for request in found.model.requests)
    shown = found.model.requests[1].text
    assert "line 0 of the log" in shown
    assert "line 229999 of the log" in shown


@pytest.mark.parametrize("asks", [False, True])
async def test_half_a_character_from_a_model_or_a_tool_does_not_end_a_session(asks: bool) -> None:
    async def name() -> str:
        return "caf\udce9.txt"

    calls = (Call(tool="name"), Call(tool="name", arguments={"odd": "\ud83d"}))
    script = [Reply(text="cut off: \ud83d", calls=calls), *answers(20, 20)]
    approving = frozenset({"name"}) if asks else frozenset[str]()
    found = await rig(script, tools={"name": name}, approving=approving)
    found.session.subscribe(
        lambda event: (
            event.kind == "approval_requested"
            and found.session.answer_approval(event.request_id, approved=True)
        )
    )
    await ask(found, ["look", "and now?"])
    for request in found.model.requests:
        ModelMessagesTypeAdapter.dump_json(list(request.messages))
    stored = repr((await found.store.load()).messages)
    assert r"caf\udce9.txt" in stored
    assert r"cut off: \ud83d" in stored


class Halt(BaseException):
    """What some libraries raise to get past ``except Exception``."""


@pytest.mark.parametrize(
    "failure",
    [ValueError("x"), ExceptionGroup("g", [KeyError("k")]), BaseExceptionGroup("g", [Halt("h")])],
)
async def test_whatever_a_tool_raises_its_step_is_closed_and_the_session_goes_on(
    failure: BaseException,
) -> None:
    async def fails() -> str:
        raise failure

    found = await rig([Reply(calls=(Call(tool="fails"),)), *answers(20)], tools={"fails": fails})
    with pytest.raises(type(failure)):
        await found.session.prompt("try")
    assert found.events[-1].kind == "settled"
    await ask(found, ["and now?"])
    assert (await found.store.load()).messages == tuple(found.session.messages)


def exits() -> str:
    sys.exit("bad option")


async def exits_in_a_task() -> str:
    sys.exit(3)


def exits_with_others() -> str:
    raise SystemExit


@pytest.mark.parametrize("tool", [exits, exits_in_a_task, exits_with_others])
async def test_a_tool_that_ends_the_program_only_ends_its_call(
    tool: Callable[[], object],
) -> None:
    async def works() -> str:
        return "done"

    calls = (Call(tool=tool.__name__), Call(tool="works"))
    found = await rig(
        [Reply(calls=calls), Reply(text="One of them failed.")],
        tools={tool.__name__: tool, "works": works},
    )
    assert await found.session.prompt("try both") == "One of them failed."
    ended = {end.tool_name: end.outcome for end in found.of("tool_end")}
    assert ended == {tool.__name__: "failed", "works": "success"}
    assert "tried to end the program" in str(found.session.messages[2].parts[0])


async def test_a_summariser_with_a_smaller_window_gets_chunks_that_fit() -> None:
    small = ScriptedModel([Reply(text="## Goal\nGo on.")] * 20, window=4_096)
    found = await rig(answers(*[5_000] * 4), summarizer=ModelSummarizer(model=small))
    await ask(found, [f"question {number}" for number in range(4)])
    assert found.session.get_compactions()
    assert len(small.requests) > 1
    assert all(request.tokens <= 4_096 for request in small.requests)


@pytest.mark.parametrize(
    "failure", [overloaded, quota_exceeded, rate_limited, connection_lost, timed_out]
)
async def test_a_provider_that_fails_while_compacting_does_not_end_the_session(
    failure: Any,
) -> None:
    broken = ScriptedModel([failure() for _ in range(20)], window=16_000)
    found = await rig(
        answers(*[4_000] * 5),
        summarizer=ModelSummarizer(model=broken),
        engine=EngineSettings(policy=PolicySettings(extractive_fallback=True)),
    )
    await ask(found, [f"question {number}" for number in range(5)])
    assert broken.requests
    assert {one.provider for one in found.session.get_compactions()} == {"extractive"}


# --- invalid requests afterwards -----------------------------------------------------------------


async def test_kept_replies_are_sent_as_they_came() -> None:
    script: list[Reply] = []
    for turn in range(4):
        for step in range(3):
            call = Call(tool="read", arguments={"characters": 4_000, "name": f"{turn}{step}"})
            thought = ThinkingPart(content=f"thought {turn}{step}", signature=f"s{turn}{step}")
            script.append(Reply(parts=(thought,), text="word " * 500, calls=(call,)))
        script.append(Reply(thinking="done", text=f"turn {turn}"))
    found = await rig(script)
    await ask(found, [f"question {number}" for number in range(4)])
    assert found.session.get_compactions()
    replies = [repr(one.parts) for one in found.session.messages if isinstance(one, ModelResponse)]
    for request in found.model.requests:
        check_pairs(request)
        for message in request.messages:
            if isinstance(message, ModelResponse):
                assert repr(message.parts) in replies


async def test_an_interrupted_call_is_answered_before_and_after_a_manual_compaction() -> None:
    gate = Gate()

    async def slow() -> str:
        await gate.wait()
        return "never"

    script = [*answers(3_000, 3_000), Reply(calls=(Call(tool="slow"), Call(tool="read")))]
    found = await rig([*script, *answers(20, 20)], tools={"slow": slow})
    await ask(found, ["first", "second"])
    running = asyncio.ensure_future(found.session.prompt("third"))
    await gate.reached.wait()
    await found.session.abort()
    with pytest.raises(asyncio.CancelledError):
        await running
    await found.session.prompt("fourth")
    await found.session.compact()
    await found.session.prompt("fifth")
    for request in found.model.requests:
        check_pairs(request)
    assert "interrupted" in found.model.requests[3].text


# --- lost data, races ----------------------------------------------------------------------------


async def test_a_prompt_during_a_compaction_is_refused_not_lost() -> None:
    summarizer = KeepingSummarizer(gate=Gate())
    found = await rig(answers(3_000, 3_000, 3_000, 20), summarizer=summarizer)
    await ask(found, ["first", "second", "third"])
    compacting = asyncio.ensure_future(found.session.compact())
    assert summarizer.gate is not None
    await summarizer.gate.reached.wait()
    for refused in (found.session.prompt("meanwhile"), found.session.compact()):
        with pytest.raises(SessionBusyError):
            await refused
    summarizer.gate.open()
    await compacting
    await found.session.prompt("meanwhile")
    assert typed(found.session.messages) == ["first", "second", "third", "meanwhile"]
    assert len(summarizer.jobs) == 1


# --- wrong or missing content --------------------------------------------------------------------


async def test_instruction_files_outlive_compactions(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Never touch the tests.\n", encoding="utf-8")
    model = ScriptedModel(answers(*[4_000] * 6), window=16_000)
    session = await create_agent_session(
        session_manager=SessionManager.in_memory(tmp_path),
        model=model,
        settings=SessionSettings(
            summarizer="extractive",
            permission_preset="read-only",
            limits=LimitChoices(window=16_000, max_output=1_024),
        ),
    )
    async with session:
        for number in range(6):
            await session.prompt(f"question {number}")
        for checkpoint in session.get_compactions():
            assert "Never touch the tests" not in checkpoint.summary
        assert session.get_compactions()
    assert all("Never touch the tests." in request.instructions for request in model.requests)


async def test_the_newest_request_is_verbatim_in_every_request() -> None:
    prompts = [f"task {number}: " + f"detail{number} " * 120 for number in range(5)]
    script: list[Reply] = []
    for turn in range(5):
        calls = [read(f"{turn}{step}", 2_000).calls for step in range(7)]
        script += [Reply(text="word " * 1_600, calls=call) for call in calls]
        script.append(Reply(text="done"))
    found = await rig(script)
    await ask(found, prompts)
    compactions = found.session.get_compactions()
    assert {one.split for one in compactions} == {False, True}
    for number, prompt in enumerate(prompts):
        for request in found.model.requests[8 * number : 8 * number + 8]:
            assert typed(request.messages)[-1] == prompt


async def test_failures_and_rules_outlive_compactions() -> None:
    async def run_command(command: str) -> str:
        return f"error: {command} failed\n[exit code: 2]\n" + "x" * 6_000

    script: list[Reply] = []
    for turn in range(5):
        call = Call(tool="run_command", arguments={"command": f"make part{turn}"})
        script += [Reply(calls=(call,)), Reply(text="It fails. " + "word " * 2_500)]
    found = await rig(script, tools={"run_command": run_command})
    await ask(found, ["Never delete the database. Build part0.", *("go on" for _ in range(4))])
    newest = found.session.get_compactions()[-1]
    assert "make part0" in newest.summary
    assert "Never delete the database." in newest.summary
    receipt = found.of("compaction_end")[-1].receipt
    assert [fact.text for fact in receipt.user_rules.newest] == ["Never delete the database."]
    assert all(fact.in_view for fact in receipt.user_rules.newest)
    assert receipt.commands.total >= 2


async def test_permissions_outlive_compactions_and_reopening(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    settings = SessionSettings(
        summarizer="extractive", limits=LimitChoices(window=16_000, max_output=1_024)
    )
    first = ScriptedModel(answers(*[4_000] * 4), window=16_000)
    session = await create_agent_session(
        session_manager=SessionManager.create(tmp_path, path=path), model=first, settings=settings
    )
    async with session:
        await session.set_permission_preset("read-only")
        for number in range(4):
            await session.prompt(f"question {number}")
        assert session.get_compactions()
    second = ScriptedModel(answers(20), window=16_000)
    again = await create_agent_session(
        session_manager=await SessionManager.open(path), model=second, settings=settings
    )
    async with again:
        assert again.state.permission_preset == "read-only"
        await again.prompt("and now?")
    for request in (*first.requests, *second.requests):
        assert not {"write_file", "run_command"} & set(request.parameters.declared_tool_defs)


async def test_exempt_tools_are_never_cleared() -> None:
    async def recall() -> str:
        return "memory " * 2_000

    script: list[Reply] = []
    for turn in range(4):
        script += [Reply(calls=(Call(tool="recall"),)), read(f"r{turn}", 9_000), *answers(20)]
    pruning = PruningSettings(protect_tokens=100, minimum_tokens=100, never=frozenset({"recall"}))
    found = await rig(
        script, window=64_000, tools={"recall": recall}, engine=EngineSettings(pruning=pruning)
    )
    await ask(found, [f"question {number}" for number in range(4)])
    assert found.of("pruned")
    last = found.model.requests[-1].text
    assert last.count("memory memory") >= 4
    assert last.count("[Old tool result content cleared]") == 3


# --- trust ---------------------------------------------------------------------------------------


async def test_nobody_speaks_for_the_person() -> None:
    prompts = [f"question {number}" for number in range(4)]
    found = await rig(work(4, steps=4, characters=9_000))
    await ask(found, prompts)
    assert typed(found.session.messages) == prompts
    for request in found.model.requests:
        others = [text for text in typed(request.messages) if text not in prompts]
        assert len(others) <= 1
        assert all(text.endswith("</summary>") for text in others)


async def test_an_approval_is_for_one_call() -> None:
    call = Reply(calls=(Call(tool="read", arguments={"characters": 3}),))
    script = [call, *answers(4_000), call, *answers(4_000), call, *answers(4_000)]
    found = await rig(script, approving=frozenset({"read"}))
    for number in range(3):
        running = asyncio.ensure_future(found.session.prompt(f"question {number}"))
        await until(found.session, lambda: bool(found.session.state.pending_approvals))
        (request,) = found.session.state.pending_approvals
        assert found.session.answer_approval(request.request_id, approved=True)
        assert not found.session.answer_approval(request.request_id, approved=False)
        await running
    assert len(found.of("approval_requested")) == len(found.of("approval_resolved")) == 3
    assert len(found.tool_runs) == 3
    again = await rig(answers(20), store=found.store)
    assert again.session.state.pending_approvals == ()


# --- counting ------------------------------------------------------------------------------------


async def test_a_provider_that_counts_four_times_as_much_is_never_overrun() -> None:
    found = await rig(answers(*[700] * 10), count_ratio=4.0)
    await ask(found, [f"question {number}" for number in range(10)])
    assert found.session.get_compactions()
    limit = found.session.state.context_budget.budget.window
    assert all(4 * request.tokens <= limit for request in found.model.requests)


async def test_a_declared_window_wins_and_is_shown() -> None:
    model = ScriptedModel(answers(20), window=200_000)
    session = await create_agent_session(
        session_manager=SessionManager.in_memory(),
        model=model,
        tools=[],
        settings=SessionSettings(limits=LimitChoices(window=32_000)),
    )
    async with session:
        budget = session.state.context_budget
        assert budget.budget.window == 32_000
        assert budget.window_source == "32,000 tokens (as asked)"


# --- listeners -----------------------------------------------------------------------------------


async def test_a_listener_that_blocks_only_delays() -> None:
    found = await rig([read("a", 40), *answers(20)])
    blocked, released = threading.Event(), threading.Event()

    def release() -> None:
        blocked.wait()
        released.set()

    helper = threading.Thread(target=release)
    helper.start()

    def listen(event: object) -> None:
        blocked.set()
        assert released.wait(10)

    found.session.subscribe(listen)
    await found.session.prompt("go")
    helper.join()
    assert found.session.state.outcome == "success"
    assert found.session.listener_errors == ()
    assert found.kinds()[-1] == "settled"


def test_requests_are_checked_for_pairs() -> None:
    """The checker of this page finds what it is for."""
    orphan = ModelRequest(parts=[UserPromptPart("x")])
    asked = ModelResponse(parts=[ToolCallPart("read", {}, "c1")])
    seen: Any = SeenRequest(
        number=1, messages=(orphan, asked, orphan), settings={}, parameters=Any, streamed=False
    )
    with pytest.raises(AssertionError):
        check_pairs(seen)
