from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.session.events import (
    MessageEnd,
    MessageStart,
    MessageUpdate,
    SessionEvent,
    Settled,
    ToolEnd,
    ToolStart,
)
from palimpsest.web.frames import MOST_BYTES, MOST_FRAMES, FrameBuffer
from palimpsest.web.live import NOTHING_LIVE, Live, LiveTool, fold


@given(st.lists(st.integers(0, 40), max_size=30), st.integers(-2, 40))
def test_what_is_replayed_is_all_that_came_after_or_nothing(sizes: list[int], seen: int) -> None:
    buffer = FrameBuffer("s", most_frames=10, most_bytes=100)
    frames = [buffer.add("event", " " * size) for size in sizes]
    replayed = buffer.after(f"s:{seen}")
    if replayed is not None:
        assert replayed == frames[seen:]
        assert len(replayed) <= 10
        assert sum(len(frame.data) for frame in replayed) <= 100
    assert buffer.after(f"s:{buffer.seq}") == []


def test_the_buffer_forgets_the_oldest() -> None:
    buffer = FrameBuffer("s")
    for _ in range(MOST_FRAMES + 3):
        buffer.add("event", "x")
    assert buffer.after("s:2") is None
    assert len(buffer.after("s:3") or []) == MOST_FRAMES
    buffer.add("event", "x" * (MOST_BYTES + 1))
    assert buffer.after(f"s:{buffer.seq - 1}") is None
    assert buffer.after(f"s:{buffer.seq}") == []


@pytest.mark.parametrize("seen", ["", "s", "s:", "s:x", "s:-1", "s:4", "t:1", "s:1:1", "s:٣"])
def test_an_id_that_is_not_known_gets_no_replay(seen: str) -> None:
    buffer = FrameBuffer("s")
    for _ in range(3):
        buffer.add("event", "x")
    assert buffer.after(seen) is None


TOOL = LiveTool(call_id="c", tool_name="read", arguments="{}")
STEPS: list[tuple[SessionEvent, Live]] = [
    (MessageStart(index=0, role="user"), NOTHING_LIVE),
    (MessageEnd(index=0, interrupted=False), NOTHING_LIVE),
    (MessageStart(index=1, role="assistant"), Live(index=1)),
    (MessageUpdate(index=1, channel="thinking", delta="hm"), Live(index=1, thinking="hm")),
    (MessageUpdate(index=1, channel="text", delta="a"), Live(index=1, thinking="hm", text="a")),
    (MessageUpdate(index=1, channel="text", delta="b"), Live(index=1, thinking="hm", text="ab")),
    (MessageEnd(index=1, interrupted=False), NOTHING_LIVE),
    (ToolStart(call_id="c", tool_name="read", arguments="{}"), Live(tools=(TOOL,))),
    (
        ToolEnd(call_id="c", tool_name="read", outcome="success", characters=7),
        Live(
            tools=(
                LiveTool(
                    call_id="c", tool_name="read", arguments="{}", outcome="success", characters=7
                ),
            )
        ),
    ),
    (MessageStart(index=3, role="assistant"), Live(index=3)),
    (Settled(operation="prompt", outcome="success", error="", error_code=""), NOTHING_LIVE),
]


def test_what_is_under_way_is_a_fold_of_events() -> None:
    live = NOTHING_LIVE
    for event, expected in STEPS:
        live = fold(live, event)
        assert live == expected
