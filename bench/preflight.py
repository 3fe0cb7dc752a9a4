"""What one preflight costs as a session grows, side by side with others in the same run.

The same history for everybody: one user turn, then ten calls with their results, repeated; results
of 2 to 8 KB. Each row checks that it did the work that it claims. Ratios and growth are the point;
absolute times are of this machine.
"""

from __future__ import annotations

import asyncio
import copy
import math
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from langchain.agents.middleware.context_editing import ClearToolUsesEdit
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage
from pydantic_ai_harness.compaction import ClearToolResults, compact_now
from pydantic_ai_harness.compaction._shared import (
    estimate_context_tokens,
    estimate_token_count,
)
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.event_loop.event_loop import _estimate_input_tokens

from palimpsest.core.budget import Budget, Measure
from palimpsest.core.calibration import Meter
from palimpsest.core.outline import Outline
from palimpsest.core.planning import plan_cut
from palimpsest.core.policy import PolicySettings, Reading, begin
from palimpsest.core.pruning import PruningSettings, plan_pruning
from palimpsest.core.records import Clearing, ViewState
from palimpsest.core.view import View
from palimpsest.formats.pydantic_ai import outline

SIZES = (200, 2_000, 20_000)
CALLS_PER_TURN = 10
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LINE = "def handler_{0}(request, context): return context.render({0}, request)\n"


@dataclass(frozen=True)
class Row:
    """One line of the table: median milliseconds per size."""

    library: str
    operation: str
    milliseconds: list[float]

    @property
    def growth(self) -> float:
        """Exponent of growth from the smallest size to the largest; 0 is flat, 1 is linear."""
        first, last = self.milliseconds[0], self.milliseconds[-1]
        return math.log(last / first) / math.log(SIZES[-1] / SIZES[0])


def tool_text(number: int) -> str:
    """Give a tool result of 2 to 8 KB that differs from the others."""
    return "".join(LINE.format(number * 100 + line) for line in range(30 + number * 37 % 90))


def native(count: int, *, usage: bool) -> list[ModelMessage]:
    """Give a pydantic-ai history of ``count`` messages."""
    messages: list[ModelMessage] = []
    number = 0
    while len(messages) < count:
        if number % CALLS_PER_TURN == 0:
            prompt = UserPromptPart(content=f"Look at part {number}.", timestamp=NOW)
            messages.append(ModelRequest(parts=[prompt], timestamp=NOW))
        call = ToolCallPart(tool_name="read", args={"n": number}, tool_call_id=f"c{number}")
        used = RequestUsage(input_tokens=1_000 * (number + 1), output_tokens=40)
        messages.append(
            ModelResponse(
                parts=[TextPart(content="I read it."), call],
                usage=used if usage else RequestUsage(),
                timestamp=NOW,
            )
        )
        result = ToolReturnPart(
            tool_name="read", content=tool_text(number), tool_call_id=f"c{number}", timestamp=NOW
        )
        messages.append(ModelRequest(parts=[result], timestamp=NOW))
        number += 1
    return messages[:count] if isinstance(messages[count - 1], ModelRequest) else messages


def langchain(count: int) -> list[Any]:
    """Give the same history as LangChain messages."""
    converted: list[Any] = []
    for message in native(count, usage=False):
        for part in message.parts:
            match part:
                case UserPromptPart(content=text):
                    converted.append(HumanMessage(content=str(text)))
                case ToolCallPart():
                    call = {"name": "read", "args": {}, "id": part.tool_call_id}
                    converted.append(AIMessage(content="I read it.", tool_calls=[call]))
                case ToolReturnPart(content=text):
                    converted.append(ToolMessage(content=str(text), tool_call_id=part.tool_call_id))
                case _:
                    pass
    return converted


def strands(count: int) -> list[dict[str, Any]]:
    """Give the same history as Strands messages, with usage on every reply."""
    converted: list[dict[str, Any]] = []
    for message in native(count, usage=False):
        for part in message.parts:
            match part:
                case UserPromptPart(content=text):
                    converted.append({"role": "user", "content": [{"text": str(text)}]})
                case ToolCallPart():
                    use = {"toolUseId": part.tool_call_id, "name": "read", "input": {}}
                    used = {
                        "usage": {"inputTokens": 1_000, "outputTokens": 40, "totalTokens": 1_040}
                    }
                    converted.append(
                        {"role": "assistant", "content": [{"toolUse": use}], "metadata": used}
                    )
                case ToolReturnPart(content=text):
                    result = {
                        "toolUseId": part.tool_call_id,
                        "status": "success",
                        "content": [{"text": str(text)}],
                    }
                    converted.append({"role": "user", "content": [{"toolResult": result}]})
                case _:
                    pass
    return converted


def median_ms(work: Callable[[], object], *, seconds: float = 1.5) -> float:
    """Run the work for a while and give the median of its times."""
    times: list[float] = []
    until = time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < until and len(times) < 2_000):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1_000)
    return statistics.median(times)


# --- the rows ------------------------------------------------------------------------------------


def our_session(count: int, *, usage: bool, prompts: bool) -> Callable[[], object]:
    """A session whose old outputs are cleared already; at a prompt it prunes and plans too."""
    history = native(count, usage=usage)
    grown = Outline([outline(message) for message in history])
    settings = PruningSettings()
    view = View(grown, ViewState())
    plan = plan_pruning(view, settings)
    if plan is not None:
        placeholders = tuple((position, settings.placeholder) for position in plan.positions)
        clearing = Clearing(
            id="",
            timestamp=0,
            placeholders=placeholders,
            tokens_reclaimed=plan.tokens_reclaimed,
        )
        view = View(grown, view.state.after(clearing, {}))
    assert (plan is not None) is (count > 100), "old outputs should be cleared"
    fixed = Measure(tokens=3_000, bytes=12_000)
    budget = Budget(window=1_000_000, reserved_output=16_000)
    meter = Meter()
    if usage:
        meter = meter.after_reply(view, fixed, message_count=count - 1, reported_tokens=90_000)

    def preflight() -> None:
        if prompts:
            assert plan_pruning(view, settings) is None
            plan_cut(view, keep_tokens=budget.retention, calibration=meter.calibration)
        reading = Reading(pressure=meter.pressure(view, fixed), comparable=meter.local(view, fixed))
        state = begin(budget=budget, settings=PolicySettings(), counter=0, reading=reading)
        assert state.effect.kind in {"send", "plan"}

    return preflight


def our_growth(count: int) -> Callable[[], object]:
    """Take in one step of 5 KB and decide: what a session pays between two requests."""
    step = [
        ModelResponse(parts=[TextPart(content="I read it.")], timestamp=NOW),
        ModelRequest(
            parts=[ToolReturnPart(tool_name="r", content=tool_text(3), tool_call_id="x")],
            timestamp=NOW,
        ),
    ]
    decide = our_session(count, usage=True, prompts=False)

    def grow() -> None:
        for message in step:
            outline(message)
        decide()

    return grow


def harness_usage(count: int) -> Callable[[], object]:
    history = native(count, usage=True)
    assert estimate_context_tokens(history) > count
    return lambda: estimate_context_tokens(history)


def harness_no_usage(count: int) -> Callable[[], object]:
    history = native(count, usage=False)
    assert estimate_token_count(history) > count
    return lambda: estimate_token_count(history)


def harness_clear(count: int) -> Callable[[], object]:
    strategy = ClearToolResults(max_tokens=1, keep_pairs=10)
    loop = asyncio.new_event_loop()
    history = native(count, usage=False)
    model = TestModel()

    def clear() -> list[ModelMessage]:
        return loop.run_until_complete(compact_now(strategy, list(history), model=model))

    cleared = sum("cleared" in str(m.parts[0]) for m in clear()[: count // 2])
    assert cleared > count // 8, "old results should be cleared"
    return clear


def langchain_count(count: int) -> Callable[[], object]:
    history = langchain(count)
    assert count_tokens_approximately(history) > count
    return lambda: count_tokens_approximately(history)


def langchain_edit(count: int) -> Callable[[], object]:
    history = langchain(count)
    edit = ClearToolUsesEdit(trigger=1_000)

    def apply() -> list[Any]:
        messages = copy.deepcopy(history)
        edit.apply(messages, count_tokens=count_tokens_approximately)
        return messages

    assert sum(message.content == edit.placeholder for message in apply()) > count // 4
    return apply


def strands_usage(count: int) -> Callable[[], object]:
    agent: Any = SimpleNamespace(
        messages=strands(count), model=SimpleNamespace(count_tokens=_unused), system_prompt=""
    )
    agent.messages = agent.messages[: -1 if agent.messages[-1]["role"] == "user" else None]
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(_estimate_input_tokens(agent)) > 0
    return lambda: loop.run_until_complete(_estimate_input_tokens(agent))


async def _unused(*arguments: object, **named: object) -> int:
    raise AssertionError(arguments, named)


def strands_trim(count: int) -> Callable[[], object]:
    manager = SlidingWindowConversationManager(window_size=40)
    history = strands(count)

    def trim() -> list[Any]:
        agent: Any = SimpleNamespace(messages=list(history))
        manager.apply_management(agent)
        return agent.messages

    assert len(trim()) <= 41
    return trim


ROWS: tuple[tuple[str, str, Callable[[int], Callable[[], object]]], ...] = (
    (
        "palimpsest",
        "preflight: measure + decide",
        lambda n: our_session(n, usage=True, prompts=False),
    ),
    (
        "palimpsest",
        "the same, without provider usage",
        lambda n: our_session(n, usage=False, prompts=False),
    ),
    (
        "palimpsest",
        "at a prompt: prune + plan + preflight",
        lambda n: our_session(n, usage=True, prompts=True),
    ),
    ("palimpsest", "one new step measured + preflight", our_growth),
    ("pydantic-ai-harness", "estimate, with provider usage", harness_usage),
    ("pydantic-ai-harness", "estimate, without usage", harness_no_usage),
    ("pydantic-ai-harness", "ClearToolResults", harness_clear),
    ("LangChain", "count_tokens_approximately", langchain_count),
    ("LangChain", "ClearToolUsesEdit, over its trigger", langchain_edit),
    ("Strands", "estimate, with provider usage", strands_usage),
    ("Strands", "SlidingWindow(40)", strands_trim),
)


def main() -> None:
    """Print the table."""
    print(f"{platform.machine()}, Python {platform.python_version()}; median ms per call")
    sizes = "".join(f"{size:>12,}" for size in SIZES)
    print(f"{'library':<21}{'operation':<40}{sizes}{'growth':>9}")
    for library, operation, make in ROWS:
        row = Row(library, operation, [median_ms(make(size)) for size in SIZES])
        times = "".join(f"{value:>12.4f}" for value in row.milliseconds)
        print(f"{library:<21}{operation:<40}{times}{row.growth:>9.2f}")


if __name__ == "__main__":
    main()
