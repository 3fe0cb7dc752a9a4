"""No prune, cut, split, trim or restore makes a request that a provider refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.core.errors import ContextBudgetExceededError, NothingToCompactError
from palimpsest.integrations.compactor import CompactorSettings
from palimpsest.integrations.messages import message_compactor, run_sync
from palimpsest.models.limits import LimitChoices
from palimpsest.models.overflow import Overflow
from palimpsest.models.state import NEW, CompactionState
from palimpsest.testing.provider_rules import PROVIDER_RULES
from tests.integrations.histories import HISTORIES

OPERATIONS = st.lists(
    st.sampled_from(
        ["step", "step", "step", "send", "send", "prune", "cut", "overflow", "undo", "back"]
    ),
    min_size=5,
    max_size=40,
)


@pytest.mark.parametrize("dialect", HISTORIES)
@given(
    operations=OPERATIONS,
    calls=st.integers(1, 3),
    characters=st.sampled_from([200, 4_000, 30_000]),
    window=st.sampled_from([6_000, 16_000]),
)
@settings(max_examples=60, deadline=None)
def test_every_request_is_legal(
    dialect: str, operations: list[str], calls: int, characters: int, window: int
) -> None:
    steps = iter(HISTORIES[dialect](20, calls=calls, characters=characters))
    history: list[dict[str, Any]] = [m for _ in range(2) for m in next(steps)]
    limits = LimitChoices(window=window, max_output=500)
    compactor = message_compactor(settings=CompactorSettings(limits=limits), dialect=dialect)
    state: CompactionState = NEW
    for operation in operations:
        if operation == "step":
            history += next(steps, [])
            continue
        if operation in {"undo", "back"}:
            ids = [checkpoint.id for checkpoint in state.checkpoints]
            state = state.restored(
                ids[0] if ids and operation == "back" else None, outputs=operation == "undo"
            )
            continue
        originals = json.dumps(history)
        try:
            match operation:
                case "send":
                    done = run_sync(compactor.compact(history, state=state))
                case "prune":
                    done = compactor.prune(history, state=state)
                case "cut":
                    done = run_sync(compactor.compact_now(history, state=state))
                case _:
                    rejected = Overflow(request=window)
                    done = run_sync(compactor.compact(history, state=state, overflow=rejected))
        except (ContextBudgetExceededError, NothingToCompactError):
            continue
        assert json.dumps(history) == originals
        assert PROVIDER_RULES[dialect](done.messages) == []
        state = CompactionState.load(json.loads(json.dumps(done.state.dump())))


TEXT = {"type": "text", "text": "x"}
USE = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
CALL = {"functionCall": {"name": "f", "args": {}}}
RESPONSE = {"function_response": {"name": "f", "response": {}}}


def ours(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": [*blocks]}


def theirs(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": [*blocks]}


def parts(role: str, *found: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": [*found]}


@pytest.mark.parametrize(
    ("dialect", "messages", "rule"),
    [
        ("openai-chat", [{"role": "tool", "tool_call_id": "c", "content": "x"}], "no open call"),
        ("openai-chat", [{"role": "assistant", "tool_calls": [{"id": "c"}]}], "has no result"),
        ("openai-chat", [{"role": "assistant", "tool_calls": [{"id": "c"}] * 2}], "stands twice"),
        ("openai-chat", [{"role": "user", "content": ""}], "without content"),
        ("anthropic-messages", [theirs(TEXT)], "two assistant messages"),
        ("anthropic-messages", [ours()], "without content"),
        ("anthropic-messages", [ours(TEXT), theirs(USE), ours(TEXT)], "no result"),
        ("anthropic-messages", [ours(RESULT)], "answers no call"),
        ("anthropic-messages", [ours(TEXT), theirs(USE), ours(TEXT, RESULT)], "behind something"),
        ("anthropic-messages", [ours(USE)], "no reply makes"),
        ("anthropic-messages", [ours({"type": "text", "text": ""})], "empty text"),
        ("anthropic-messages", [ours(TEXT), theirs({"type": "thinking"})], "signed part"),
        (
            "anthropic-messages",
            [
                ours(TEXT),
                theirs({"type": "thinking", "signature": "s", "cache_control": {}}),
            ],
            "thinking with a mark",
        ),
        ("anthropic-messages", [ours(*[{**TEXT, "cache_control": {}}] * 5)], "5 marks"),
        (
            "anthropic-messages",
            [ours(TEXT), theirs({"type": "web_search_tool_result", "tool_use_id": "s"})],
            "own result without",
        ),
        ("openai-responses", [{"type": "reasoning"}], "what it led to"),
        ("openai-responses", [{"type": "function_call", "call_id": "c"}], "has no result"),
        ("openai-responses", [{"type": "function_call_output", "call_id": "c"}], "no call of its"),
        ("google-contents", [parts("model", {"text": "x"})], "two model contents"),
        ("google-contents", [parts("user")], "without parts"),
        ("google-contents", [parts("user", {"text": "x"}, RESPONSE)], "responses"),
        ("google-contents", [parts("user", {"text": "x"}, RESPONSE)], "behind something"),
        ("google-contents", [parts("user", CALL)], "no reply makes"),
        ("google-contents", [parts("user", {"text": "x"}), parts("model", CALL)], "no result"),
    ],
)
def test_the_rules_tell_on_what_providers_refuse(
    dialect: str, messages: list[Any], rule: str
) -> None:
    assert any(rule in violation.rule for violation in PROVIDER_RULES[dialect](messages))
