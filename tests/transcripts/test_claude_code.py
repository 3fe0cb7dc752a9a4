"""Claude Code: merged replies, the tree, compactions, and what is damaged."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pydantic_ai.messages import BinaryContent, ThinkingPart, UserPromptPart

from palimpsest.transcripts import RecordedCompaction, Recording, RecordingCounts, read_recordings
from tests.transcripts.samples import (
    Claude,
    claude_session,
    lines,
    outline,
    replies,
    requests,
    text,
    tool_result,
    tool_use,
    write,
)


def read(folder: Path, content: str | bytes) -> Recording:
    [recording] = read_recordings(write(folder, content))
    return recording


def test_a_session_with_one_of_everything(tmp_path: Path) -> None:
    recording = read(tmp_path, claude_session())

    assert outline(recording) == [
        "PROMPT: Count the lines of a.txt and b.txt",
        "response: Both. | I count both. | call a {'command': 'wc -l a.txt'} "
        "| call b {'command': 'wc -l b.txt'}",
        "request: Bash a = 3 a.txt | Bash b = no file (failed)",
        "response: a.txt has 3 lines.",
        "PROMPT: ['And this picture?', 'BinaryContent']",
        "response: call c {'file_path': 'p.png'}",
        "request: Read c = The user doesn't want to proceed with this tool use. Rejected. (denied)",
        "request: Not that one.",
        "request: [Request interrupted by user for tool use]",
        "request: <system-reminder>Be kind.</system-reminder>",
        "PROMPT: Go on",
        "PROMPT: Better: go on",
        "request: text of a file",
        "response: call d {'command': 'make'}",
        "request: Bash d = ['built', 'BinaryContent']",
    ]
    assert recording.problems == []
    assert recording.counts == RecordingCounts(
        messages=18, calls=4, results=4, images=1, interrupted=1
    )
    assert recording.set_aside == {
        "abandoned branch": 1,
        "compaction summary": 1,
        "error shown to the person": 1,
        "file-history-snapshot": 1,
        "progress": 1,
        "sidechain": 1,
        "summary": 1,
        "system/compact_boundary": 1,
        "system/microcompact_boundary": 1,
        "system/turn_duration": 1,
    }
    assert recording.compactions == [
        RecordedCompaction(
            kind="summary",
            message_index=9,
            first_kept_message_index=9,
            trigger="auto",
            tokens_before=150_000,
            summary="This session is being continued. Three lines.",
        ),
        RecordedCompaction(
            kind="clearing",
            message_index=15,
            first_kept_message_index=15,
            trigger="auto",
            tokens_before=9,
            cleared_call_ids=("a", "b"),
        ),
    ]


def test_a_reply_carries_the_usage_of_its_last_line_and_the_recordings_own_times(
    tmp_path: Path,
) -> None:
    recording = read(tmp_path, claude_session())

    reply = replies(recording)[0]
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (123, 4)
    assert (reply.usage.cache_read_tokens, reply.usage.cache_write_tokens) == (100, 20)
    assert reply.model_name == recording.model == "claude-x"
    assert reply.timestamp == datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)
    assert replies(recording)[1].finish_reason == "stop"
    thinking = reply.parts[0]
    assert isinstance(thinking, ThinkingPart) and thinking.signature == "sig"
    assert recording.messages[1].records == (4, 5, 6, 7)
    assert recording.messages[2].records == (8, 9)
    prompt = requests(recording)[2].parts[0]
    assert isinstance(prompt, UserPromptPart)
    assert prompt.content[1] == BinaryContent(data=b"\x89PNG pixel", media_type="image/png")


def test_the_same_file_gives_equal_messages(tmp_path: Path) -> None:
    assert read(tmp_path, claude_session()).messages == read(tmp_path, claude_session()).messages


def test_results_of_parallel_calls_are_found_on_every_branch(tmp_path: Path) -> None:
    file = Claude()
    file.user("Go")
    calls = [file.reply("m1", tool_use(name)) for name in "abc"]
    for name, parent in zip("cba", reversed(calls), strict=True):
        last = file.user([tool_result(name, f"result {name}")], parent=parent)
    file.reply("m2", text("Done"), parent=last)
    recording = read(tmp_path, file.text)
    assert (
        outline(recording)[2]
        == "request: Bash c = result c | Bash b = result b | Bash a = result a"
    )
    assert recording.set_aside == {}


def test_a_circle_of_parents_ends_the_walk(tmp_path: Path) -> None:
    file = Claude()
    first = file.user("One")
    second = file.reply("m1", text("Two"))
    file.lines[0]["parentUuid"] = second
    recording = read(tmp_path, file.text)
    assert outline(recording) == ["PROMPT: One", "response: Two"]
    assert [problem.kind for problem in recording.problems] == ["repaired"]
    file.lines[0]["parentUuid"] = first
    assert outline(read(tmp_path, file.text)) == ["PROMPT: One", "response: Two"]


def test_behind_a_missing_parent_the_history_goes_on_in_file_order(tmp_path: Path) -> None:
    file = Claude()
    file.user("One", parent="nowhere")
    file.reply("m1", text("Two"))
    file.user("Three", parent="gone")
    recording = read(tmp_path, file.text)
    assert outline(recording) == ["PROMPT: One", "response: Two", "PROMPT: Three"]
    assert [(p.line, p.kind) for p in recording.problems] == [(3, "repaired"), (1, "lost")]


def test_lines_without_ids_are_read_in_file_order(tmp_path: Path) -> None:
    file = Claude()
    file.user("One")
    file.reply("m1", text("Two"))
    for line in file.lines:
        del line["uuid"], line["parentUuid"]
    assert outline(read(tmp_path, file.text)) == ["PROMPT: One", "response: Two"]


def test_repeated_lines_are_set_aside(tmp_path: Path) -> None:
    file = Claude()
    file.user("One")
    file.reply("m1", tool_use("a"))
    file.user([tool_result("a")])
    recording = read(tmp_path, file.text + file.text)
    assert outline(recording) == ["PROMPT: One", "response: call a {}", "request: Bash a = ok"]
    assert recording.set_aside == {"repeated line": 3}
    assert recording.problems == []


def test_call_without_result_result_without_call_and_repeated_ids(tmp_path: Path) -> None:
    file = Claude()
    file.user([tool_result("early", "came first")])
    file.reply("m1", tool_use("a"))
    file.reply("m2", tool_use("a"))
    file.reply("m3", tool_use("early"))
    file.user([tool_result("a", "of the first")])
    file.user([tool_result("a", "of the second")])
    file.user([tool_result("a", "of none")])
    file.reply("m4", tool_use("open"))
    recording = read(tmp_path, file.text)
    assert outline(recording) == [
        "response: call a {}",
        "request: Bash a = of the first",
        "response: call a~2 {}",
        "request: Bash a~2 = of the second",
        "response: call early {}",
        "request: Bash early = came first",
        "request: of none",
        "response: call open {}",
    ]
    assert [(p.line, p.kind) for p in recording.problems] == [(3, "repaired"), (7, "repaired")]


def test_two_sessions_in_one_file(tmp_path: Path) -> None:
    one, two = Claude("s1"), Claude("s2")
    one.user("In one")
    two.user("In two")
    one.reply("m1", text("Answer in one"))
    first, second = read_recordings(write(tmp_path, one.text + two.text))
    assert (first.session_id, outline(first)) == (
        "s1",
        ["PROMPT: In one", "response: Answer in one"],
    )
    assert (second.session_id, outline(second)) == ("s2", ["PROMPT: In two"])


def test_a_session_that_goes_on_under_another_id_is_one(tmp_path: Path) -> None:
    one, two = Claude("s1"), Claude("s2")
    last = one.user("Begun")
    two.user("Continued", parent=last)
    assert outline(read(tmp_path, one.text + two.text)) == ["PROMPT: Begun", "PROMPT: Continued"]


def test_a_summary_that_does_not_hang_on_its_boundary(tmp_path: Path) -> None:
    file = Claude()
    file.user("One")
    file.boundary("The sum")
    file.lines[-1]["parentUuid"] = None
    file.user("Two", parent=str(file.lines[-2]["uuid"]))
    recording = read(tmp_path, file.text)
    assert [found.summary for found in recording.compactions] == ["The sum"]
    file.boundary("Another")
    file.user("Three")
    assert [c.summary for c in read(tmp_path, file.text).compactions] == ["The sum", "Another"]


def test_odd_content(tmp_path: Path) -> None:
    file = Claude()
    file.user(None)
    file.user([])
    file.user({"odd": 1})
    file.user(["bare", {"type": "unknown", "x": 1}, {"type": "image", "source": {"data": "?"}}])
    file.user([{"type": "document", "source": {"type": "text", "data": "€"}}])
    file.reply("m1", {"type": "redacted_thinking", "data": "opaque"})
    file.reply("m1", {"type": "server_tool_use", "id": "x"})
    file.reply("m2", text("x"), content=["bare", None], usage=None, model=7, id=None)
    file.reply("m3", text("x"), content={"odd": 1}, stop_reason="max_tokens")
    file.reply("m4", text("x"), content=None)
    file.reply("m5", {"type": "tool_use", "id": None, "name": None, "input": [1]})
    file.user([tool_result("zzz", None), tool_result("m", "[Request interrupted by user]")])
    recording = read(tmp_path, file.text)
    assert outline(recording) == [
        "request: ",
        "request: ",
        'request: {"odd":1}',
        "PROMPT: bare",
        'request: {"type":"unknown","x":1}\n{"type":"image","source":{"data":"?"}}',
        'request: {"type":"document","source":{"type":"text","data":"€"}}',
        'response:  | {"type":"server_tool_use","id":"x"}',
        "response: bare | null",
        'response: {"odd":1}',
        "response: ",
        "response: call call [1]",
        "request: ",
        "request: [Request interrupted by user]",
    ]
    assert replies(recording)[2].finish_reason == "length"


def test_an_interrupted_tool(tmp_path: Path) -> None:
    file = Claude()
    file.reply("m1", tool_use("a"))
    file.user([tool_result("a", "[Request interrupted by user for tool use]", is_error=True)])
    assert outline(read(tmp_path, file.text))[1].endswith("(interrupted)")


def test_records_of_no_known_shape_are_set_aside(tmp_path: Path) -> None:
    file = Claude()
    file.user("One")
    content = file.text + lines({"odd": 1}, {"type": "user", "message": "no object"})
    assert read(tmp_path, content).set_aside == {"unreadable record": 2}
