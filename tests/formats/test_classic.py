from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ToolReturnPart

import palimpsest
from palimpsest import (
    PRUNE_MIN_USER_TURNS,
    PRUNE_MINIMUM_THRESHOLD,
    PRUNE_PLACEHOLDER,
    PRUNE_PROTECT_TOKENS,
)
from palimpsest.formats.classic import (
    count_user_turns,
    estimate_part_tokens,
    get_prune_thresholds,
    is_tool_return_part,
    prune_old_tool_outputs,
    prune_part_content,
)
from tests.formats.messages import assistant, returns, user
from tests.tables import shared_cases


def text(tokens: int) -> str:
    return PRUNE_PLACEHOLDER if tokens == 8 else "x" * (4 * tokens)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("case", shared_cases("pruning"))
def test_pruning_table(case: dict[str, Any], native: bool) -> None:
    messages: list[Any] = [user("go") for _ in range(case["user_turns"])]
    first = len(messages)
    for sizes in case["messages"]:
        if native:
            messages.append(returns(*((f"c{i}", "read", text(s)) for i, s in enumerate(sizes))))
        else:
            parts = [SimpleNamespace(part_kind="tool-return", content=text(s)) for s in sizes]
            messages.append(SimpleNamespace(parts=parts))
    cleared = [
        (m, p)
        for m, message in enumerate(messages[first:])
        for p, part in enumerate(message.parts)
        if part.content == PRUNE_PLACEHOLDER
    ]
    result = prune_old_tool_outputs(messages, "any-model")
    assert result == (len(case["pruned"]), case["reclaimed"])
    assert result.pruned_count == len(case["pruned"])
    assert result.tokens_reclaimed == case["reclaimed"]
    pruned = [
        [m, p]
        for m, message in enumerate(messages[first:])
        for p, part in enumerate(message.parts)
        if part.content == PRUNE_PLACEHOLDER and (m, p) not in cleared
    ]
    assert pruned == case["pruned"]
    assert prune_old_tool_outputs(messages, None) == (0, 0)


def test_only_tool_returns_change() -> None:
    messages: list[ModelMessage] = [
        user("a" * 400_000),
        assistant("b" * 400_000, ("c", "read", {"path": "p" * 400_000})),
        returns(("c", "read", "d" * 400_000), attached="e" * 400_000),
        user("more"),
    ]
    before = [list(message.parts) for message in messages]
    assert prune_old_tool_outputs(messages, "m").pruned_count == 1
    after = [list(message.parts) for message in messages]
    assert [before[0], before[1], before[3]] == [after[0], after[1], after[3]]
    assert after[2][0].content == PRUNE_PLACEHOLDER  # type: ignore[union-attr]
    assert after[2][1] == before[2][1]


@dataclass(frozen=True)
class Frozen:
    content: str
    part_kind: str = "tool-return"


def test_immutable_parts_are_left_alone_and_the_others_go_on() -> None:
    loose = SimpleNamespace(part_kind="tool-return", content=text(50_000))
    frozen = Frozen(content=text(50_000))
    messages = [user("a"), user("b"), SimpleNamespace(parts=[loose, frozen])]
    assert prune_old_tool_outputs(messages, None) == (1, 50_000 - 8)
    assert frozen.content == text(50_000)
    assert prune_part_content(frozen) == 0


def test_constants_and_thresholds() -> None:
    assert PRUNE_PLACEHOLDER == "[Old tool result content cleared]"
    assert get_prune_thresholds() == (PRUNE_PROTECT_TOKENS, PRUNE_MINIMUM_THRESHOLD)
    assert get_prune_thresholds() == (40_000, 20_000)
    assert PRUNE_MIN_USER_TURNS == 2


@pytest.mark.parametrize(
    ("content", "tokens"), [(None, 0), ("", 0), ("abcdefgh", 2), ({"a": [1, 2]}, 2), (object, 4)]
)
def test_part_sizes(content: object, tokens: int) -> None:
    assert estimate_part_tokens(SimpleNamespace(content=content)) == tokens
    assert estimate_part_tokens(SimpleNamespace()) == 0


def test_user_turns() -> None:
    messages: list[Any] = [
        user(["a", "b"]),
        assistant("x"),
        {"role": "user", "content": "c"},
        {"role": "user", "content": ""},
        {"role": "assistant", "content": "d"},
        SimpleNamespace(),
    ]
    assert count_user_turns(messages) == 2


def test_tool_return_parts() -> None:
    part = ToolReturnPart(tool_name="t", content="c", tool_call_id="i")
    assert is_tool_return_part(part)
    assert not is_tool_return_part(user("x").parts[0])
    assert prune_part_content(part) == 0
    assert part.content == "c"


def test_names_are_public() -> None:
    assert palimpsest.prune_old_tool_outputs is prune_old_tool_outputs
