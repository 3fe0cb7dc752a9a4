from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.call_facts import LineRange, Todo
from palimpsest.core.excerpt import (
    AssistantText,
    Excerpt,
    Feedback,
    InjectedText,
    Json,
    Marker,
    ToolCall,
    ToolResult,
    UserText,
)
from palimpsest.core.ledger import (
    CommandFact,
    ErrorFact,
    FileFact,
    Ledger,
    LedgerBuilder,
    Quote,
    add_lines,
)
from tests.measuring import counted


def step(
    tool_name: str, arguments: Json, text: str = "done", *, is_error: bool = False
) -> list[Excerpt]:
    return [
        ToolCall(call_id="c", tool_name=tool_name, arguments=arguments),
        ToolResult(call_id="c", tool_name=tool_name, text=text, is_error=is_error),
    ]


def fold(*messages: Sequence[Excerpt]) -> Ledger:
    builder = LedgerBuilder()
    for index, excerpts in enumerate(messages):
        builder.add(index, excerpts)
    return builder.snapshot()


def test_files_are_noted_when_their_call_succeeds() -> None:
    ledger = fold(
        step("Read", {"file_path": "a.py", "offset": 1, "limit": 10}),
        step("Edit", {"file_path": "a.py"}),
        step("Edit", {"file_path": "b.py"}, "no match", is_error=True),
        step("Read", {"file_path": "a.py", "offset": 11, "limit": 10}),
        [ToolCall(call_id="open", tool_name="Write", arguments={"file_path": "c.py"})],
    )
    assert ledger.files == (
        FileFact(path="a.py", action="changed", lines=(), message_index=1, times=1),
        FileFact(
            path="a.py",
            action="read",
            lines=(LineRange(first=1, last=20),),
            message_index=3,
            times=2,
        ),
    )


def test_a_file_read_whole_once_was_read_whole() -> None:
    part: Json = {"file_path": "a.py", "limit": 3}
    ledger = fold(step("Read", {"file_path": "a.py"}), step("Read", part))
    assert ledger.files[0].lines == ()


def test_commands_keep_the_newest_outcome() -> None:
    ledger = fold(
        step("Bash", {"command": "pytest | tail -3"}, "Exit code 1\n1 failed in 0.1s"),
        step("Bash", {"command": "ls"}, "a.py"),
        step("Bash", {"command": "cd /x && pytest"}, "3 passed in 0.1s\n[exit code: 0]"),
    )
    assert ledger.commands == (
        CommandFact(
            command="ls", exit_code="unknown", failed=False, test_line="", message_index=1, times=1
        ),
        CommandFact(
            command="pytest",
            exit_code=0,
            failed=False,
            test_line="3 passed in 0.1s",
            message_index=2,
            times=2,
        ),
    )
    assert ledger.open_errors == ()


def test_an_error_is_open_until_the_same_tool_succeeds_on_the_same_target() -> None:
    ledger = fold(
        step("Read", {"file_path": "a.py"}, "no such file", is_error=True),
        step("Read", {"file_path": "b.py"}, "no such file", is_error=True),
        step("Edit", {"file_path": "a.py"}),
        step("Read", {"file_path": "b.py"}),
    )
    assert ledger.open_errors == (
        ErrorFact(tool_name="Read", target="a.py", error="no such file", message_index=0),
    )


def test_words_prose_and_tasks() -> None:
    plan: Json = {"todos": [{"content": "x", "status": "pending"}]}
    ledger = fold(
        [UserText(text="Fix  it.\n\nNow."), Marker(what="image", media_type="image/png", bytes=9)],
        [AssistantText(text=" "), AssistantText(text="I will.")],
        step("TodoWrite", plan),
        step("TodoWrite", {"todos": []}, "denied", is_error=True),
        [InjectedText(text="injected_name"), Feedback(text="feedback_name")],
        [ToolResult(call_id="lost", tool_name="Read", text="orphan_name", is_error=True)],
    )
    assert ledger.user_words == (Quote(text="Fix  it.\n\nNow.", message_index=0),)
    assert ledger.prose == (Quote(text="I will.", message_index=1),)
    assert ledger.todos == (Todo(text="x", status="pending"),)
    names = {item.text for item in ledger.identifiers}
    assert names == {"injected_name", "feedback_name", "orphan_name"}


def test_only_the_newest_prose_is_kept() -> None:
    ledger = fold([AssistantText(text=str(number)) for number in range(20)])
    assert [quote.text for quote in ledger.prose] == [str(number) for number in range(12, 20)]


def test_a_snapshot_does_not_change() -> None:
    builder = LedgerBuilder()
    builder.add(0, [UserText(text="one_name")])
    before = builder.snapshot()
    builder.add(1, [UserText(text="two_name"), *step("Bash", {"command": "ls"})])
    assert before == fold([UserText(text="one_name")])
    assert len(builder.snapshot().user_words) == 2


@pytest.mark.parametrize(
    ("ranges", "merged"),
    [
        ([(5, 9), (1, 3)], [(1, 3), (5, 9)]),
        ([(1, 4), (5, 9)], [(1, 9)]),
        ([(1, 9), (3, 5)], [(1, 9)]),
        ([(3, None), (1, 2), (7, 9)], [(1, None)]),
        ([(1, 2), (6, 7), (11, 12), (4, 9)], [(1, 2), (4, 9), (11, 12)]),
        ([(1, 2), (4, 5), (3, 3)], [(1, 5)]),
    ],
)
def test_lines_that_touch_become_one(
    ranges: list[tuple[int, int | None]], merged: list[tuple[int, int | None]]
) -> None:
    assert merged_lines(ranges) == merged


def merged_lines(ranges: list[tuple[int, int | None]]) -> list[tuple[int, int | None]]:
    lines = list[LineRange]()
    for first, last in ranges:
        add_lines(lines, LineRange(first=first, last=last))
    return [(item.first, item.last) for item in lines]


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 6)), max_size=40))
def test_merged_lines_are_those_that_were_named(spans: list[tuple[int, int]]) -> None:
    merged = merged_lines([(first, first + more) for first, more in spans])
    named = {line for first, more in spans for line in range(first, first + more + 1)}
    held = [range(first, (last or first) + 1) for first, last in merged]
    assert sorted(named) == [line for lines in held for line in lines]
    assert all(after.start > before.stop for before, after in pairwise(held))


def test_many_reads_of_one_file_cost_the_same_each() -> None:
    def calls(reads: int) -> int:
        builder = LedgerBuilder()
        messages = [
            step("Read", {"file_path": "a.py", "offset": 10 * n, "limit": 2}) for n in range(reads)
        ]
        with counted() as work:
            for index, excerpts in enumerate(messages):
                builder.add(index, excerpts)
        return work.calls

    assert calls(2_000) < 1.5 * 10 * calls(200)


def test_rules_are_found_once_as_the_words_come() -> None:
    builder = LedgerBuilder()
    builder.add(0, [UserText(text="Never touch x.py. Fix it.")])
    builder.add(4, [UserText(text="Go on. Only use tabs.")])
    assert builder.snapshot().user_rules == (
        Quote(text="Never touch x.py.", message_index=0),
        Quote(text="Only use tabs.", message_index=4),
    )
