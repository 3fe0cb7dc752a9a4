"""Rows of a view as messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.core.outline import Outline, Position
from palimpsest.core.records import ViewState
from palimpsest.core.summary import summary_message_text
from palimpsest.core.view import (
    REPAIR_TEXT,
    Cleared,
    FoldedRow,
    Hidden,
    MessageRow,
    RepairRow,
    SummaryRow,
    Trimmed,
    View,
)
from palimpsest.formats.content import EPOCH
from palimpsest.formats.projection import Projection, project
from palimpsest.formats.pydantic_ai import outline
from tests.core.builders import checkpoint
from tests.formats.messages import IMAGE, assistant, returns, user

HISTORY = [
    user("go", system="rules"),
    assistant("", ("a", "read", {}), ("b", "read", {})),
    returns(("a", "read", "x" * 100), ("b", "read", ["y" * 100, IMAGE])),
    assistant("done"),
]


def repair(call_id: str) -> RepairRow:
    return RepairRow(index=1, call_id=call_id, tool_name="read")


def contents(message: object) -> list[object]:
    assert isinstance(message, ModelRequest)
    return [part.content for part in message.parts if isinstance(part, ToolReturnPart)]


def test_untouched_messages_are_the_very_same() -> None:
    shown = project(HISTORY, [MessageRow(index=index) for index in range(4)])
    assert all(a is b for a, b in zip(shown, HISTORY, strict=True))


def test_edits_make_copies_and_leave_the_history() -> None:
    edits = (
        Cleared(part=0, placeholder="[gone]"),
        Trimmed(part=1, head_characters=2, tail_characters=1),
    )
    before = repr(HISTORY)
    [shown] = project(HISTORY, [MessageRow(index=2, edits=edits)])
    text = "yy\n[97 characters omitted from this view]\ny"
    assert contents(shown) == ["[gone]", [text, IMAGE]]
    assert repr(HISTORY) == before


def test_a_trim_without_files_is_text() -> None:
    edit = Trimmed(part=0, head_characters=2, tail_characters=1)
    [shown] = project(HISTORY, [MessageRow(index=2, edits=(edit,))])
    assert contents(shown)[0] == "xx\n[97 characters omitted from this view]\nx"


def test_a_prompt_cannot_be_trimmed() -> None:
    edit = Trimmed(part=1, head_characters=0, tail_characters=0)
    with pytest.raises(TypeError, match="UserPromptPart"):
        project(HISTORY, [MessageRow(index=0, edits=(edit,))])


def test_a_message_of_which_nothing_is_shown_is_left_out() -> None:
    row = MessageRow(index=2, edits=(Hidden(part=0), Hidden(part=1)))
    assert project(HISTORY, [row]) == []
    [shown] = project(HISTORY, [MessageRow(index=2, edits=(Hidden(part=0),))])
    assert contents(shown) == [["y" * 100, BinaryContent(data=IMAGE.data, media_type="image/png")]]


def test_lasting_parts_and_the_summary() -> None:
    rows = [
        FoldedRow(index=0, parts=(0,)),
        SummaryRow(checkpoint="c", summarised_before=3, text="What was."),
        MessageRow(index=3),
    ]
    folded, summary, last = project(HISTORY, rows)
    assert [part.part_kind for part in folded.parts] == ["system-prompt"]
    assert summary == ModelRequest(
        parts=[UserPromptPart(content=summary_message_text("What was."), timestamp=EPOCH)],
        timestamp=EPOCH,
    )
    assert last is HISTORY[3]


def test_a_repair_joins_the_results_behind_it_or_stands_alone() -> None:
    call, results = MessageRow(index=1), MessageRow(index=2, edits=(Hidden(part=1),))
    _, joined = project(HISTORY, [call, repair("b"), results])
    assert contents(joined) == [REPAIR_TEXT, "x" * 100]
    _, alone, last = project(HISTORY, [call, repair("a"), repair("b"), MessageRow(index=3)])
    assert contents(alone) == [REPAIR_TEXT, REPAIR_TEXT]
    assert last is HISTORY[3]
    assert {part.outcome for part in alone.parts if isinstance(part, ToolReturnPart)} == {
        "interrupted"
    }


def test_a_repair_goes_before_what_is_hidden_next() -> None:
    hidden = MessageRow(index=2, edits=(Hidden(part=0), Hidden(part=1)))
    _, alone = project(HISTORY, [MessageRow(index=1), repair("a"), hidden])
    assert contents(alone) == [REPAIR_TEXT]


STEPS = st.lists(
    st.one_of(
        st.just("prompt"),
        st.lists(st.sampled_from("abc"), max_size=3, unique=True),
        st.tuples(st.sampled_from("abc")),
        st.tuples(st.sampled_from("abc"), st.sampled_from("abc")),
    ),
    max_size=24,
)
"""A prompt, a reply that calls some tools, or results of one or two calls, asked for or not."""


def taken(step: str | list[str] | tuple[str, ...]) -> ModelMessage:
    if isinstance(step, str):
        return user(step)
    if isinstance(step, list):
        return assistant("so", *((call, "read", {}) for call in step))
    return returns(*((call, "read", f"the {call}") for call in step))


@given(before=STEPS, after=STEPS, cleared=st.sets(st.integers(0, 20)), cuts=st.booleans())
def test_a_growing_view_shows_what_a_new_one_would(
    before: list[Any], after: list[Any], cleared: set[int], cuts: bool
) -> None:
    history = [taken(step) for step in before]
    measured = Outline([outline(message) for message in history])
    outputs = [at for number, at in enumerate(measured.outputs) if number in cleared]
    state = ViewState(cleared=dict.fromkeys(outputs, "[cleared]"))
    if cuts and measured.turn_starts:
        state = replace(state, checkpoint=checkpoint(measured.turn_starts[-1]))
    growing, projection = View(measured, state), Projection()
    for step in [None, *after]:
        if step is not None:
            history.append(taken(step))
            measured.append(outline(history[-1]))
        anew = View(measured, state)
        assert growing.rows() == anew.rows()
        assert projection.messages(history, growing) == project(history, anew.rows())


def test_what_was_projected_is_not_projected_again() -> None:
    history = [taken(step) for step in ("prompt", ["a"], ("a",), ["b"])]
    measured = Outline([outline(message) for message in history])
    view = View(measured, ViewState(cleared={Position(2, 0): "[cleared]"}))
    projection = Projection()
    before = projection.messages(history, view)
    history.append(taken(("b",)))
    measured.append(outline(history[-1]))
    after = projection.messages(history, view)
    assert [message is again for message, again in zip(before, after, strict=False)] == [True] * 4
    assert len(after) == 5
