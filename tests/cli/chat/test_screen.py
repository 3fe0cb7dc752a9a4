"""Events to screens, by tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from palimpsest.cli.chat.blocks import (
    Block,
    CompactedBlock,
    NoticeBlock,
    PromptBlock,
    ProseBlock,
    ToolBlock,
)
from palimpsest.cli.chat.markdown import split_prose
from palimpsest.cli.chat.screen import (
    Compacting,
    Moment,
    RunningTool,
    Screen,
    begun,
    queued,
    reduce,
    released,
    sent_from_queue,
    taken_back,
)
from palimpsest.core.budget import Budget, Measure
from palimpsest.models.engine_events import (
    CompactionEnd,
    CompactionProgress,
    CompactionStart,
    ContextBudget,
    Decision,
    Pruned,
)
from palimpsest.session.events import (
    ApprovalRequested,
    ApprovalResolved,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    RestoredView,
    SessionEvent,
    Settled,
    ToolEnd,
    ToolStart,
)
from tests.cli.chat.events import receipt

MOMENT = Moment(now_ms=5_000, context_tokens=84_100)
BUSY = Screen(operation="prompt", started_at=1_000)
BUDGET = Budget(window=1_000, reserved_output=200)


def play(events: Iterable[SessionEvent], screen: Screen = BUSY) -> tuple[Screen, list[Block]]:
    blocks: list[Block] = []
    for event in events:
        step = reduce(screen, event, MOMENT, split_prose)
        screen = step.screen
        blocks += step.blocks
    return screen, blocks


def text(*deltas: str) -> Sequence[SessionEvent]:
    return [MessageUpdate(index=1, channel="text", delta=delta) for delta in deltas]


def settled(outcome: str, operation: str = "prompt", error: str = "", code: str = "") -> Settled:
    return Settled(operation=operation, outcome=outcome, error=error, error_code=code)  # type: ignore[arg-type]  # table


def test_prose_is_printed_block_by_block() -> None:
    start = MessageStart(index=1, role="assistant")
    screen, blocks = play([start, *text("One ", "more.\n\n", "Two\n", "\n```\nx")])
    assert blocks == [ProseBlock(markdown="One more.\n\n"), ProseBlock(markdown="Two\n\n")]
    assert (screen.prose, screen.replying) == ("```\nx", True)
    screen, blocks = play([*text("\n```\n"), MessageEnd(index=1, interrupted=False)], screen)
    assert blocks == [ProseBlock(markdown="```\nx\n```\n")]
    assert screen == BUSY


def test_thinking_is_never_shown() -> None:
    thought = MessageUpdate(index=1, channel="thinking", delta="secret\n\n")
    assert play([thought]) == (BUSY, [])


def test_a_truncated_answer_says_so() -> None:
    _, blocks = play([MessageEnd(index=1, interrupted=False, truncated=True)])
    assert [block.kind for block in blocks] == ["notice"]


def test_a_tool_is_one_line() -> None:
    start = ToolStart(call_id="a", tool_name="read_file", arguments='{"path": "a.py"}')
    other = ToolStart(call_id="b", tool_name="grep", arguments="")
    screen, blocks = play([start, other])
    assert screen.tools[0] == RunningTool(call_id="a", call="read_file a.py", started_at=5_000)
    end = ToolEnd(call_id="a", tool_name="read_file", outcome="success", characters=8_801)
    screen, blocks = play([end], screen)
    assert blocks == [ToolBlock(call="read_file a.py", tokens=2_201, outcome="success")]
    assert [tool.call_id for tool in screen.tools] == ["b"]
    unknown = ToolEnd(call_id="z", tool_name="write", outcome="interrupted", characters=0)
    assert play([unknown], screen)[1] == [ToolBlock(call="write", tokens=0, outcome="interrupted")]


def test_approvals_come_and_go() -> None:
    asked = ApprovalRequested(request_id="a", tool_name="run", arguments="{}")
    screen, _ = play([asked, replace(asked, request_id="b")])
    assert [item.request_id for item in screen.approvals] == ["a", "b"]
    screen, _ = play([ApprovalResolved(request_id="a", approved=True)], screen)
    assert [item.request_id for item in screen.approvals] == ["b"]


def test_a_compaction_runs_and_ends() -> None:
    start = CompactionStart(started_at=4_000, history_message_count=52, trigger="automatic")
    screen, _ = play([start, CompactionProgress(call=2, calls=3)])
    assert screen.compacting == Compacting(
        started_at=4_000, tokens=84_100, trigger="automatic", call=2, calls=3
    )
    saved = CompactionEnd(checkpoint="c", receipt=receipt(), error="")
    screen, blocks = play([saved], screen)
    assert (screen.compacting, blocks) == (None, [CompactedBlock(receipt=receipt())])
    assert play([CompactionProgress(call=1, calls=1)])[0] == BUSY


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("The summary timed out.", "Compaction came to nothing: The summary timed out."),
        ("", "Compaction stopped. Nothing was changed."),
    ],
)
def test_a_compaction_that_came_to_nothing(error: str, said: str) -> None:
    _, [block] = play([CompactionEnd(checkpoint=None, receipt=None, error=error)])
    assert isinstance(block, NoticeBlock)
    assert block.text == said


@pytest.mark.parametrize(
    ("decision", "reason", "said"),
    [
        ("calm", "", None),
        ("calm", "whatever", None),
        ("suppressed", "", None),
        ("nothing_to_cut", "one turn.", "The context is at 78 % of the window: one turn."),
        ("failed", "The summary timed out.", "The context is at 78 % of the window: The summary"),
        ("refused", "one turn.", None),
    ],
)
def test_a_decision_is_said_where_nothing_else_says_it(
    decision: Decision, reason: str, said: str | None
) -> None:
    event = ContextBudget(
        budget=BUDGET,
        size=Measure(tokens=780, bytes=0),
        calibrated=False,
        decision=decision,
        reason=reason,
    )
    _, blocks = play([event])
    texts = [block.text for block in blocks if isinstance(block, NoticeBlock)]
    assert (texts[0].startswith(said) if texts and said else said) == (True if texts else None)


def test_clearing_and_restoring_are_said() -> None:
    restored = RestoredView(checkpoint=None, outputs_shown=True, fits=True, pressured=False)
    one = replace(restored, checkpoint="0123456789", outputs_shown=False)
    events = [
        Pruned(outputs=5, tokens_reclaimed=32_000),
        Pruned(outputs=1, tokens_reclaimed=0),
        restored,
        one,
    ]
    texts = [block.text for block in play(events)[1] if isinstance(block, NoticeBlock)]
    assert texts[0] == "cleared 5 old tool outputs from the view · 32k freed · still in /history"
    assert texts[1] == "cleared 1 old tool output from the view · still in /history"
    assert texts[2].startswith("restored the whole history, with cleared outputs.")
    assert texts[3].startswith("restored compaction 01234567.")


@pytest.mark.parametrize(
    ("event", "held", "said"),
    [
        (settled("success"), False, []),
        (settled("idle", "compact"), False, []),
        (settled("cancelled"), True, ["Stopped. What was complete is kept.", "2 prompts wait"]),
        (settled("cancelled", "compact"), True, ["2 prompts wait"]),
        (settled("error", error="It broke."), True, ["It broke.", "2 prompts wait"]),
        (
            settled("error", error="No space.", code="save_failed"),
            True,
            ["No space.", "Nothing is lost: /flush", "2 prompts wait"],
        ),
    ],
)
def test_an_operation_ends(event: Settled, held: bool, said: list[str]) -> None:
    busy = queued(queued(BUSY, "one"), "two")
    screen, blocks = play([event], busy)
    assert screen == Screen(queue=("one", "two"), held=held)
    texts = [block.text for block in blocks if isinstance(block, NoticeBlock)]
    assert [text.startswith(start) for text, start in zip(texts, said, strict=True)] == [
        True for _ in said
    ]


def test_one_prompt_waits() -> None:
    _, blocks = play([settled("cancelled")], queued(BUSY, "one"))
    texts = [block.text for block in blocks if isinstance(block, NoticeBlock)]
    assert texts[-1].startswith("1 prompt waits: Enter")


def test_an_end_in_the_midst_of_a_reply_keeps_its_words() -> None:
    _, blocks = play([*text("Half a sentence"), settled("cancelled")])
    assert blocks[0] == ProseBlock(markdown="Half a sentence")


def test_the_queue() -> None:
    screen = queued(queued(BUSY, "one"), "two")
    assert screen.next_queued is None
    screen, _ = play([settled("success")], screen)
    assert screen.next_queued == "one"
    screen = sent_from_queue(screen)
    assert screen.next_queued == "two"
    screen, _ = play([settled("error", error="x")], replace(screen, operation="prompt"))
    assert screen.next_queued is None
    assert released(screen).next_queued == "two"
    assert taken_back(screen) == Screen()


def test_an_operation_begins() -> None:
    step = begun(Screen(), "prompt", now_ms=7, prompt="Why?")
    assert step.screen == Screen(operation="prompt", started_at=7)
    assert step.blocks == (PromptBlock(text="Why?"),)
    assert begun(Screen(), "compact", now_ms=7).blocks == ()
