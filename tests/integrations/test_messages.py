"""Plain lists of messages: the same promises in each dialect."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from palimpsest.core.errors import (
    ContextBudgetExceededError,
    ForeignStateError,
    InvalidMessageError,
    InvalidSettingError,
    NothingToCompactError,
    UnknownCheckpointError,
)
from palimpsest.integrations.compactor import (
    CompactedMessages,
    CompactorSettings,
    MessagesDoNotFitError,
)
from palimpsest.integrations.messages import (
    compact_messages,
    detect_dialect,
    message_compactor,
    prune_messages,
    run_sync,
)
from palimpsest.models.engine import EngineSettings
from palimpsest.models.limits import LimitChoices
from palimpsest.models.model_summarizer import ModelSummarizer
from palimpsest.models.overflow import Overflow
from palimpsest.models.state import CompactionState
from palimpsest.testing import Reply, ScriptedModel
from palimpsest.testing.provider_rules import PROVIDER_RULES
from tests.integrations.histories import HISTORIES
from tests.models import wire

SMALL = LimitChoices(window=16_000, max_output=1_000)
TINY = LimitChoices(window=8_000, max_output=500)
DIALECTS = [*HISTORIES]


def whole(dialect: str, turns: int, **choices: int) -> list[dict[str, Any]]:
    """A history that waits for a reply."""
    steps = list(HISTORIES[dialect](turns, **choices))[:-1]
    return [message for step in steps for message in step]


def is_final(step: list[dict[str, Any]]) -> bool:
    return step[-1].get("role") in {"assistant", "model"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_three_hundred_requests_stay_legal_extend_each_other_and_lose_nothing(
    dialect: str,
) -> None:
    history: list[dict[str, Any]] = []
    state: CompactionState | None = None
    before: list[dict[str, Any]] = []
    requests = compactions = 0
    for step in HISTORIES[dialect](150, characters=600):
        history += step
        if is_final(step) or step[0].get("role") == "system":
            continue
        originals = json.dumps(history)
        compacted = run_sync(compact_messages(history, limits=TINY, state=state))
        assert json.dumps(history) == originals
        assert PROVIDER_RULES[dialect](compacted.messages) == []
        if state is not None and compacted.state.records == state.records:
            assert compacted.messages[: len(before)] == before
        requests += 1
        compactions += compacted.receipt is not None
        before = compacted.messages
        state = CompactionState.load(json.loads(json.dumps(compacted.state.dump())))
        assert state == compacted.state
    assert requests == 300
    assert compactions >= 2
    assert state is not None
    assert state.dialect == dialect
    shown = message_compactor(history, settings=CompactorSettings()).prune(
        history, state=state.restored(None, outputs=True)
    )
    assert shown.messages == history


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_fits_passes_untouched(dialect: str) -> None:
    history = whole(dialect, 2, characters=100)
    compacted = run_sync(compact_messages(history, model="gpt-4o"))
    assert compacted.messages == history
    assert all(one is two for one, two in zip(compacted.messages, history, strict=True))
    assert compacted.receipt is None
    assert compacted.state.records == ()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_pruning_clears_old_outputs_in_a_copy(dialect: str) -> None:
    history = whole(dialect, 12)
    originals = json.dumps(history)
    pruned = prune_messages(history, limits=SMALL)
    assert json.dumps(history) == originals
    assert "[Old tool result content cleared]" in json.dumps(pruned.messages)
    assert PROVIDER_RULES[dialect](pruned.messages) == []
    assert len(pruned.messages) == len(history)
    again = prune_messages(history, limits=SMALL, state=pruned.state)
    assert again.messages == pruned.messages
    assert again.state == pruned.state


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_single_huge_result_is_trimmed_to_head_and_tail(dialect: str) -> None:
    history = whole(dialect, 1, characters=60_000)
    compacted = run_sync(compact_messages(history, limits=SMALL))
    assert PROVIDER_RULES[dialect](compacted.messages) == []
    assert "omitted" in json.dumps(compacted.messages)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_without_a_result_gets_a_stand_in(dialect: str) -> None:
    *begun, step, _ = HISTORIES[dialect](2)
    history = [message for one in begun for message in one]
    replies = {"openai-responses": step[:-2]}.get(dialect, step[:1])
    prompt = begun[-1][0]
    compacted = run_sync(compact_messages([*history, *replies, prompt], limits=SMALL))
    assert PROVIDER_RULES[dialect](compacted.messages) == []
    assert json.dumps(compacted.messages).count("[No result: the call was interrupted") == 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_result_nobody_asked_for_is_left_out(dialect: str) -> None:
    first, step = list(HISTORIES[dialect](1))[-3:-1]
    results = [m for m in step if "value = 1" in json.dumps(m)]
    compacted = run_sync(compact_messages([*first, *results], limits=SMALL))
    assert compacted.messages == first


@pytest.mark.parametrize("dialect", DIALECTS)
def test_compacting_by_hand_and_undoing_it(dialect: str) -> None:
    history = whole(dialect, 12, characters=4_000)
    settings = CompactorSettings(limits=LimitChoices(window=32_000, max_output=1_000))
    compactor = message_compactor(history, settings=settings)
    done = run_sync(compactor.compact_now(history))
    assert done.receipt is not None
    assert done.receipt.figures.trigger == "manual"
    assert len(done.messages) < len(history)
    undone = compactor.prune(history, state=done.state.restored(None, outputs=True))
    assert undone.messages == history
    again = compactor.prune(history, state=undone.state.restored(done.state.checkpoints[0].id))
    assert len(again.messages) == len(done.messages)
    with pytest.raises(UnknownCheckpointError):
        done.state.restored("no such")
    with pytest.raises(NothingToCompactError):
        run_sync(compactor.compact_now(history[:3]))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_rejected_request_is_compacted_and_its_window_remembered(dialect: str) -> None:
    history = whole(dialect, 8)
    settings = CompactorSettings(limits=LimitChoices(window=128_000, max_output=1_000))
    compactor = message_compactor(history, settings=settings)
    first = run_sync(compactor.compact(history))
    assert first.receipt is None
    rejected = Overflow(window=8_000, request=9_000)
    second = run_sync(compactor.compact(history, state=first.state, overflow=rejected))
    assert second.receipt is not None
    assert second.receipt.figures.trigger == "overflow"
    assert second.state.window == 8_000
    assert PROVIDER_RULES[dialect](second.messages) == []


def test_a_rejection_for_its_bytes_lowers_their_limit() -> None:
    history = whole("openai-chat", 8)
    compactor = message_compactor(history, settings=CompactorSettings())
    first = run_sync(compactor.compact(history))
    size = len(json.dumps(first.messages))
    second = run_sync(
        compactor.compact(history, state=first.state, overflow=Overflow(unit="bytes"))
    )
    assert 0 < second.state.byte_limit < size
    assert len(json.dumps(second.messages)) < size


def test_the_providers_count_decides_on_pressure() -> None:
    history = whole("openai-chat", 8)
    settings = CompactorSettings(limits=LimitChoices(window=32_000, max_output=1_000))
    compactor = message_compactor(history, settings=settings)
    first = run_sync(compactor.compact(history))
    assert first.receipt is None
    more = [*history, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Go."}]
    calm = run_sync(compactor.compact(more, state=first.state, reported_tokens=9_000))
    full = run_sync(compactor.compact(more, state=first.state, reported_tokens=29_000))
    assert (calm.receipt is None, full.receipt is None) == (True, False)
    loaded = CompactionState.load(calm.state.dump())
    assert loaded.meter.anchor is not None
    assert loaded == calm.state


def test_a_model_may_write_the_summaries() -> None:
    writer = ScriptedModel([Reply(text="## Goal\nMend everything.")], window=128_000)
    history = whole("anthropic-messages", 40, characters=2_000)
    compacted = run_sync(
        compact_messages(
            history,
            limits=SMALL,
            summarizer=ModelSummarizer(model=writer),
            system="Be brief.",
            tools=[{"name": "read", "description": "", "input_schema": {}}],
        )
    )
    assert "Mend everything." in json.dumps(compacted.messages)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_refusal_holds_what_was_done_before_it(dialect: str) -> None:
    writer = ScriptedModel([Reply(text="## Goal\nMend everything.")] * 9, window=128_000)
    summarizer = ModelSummarizer(model=writer)
    history = whole(dialect, 12)
    prompt = "x" * 300_000
    large = {"parts": [{"text": prompt}]} if dialect == "google-contents" else {"content": prompt}
    history += [*list(HISTORIES[dialect](12))[-1], {"role": "user", **large}]
    with pytest.raises(MessagesDoNotFitError) as caught:
        run_sync(compact_messages(history, limits=SMALL, summarizer=summarizer))
    error = caught.value
    assert error.receipt is not None
    assert len(error.state.checkpoints) >= 1
    generated = len(writer.requests)
    assert generated >= 1

    # A larger window takes the same messages up where they were left: nothing is paid for twice.
    wide = LimitChoices(window=200_000, max_output=1_000)
    state = CompactionState.load(json.loads(json.dumps(error.state.dump())))
    again = run_sync(compact_messages(history, limits=wide, summarizer=summarizer, state=state))
    assert "Mend everything." in json.dumps(again.messages)
    assert (len(writer.requests), again.receipt) == (generated, None)
    assert PROVIDER_RULES[dialect](again.messages) == []

    told = pickle.loads(pickle.dumps(error))
    assert (str(told), told.state) == (str(error), error.state)
    assert error.code == "context_budget_exceeded"


def test_events_tell_what_happens() -> None:
    events: list[Any] = []
    history = whole("openai-chat", 40)
    settings = CompactorSettings(limits=SMALL, on_event=events.append)
    run_sync(message_compactor(history, settings=settings).compact(history))
    kinds = [event.kind for event in events]
    assert kinds[0] == "pruned"
    assert kinds[-1] == "context_budget"


def test_what_cannot_fit_is_refused() -> None:
    with pytest.raises(ContextBudgetExceededError):
        run_sync(compact_messages([{"role": "user", "content": "x" * 90_000}], limits=SMALL))


def test_limits_come_from_the_name_or_the_model() -> None:
    history = whole("openai-chat", 3)
    events: list[Any] = []
    for model in ("openai:gpt-4o", "nobody-knows-it", ScriptedModel([], window=48_000)):
        settings = CompactorSettings(model=model, on_event=events.append)
        run_sync(message_compactor(history, settings=settings).compact(history))
    assert [event.budget.window for event in events] == [128_000, 128_000, 48_000]


def test_automatic_compaction_can_be_off() -> None:
    history = whole("openai-chat", 60)
    engine = EngineSettings(automatic=False, prunes=False)
    settings = CompactorSettings(limits=SMALL, engine=engine)
    with pytest.raises(ContextBudgetExceededError, match="off"):
        run_sync(message_compactor(history, settings=settings).compact(history))


async def inside_a_loop() -> CompactedMessages[dict[str, Any]]:
    return run_sync(compact_messages([{"role": "user", "content": "Hello."}]))


def test_blocking_code_may_stand_inside_a_loop() -> None:
    assert asyncio.run(inside_a_loop()).messages == [{"role": "user", "content": "Hello."}]


# --- states ---------------------------------------------------------------------------------------


def test_a_state_refuses_another_history() -> None:
    history = whole("openai-chat", 3)
    state = run_sync(compact_messages(history)).state
    edited = copy.deepcopy(history)
    edited[2]["content"] = "Something else."
    for other, index, why in (
        (edited, 2, "message 2 is not the one"),
        (history[:-1], len(history) - 1, f"made with {len(history)} messages"),
        (whole("anthropic-messages", 3), None, "openai-chat messages, not anthropic-messages"),
    ):
        with pytest.raises(ForeignStateError, match=why) as caught:
            run_sync(compact_messages(other, state=state))
        assert caught.value.message_index == index


MARKED = {"type": "text", "text": "Hello.", "cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    "content", ["Hello.", [{"type": "text", "text": "Hello."}], [MARKED], [MARKED, MARKED]]
)
def test_plain_text_commits_to_no_dialect(content: Any) -> None:
    history: list[dict[str, Any]] = [
        {"role": "user", "content": content},
        {"role": "assistant", "content": content},
    ]
    state = run_sync(compact_messages(history)).state
    assert state.dialect == ""
    use = {"type": "tool_use", "id": "t", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
    history += [
        {"role": "user", "content": "Read."},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    assert run_sync(compact_messages(history, state=state)).state.dialect == "anthropic-messages"


@pytest.mark.parametrize("content", ["w " * 200, [{"type": "text", "text": "w " * 200}]])
@pytest.mark.parametrize(
    "choices",
    [
        {"model": "claude-sonnet-4-5"},
        {"model": "anthropic:claude-sonnet-4-5"},
        {"model": wire.anthropic(wire.Wire(), "mine")},
        {"dialect": "anthropic-messages"},
    ],
)
def test_plain_text_for_anthropic_keeps_to_its_rules(content: Any, choices: dict[str, Any]) -> None:
    roles = ["user", "assistant"] * 12 + ["user"]
    history = [{"role": role, "content": content} for role in roles]
    small = LimitChoices(window=2_500, max_output=200)
    compacted = run_sync(compact_messages(history, limits=small, **choices))
    assert len(compacted.messages) < len(history)
    assert PROVIDER_RULES["anthropic-messages"](compacted.messages) == []
    assert compacted.state.dialect == ""
    assert prune_messages(history, **choices).messages == history


@pytest.mark.parametrize("model", [None, "gpt-5", "openrouter:anthropic/claude-sonnet-4-5"])
def test_plain_text_for_anyone_else_is_openai_chat(model: str | None) -> None:
    assert detect_dialect([{"role": "user", "content": "Hello."}], model=model) == "openai-chat"


REASONING = {"type": "reasoning", "id": "r", "summary": []}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
SEARCH = {"type": "web_search_call", "id": "w", "status": "completed"}
SAID = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "x", "annotations": []}],
}


@pytest.mark.parametrize("begun", [REASONING, CALL, SEARCH, SAID])
def test_a_count_of_a_reply_that_grew_since_teaches_nothing(begun: dict[str, Any]) -> None:
    compactor = message_compactor(
        settings=CompactorSettings(limits=SMALL), dialect="openai-responses"
    )
    history: list[dict[str, Any]] = [{"role": "user", "content": "hi"}, begun]
    state = run_sync(compactor.compact(history)).state
    history += [SAID, {"role": "user", "content": "go on"}]
    grown = run_sync(compactor.compact(history, state=state, reported_tokens=50))
    assert grown.state.meter == CompactionState().meter


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"format": "other"}, "version 1"),
        ({"version": 2}, "version 1"),
        ({"digests": "0" * 32}, "as it was given out"),
        ({"records": [{}]}, "as it was given out"),
    ],
)
def test_a_state_that_was_changed_is_refused(change: dict[str, Any], why: str) -> None:
    dumped = run_sync(compact_messages(whole("openai-chat", 3))).state.dump()
    with pytest.raises(InvalidSettingError, match=why):
        CompactionState.load({**dumped, **change})
    with pytest.raises(InvalidSettingError):
        CompactionState.load(None)


# --- bad input ------------------------------------------------------------------------------------


def call(call_id: str = "c", **changes: Any) -> dict[str, Any]:
    function = {"name": "read", "arguments": "{}", **changes}
    return {"id": call_id, "type": "function", "function": function}


def assistant(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [*calls]}


def tool(call_id: Any = "c") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def use(**changes: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": "t", "name": "read", "input": {}, **changes}
    return {"role": "assistant", "content": [block]}


USER = {"role": "user", "content": "Go."}
CHAT, ANTHROPIC, RESPONSES, GOOGLE = DIALECTS


@pytest.mark.parametrize(
    ("dialect", "messages", "why"),
    [
        (CHAT, [USER, "text"], "Message 1 is no object but str."),
        (CHAT, [{"role": "robot"}], "role 'robot', not one of system"),
        (CHAT, [{"content": "x"}], "role None"),
        (CHAT, [{"role": "user", "content": 7}], "neither text nor a list"),
        (CHAT, [{"role": "user", "content": [{"text": "x"}]}], "number 0, without type"),
        (CHAT, [{"role": "assistant", "tool_calls": {}}], "tool calls that are no list"),
        (CHAT, [assistant(call(name=""))], "without a tool's name"),
        (CHAT, [assistant(call(""))], "call of 'read' without an id"),
        (CHAT, [assistant(call(arguments={}))], "arguments are no text"),
        (CHAT, [USER, assistant(call(arguments='{"pa'))], "Message 1 .* break off; hand it over"),
        (CHAT, [assistant(call()), USER, assistant(call())], "Message 2 .* in message 0 that is"),
        (CHAT, [assistant(call()), tool(), tool()], "Message 2 answers .* message 1 answered"),
        (CHAT, [assistant(call()), tool(None)], "names no call"),
        (CHAT, [{"role": "user", "content": "x", "extra": object()}], "no JSON"),
        (ANTHROPIC, [{"role": "system", "content": "x"}], "not one of user, assistant"),
        (ANTHROPIC, [use(input='{"pa')], "input is no object"),
        (ANTHROPIC, [use(), USER, use()], "Message 2 repeats the id 't'"),
        (ANTHROPIC, [{"role": "user", "content": None}], "neither text nor a list"),
        (RESPONSES, [{"type": "function_call", "name": "f"}], "arguments are no text"),
        (
            RESPONSES,
            [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{"}],
            "break off",
        ),
        (RESPONSES, [{"type": "function_call_output", "call_id": "c"}], "without output"),
        (RESPONSES, ["text"], "no object"),
        (GOOGLE, [{"role": "user"}], "parts that are no list"),
        (GOOGLE, [{"role": "assistant", "parts": []}], "not one of user, model"),
        (GOOGLE, [{"role": "model", "parts": [{"functionCall": {}}]}], "without a tool's name"),
    ],
)
def test_a_message_that_cannot_be_read_is_named(
    dialect: str, messages: list[Any], why: str
) -> None:
    compactor = message_compactor(settings=CompactorSettings(), dialect=dialect)
    with pytest.raises(InvalidMessageError, match=why):
        run_sync(compactor.compact(messages))


def deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(3_000):
        nested = [nested]
    return nested


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a value with each of its keys."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in [*pairs]:
            yield value, key
            yield from places(inner)


@pytest.mark.parametrize(
    "wrong", [10**5_000, deep(), {1, 2}, {}], ids=["digits", "depth", "set", "object"]
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_whatever_stands_anywhere_is_read_or_named(dialect: str, wrong: Any) -> None:
    history = whole(dialect, 1, calls=1, characters=20)
    compactor = message_compactor(settings=CompactorSettings(limits=SMALL), dialect=dialect)
    for container, key in places(history):
        kept, container[key] = container[key], wrong
        with contextlib.suppress(InvalidMessageError):
            compactor.prune(history)
        detect_dialect(history)
        container[key] = kept


def test_arguments_that_break_off_are_forgiven_once_they_were_answered() -> None:
    history = [USER, assistant(call(arguments='{"pa')), tool()]
    assert run_sync(compact_messages(history)).messages == history


def test_an_unknown_dialect_is_named() -> None:
    with pytest.raises(InvalidSettingError, match="openai-chat"):
        message_compactor(settings=CompactorSettings(), dialect="esperanto")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_dialect_is_seen_from_the_messages(dialect: str) -> None:
    assert detect_dialect(whole(dialect, 1)) == dialect
