"""Coding agents that record lines, documents or text: Codex, kimi, Gemini CLI, opencode, aider."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from palimpsest.core.errors import NotARecordingError
from palimpsest.transcripts import (
    RecordedCompaction,
    Recording,
    expand_paths,
    opencode_storage,
    read_recordings,
)
from tests.transcripts.agent_samples import (
    AIDER,
    codex_item,
    codex_line,
    codex_lines,
    codex_said,
    gemini_contents,
    gemini_lines,
    gemini_session,
    kimi_lines,
    opencode_export,
    opencode_records,
    storage_folder,
)
from tests.transcripts.samples import Object, lines, outline, replies, text, write


def read(folder: Path, content: str, name: str = "session.json") -> Recording:
    [recording] = read_recordings(write(folder, content, name))
    return recording


def test_codex(tmp_path: Path) -> None:
    recording = read(tmp_path, lines(*codex_lines()))
    output = "Wall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno such file"
    search = '{"type":"web_search_call","status":"completed","action":{"query":"wc"}}'
    assert outline(recording) == [
        "request: Stay in the folder.",
        "request: <environment_context>\n</environment_context>",
        "PROMPT: Count the lines",
        "response: Two files. | I count both. | call a {'cmd': 'wc a'}"
        " | call b *** Begin Patch\n*** End Patch",
        f"request: apply_patch b = Success. | exec a = {output} (failed)",
        f"response: {search} | No such file.",
        "PROMPT: Go on",
        "response: call c {broken",
        'request: {"type":"new_kind","value":1}',
    ]
    assert recording.compactions == [
        RecordedCompaction(
            kind="summary", message_index=6, first_kept_message_index=6, summary="What was."
        )
    ]
    assert recording.set_aside == {
        "compacted": 1,
        "event_msg": 5,
        "ghost_snapshot": 1,
        "session_meta": 1,
        "turn taken back": 2,
        "turn_context": 1,
    }
    assert (recording.session_id, recording.model) == ("codex-1", "gpt-x")
    assert recording.system == "You are Codex."
    assert recording.counts.interrupted == 1
    # The same count is told twice, and belongs to the reply before it.
    assert [reply.usage.input_tokens for reply in replies(recording)] == [100, 0, 0]
    usage = replies(recording)[0].usage
    assert (usage.cache_read_tokens, usage.output_tokens) == (40, 7)


@pytest.mark.parametrize(
    ("turns", "left"),
    [(0, ["One", "Two", "Three"]), (1, ["One", "Two"]), (2, ["One"]), (2**60, []), (-1, None)],
)
def test_codex_turns_that_were_taken_back(
    tmp_path: Path, turns: int, left: list[str] | None
) -> None:
    said = [codex_said("user", word) for word in ("One", "Two", "Three")]
    undo = codex_line("event_msg", type="thread_rolled_back", num_turns=turns)
    recording = read(tmp_path, lines(*said, undo, codex_said("user", "Go on")))
    # A number that counts nothing takes nothing back.
    expected = ["One", "Two", "Three"] if left is None or turns > 2**53 else left
    assert outline(recording) == [f"PROMPT: {word}" for word in (*expected, "Go on")]


def test_codex_results_in_other_shapes(tmp_path: Path) -> None:
    blocks = [{"type": "input_text", "text": "seen"}]
    recording = read(
        tmp_path,
        lines(
            codex_line("turn_context", model="gpt-x"),
            codex_said("user", "Go"),
            codex_item("local_shell_call", call_id="a", action={"command": ["ls"]}),
            codex_item("tool_search_call", call_id="b", arguments={"query": "x"}),
            codex_item(
                "function_call_output", call_id="a", output={"content": "no", "success": False}
            ),
            codex_item("tool_search_output", call_id="b", tools=[]),
            codex_item("function_call", name="look", arguments="{}", call_id="c"),
            codex_item("function_call_output", call_id="c", output=blocks),
        ),
    )
    assert outline(recording)[1:] == [
        "response: call a {'command': ['ls']} | call b {'query': 'x'}",
        "request: local_shell a = no (failed)"
        ' | tool_search b = {"type":"tool_search_output","call_id":"b","tools":[]}',
        "response: call c {}",
        "request: look c = seen",
    ]


def test_kimi(tmp_path: Path) -> None:
    recording = read(tmp_path, lines(*kimi_lines()))
    assert outline(recording) == [
        "request: <system>CHECKPOINT 0</system>",
        "PROMPT: Look here",
        "response: Both. | Looking. | call bash:0 {'command': 'ls'} | call bash:1 {broken",
        "request: bash bash:0 = <system>ok</system>\na | bash bash:1 = b",
        "response: Again | call bash:0~2 {'command': 'ls'}",
        "request: bash bash:0~2 = <system>Command failed with exit code: 1.</system>\nc (failed)",
        "response: Done.",
    ]
    [compaction] = recording.compactions
    assert (compaction.summary, compaction.message_index) == ("What was.", 0)
    assert recording.system == "You are Kimi."
    # A count in front of a reply is what was sent, one behind it has the reply, too.
    first, *others = [reply.usage for reply in replies(recording)]
    assert (first.input_tokens, first.output_tokens) == (100, 30)
    assert [usage.input_tokens for usage in others] == [0, 0]


GEMINI_LINES = [
    "PROMPT: Look here",
    "response: Both\nfiles | Looking. | call a {'path': 'a'} | call b {'path': 'b'} | call c {}",
    "request: read a = first | read b = cancelled (interrupted)",
    "PROMPT: ['And?', 'BinaryContent']",
    'response: Yes. | {"newPart":1}',
]


def test_gemini_cli_documents(tmp_path: Path) -> None:
    recording = read(tmp_path, json.dumps(gemini_session()))
    assert outline(recording) == GEMINI_LINES
    assert (recording.session_id, recording.model) == ("gemini-1", "gemini-x")
    assert recording.set_aside == {"info": 1}
    usage = replies(recording)[0].usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (50, 40, 8)
    assert (recording.counts.messages, recording.counts.interrupted) == (5, 1)


def test_gemini_cli_lines(tmp_path: Path) -> None:
    recording = read(tmp_path, lines(*gemini_lines()))
    assert outline(recording) == GEMINI_LINES
    assert recording.set_aside == {
        "earlier state of a message": 1,
        "info": 1,
        "metadata": 3,
        "rewound message": 2,
    }


def test_gemini_cli_compactions(tmp_path: Path) -> None:
    session = gemini_session()
    session["messages"].insert(2, {"type": "user", "content": "<state_snapshot>\nWhat was."})
    session["messages"].append({"type": "user", "content": "What is <state_snapshot>?"})
    recording = read(tmp_path, json.dumps(session))
    assert outline(recording) == [*GEMINI_LINES, "PROMPT: What is <state_snapshot>?"]
    [compaction] = recording.compactions
    assert (compaction.message_index, compaction.summary) == (3, "<state_snapshot>\nWhat was.")


def test_gemini_contents(tmp_path: Path) -> None:
    recording = read(tmp_path, json.dumps(gemini_contents()))
    assert outline(recording) == [
        "request: <session_context>\nfiles",
        "response: Got it.",
        "PROMPT: Look here",
        "response: Both. | call call-4-1 {'p': 1} | call call-4-2 {'p': 1} | call z {'p': 1}",
        'request: ls z = no (failed) | read call-4-1 = first | read call-4-2 = {"rows":[1]}',
        "request: beside",
        'response: Done. | {"newPart":1}',
    ]
    [compaction] = recording.compactions
    assert (compaction.message_index, compaction.summary) == (1, "<state_snapshot>\nWhat was.")


def test_a_gemini_error_report_may_end_with_parts(tmp_path: Path) -> None:
    whole = gemini_contents()
    report = {"error": {"message": "No"}, "context": [*whole, [{"text": "Go on"}]]}
    recording = read(tmp_path, json.dumps(report))
    alone = read(tmp_path, json.dumps(whole))
    assert recording.format == "gemini-contents"
    assert outline(recording) == [*outline(alone), "PROMPT: Go on"]


def test_opencode(tmp_path: Path) -> None:
    recording = read(tmp_path, json.dumps(opencode_export()))
    odd = '{"id":"prt_51","messageID":"msg_5","sessionID":"ses_1","type":"new-kind","value":1}'
    assert outline(recording) == [
        "PROMPT: ['Look here', 'BinaryContent']",
        "request: A note",
        "response: Both. | Looking. | call a {'path': 'a'} | call b {'path': 'b'}",
        "request: read a = first | read b = no file (failed)",
        "response: Once more. | call c {'path': 'c'}",
        "PROMPT: Go on",
        f"request: {odd}",
        "response: Well",
    ]
    summary, clearing = recording.compactions
    assert (summary.message_index, summary.first_kept_message_index) == (5, 2)
    assert (summary.summary, summary.trigger) == ("What was.", "auto")
    assert (clearing.kind, clearing.message_index, clearing.cleared_call_ids) == (
        "clearing",
        5,
        ("a",),
    )
    assert [reply.state for reply in replies(recording)] == ["complete", "complete", "interrupted"]
    usage = replies(recording)[0].usage
    assert (usage.input_tokens, usage.cache_write_tokens, usage.output_tokens) == (105, 10, 8)


def test_an_opencode_storage_folder_is_its_sessions(tmp_path: Path) -> None:
    storage = storage_folder(tmp_path, [*opencode_records(), {"id": "ses_2", "time": {}}])
    found = [item.path for item in expand_paths([tmp_path])]
    assert [path.name for path in found] == ["ses_1.json", "ses_2.json"]
    [recording] = read_recordings(found[0])
    exported = read(tmp_path, json.dumps(opencode_export()))
    assert recording.messages == exported.messages
    assert recording.compactions == exported.compactions
    with pytest.raises(NotARecordingError, match="holds no message"):
        list(read_recordings(found[1]))

    write(storage / "part" / "msg_1", '{"id": "prt_9', "prt_9.json")
    [damaged] = read_recordings(found[0])
    assert [problem.kind for problem in damaged.problems] == ["lost"]
    assert damaged.messages == recording.messages


@pytest.mark.parametrize("name", ["ses_x/../../../secret", "..", "", "ses_\0"])
def test_an_opencode_session_never_leaves_its_folder(tmp_path: Path, name: str) -> None:
    for secret in (tmp_path / "secret", tmp_path):
        secret.mkdir(exist_ok=True)
        write(secret, json.dumps({"id": "msg_1", "sessionID": name, "role": "user"}), "msg_1.json")
    storage = storage_folder(tmp_path, opencode_records())
    assert (
        list(opencode_storage.beside(storage / "session" / "p" / "ses_1.json", {"id": name})) == []
    )
    absolute: Object = {"id": str(tmp_path / "secret")}
    assert list(opencode_storage.beside(storage / "session" / "p" / "ses_1.json", absolute)) == []


@pytest.mark.skipif(os.name == "nt", reason="needs pipes and devices among files")
def test_a_pipe_or_device_among_records_is_reported_and_not_waited_for(tmp_path: Path) -> None:
    storage = storage_folder(tmp_path, opencode_records())
    os.mkfifo(storage / "part" / "msg_1" / "prt_8.json")
    (storage / "part" / "msg_1" / "prt_9.json").symlink_to("/dev/zero")
    [recording] = read_recordings(storage / "session" / "p" / "ses_1.json")
    assert [problem.what for problem in recording.problems] == [
        f"The record prt_{number}.json could not be read: it is no regular file."
        for number in (8, 9)
    ]
    events = tmp_path / "events"
    events.mkdir()
    os.mkfifo(events / "0.json")
    write(events, json.dumps({"id": 1, "source": "user", "action": "message"}), "1.json")
    [logged] = read_recordings(events)
    assert [problem.kind for problem in logged.problems] == ["lost"]


def test_opencode_parts_without_their_message(tmp_path: Path) -> None:
    part = {"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", **text("Lost words")}
    recording = read(tmp_path, json.dumps(part))
    assert (recording.session_id, outline(recording)) == ("ses_1", ["request: Lost words"])


AIDER_LINES = [
    [
        "PROMPT: Change it\nin two lines",
        "response: I change it:\n\na.py\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE",
        "PROMPT: /ask Why?",
        "response: Because.",
    ],
    ["PROMPT: Once more", "response: Fine."],
]


def test_aider(tmp_path: Path) -> None:
    path = write(tmp_path, AIDER, ".aider.chat.history.md")
    first, silent, last = read_recordings(path)
    assert [outline(first), outline(last)] == AIDER_LINES
    assert (first.session_id, first.model) == ("2026-03-01 12:00:00", "model-a")
    assert first.set_aside == {"command": 1, "shown to the person": 3}
    assert (silent.messages, silent.set_aside) == ([], {"shown to the person": 1})
    assert [item.path for item in expand_paths([tmp_path])] == [path]


def test_aider_lines_in_other_endings(tmp_path: Path) -> None:
    trimmed = "\n".join(line.rstrip() for line in AIDER.split("\n"))
    for content in (AIDER.replace("\n", "\r\n"), trimmed, AIDER.partition("9 files  ")[2]):
        found = list(read_recordings(write(tmp_path, content, "history.md")))
        assert [outline(found[0]), outline(found[-1])] == AIDER_LINES


def test_marks_in_the_words_of_a_model_are_its_own(tmp_path: Path) -> None:
    said = "#### A heading\n\n> A quotation\x0bof two lines"
    recording = read(tmp_path, f"# aider chat started at x\n\n#### Go  \n\n{said}\n")
    assert outline(recording) == ["PROMPT: Go", f"response: {said}"]


def test_other_markdown_is_no_chat(tmp_path: Path) -> None:
    page = "# A page\n\n#### A heading\n\n> A quotation\n"
    with pytest.raises(NotARecordingError, match="none of the known formats"):
        read(tmp_path, page)
