"""pi: linear and tree sessions, compactions, aborted replies, damage."""

from __future__ import annotations

import json
from pathlib import Path

from palimpsest.transcripts import RecordedCompaction, Recording, RecordingCounts, read_recordings
from tests.transcripts.samples import (
    PI_HEADER,
    Object,
    lines,
    outline,
    pi_call,
    pi_entries,
    pi_entry,
    pi_reply,
    pi_result,
    pi_tree,
    replies,
    text,
    write,
)


def read(folder: Path, content: str | bytes) -> Recording:
    [recording] = read_recordings(write(folder, content))
    return recording


def test_a_linear_session(tmp_path: Path) -> None:
    recording = read(tmp_path, lines(*pi_entries()))

    assert outline(recording) == [
        "PROMPT: ['First task', 'BinaryContent']",
        "response: Hm. | Looking. | call a {'command': 'ls'} | call b {'command': 'ls'}",
        "request: bash b = second | bash a = first (failed)",
        "PROMPT: Second task",
        "response: Done.",
        "request: Ran `ls`\na\nCommand exited with code 2",
        "PROMPT: Third task",
        'response: call c {"command": "rm',
    ]
    assert recording.compactions == [
        RecordedCompaction(
            kind="summary",
            message_index=5,
            first_kept_message_index=3,
            tokens_before=1000,
            summary="What was.",
        )
    ]
    assert recording.counts == RecordingCounts(
        messages=9, calls=3, results=2, images=1, interrupted=1
    )
    assert recording.set_aside == {"compaction": 1, "model_change": 1, "session": 1}
    first, *_, aborted = replies(recording)
    assert (first.usage.input_tokens, first.usage.output_tokens) == (105, 7)
    assert (aborted.state, aborted.metadata) == ("interrupted", {"error": "gone"})


def test_a_tree(tmp_path: Path) -> None:
    recording = read(tmp_path, lines(*pi_tree()))

    assert outline(recording) == [
        "PROMPT: First task",
        "response: Done.",
        "PROMPT: Second task",
        "request: A note",
        "request: It went wrong.",
        "response: Better",
    ]
    assert recording.set_aside == {"abandoned branch": 1, "compaction": 1, "label": 1, "session": 1}
    [compaction] = recording.compactions
    assert (compaction.message_index, compaction.first_kept_message_index) == (3, 2)


def test_a_tree_with_missing_and_circling_parents(tmp_path: Path) -> None:
    entries = pi_tree()
    entries[2]["parentId"] = "gone"
    recording = read(tmp_path, lines(*entries))
    assert outline(recording)[:2] == ["PROMPT: First task", "response: Done."]
    assert [(p.line, p.kind) for p in recording.problems] == [(3, "repaired")]

    entries[2]["parentId"] = "e2"
    recording = read(tmp_path, lines(*entries))
    assert outline(recording)[:2] == ["response: Done.", "PROMPT: Second task"]
    assert [problem.kind for problem in recording.problems] == ["repaired"]


def test_glued_lines_count_as_entries_of_their_own(tmp_path: Path) -> None:
    parts = [json.dumps(entry) for entry in pi_entries()]
    glued = "\n".join([*parts[:3], parts[3] + parts[4], *parts[5:]])
    recording = read(tmp_path, glued)
    assert recording.messages[1:3] == [
        *read(tmp_path, lines(*pi_entries())).messages[1:2],
        recording.messages[2],
    ]
    assert recording.compactions[0].first_kept_message_index == 3
    assert [(p.line, p.kind) for p in recording.problems] == [(4, "repaired")]


def test_a_damaged_line_is_lost_and_still_counts(tmp_path: Path) -> None:
    parts = [json.dumps(entry) for entry in pi_entries()]
    parts[2] = parts[2][:40]
    recording = read(tmp_path, "\n".join(parts))
    assert [(p.line, p.kind) for p in recording.problems] == [(3, "lost")]
    assert recording.compactions[0].first_kept_message_index == 2


def test_a_compaction_that_keeps_nothing_or_names_nothing(tmp_path: Path) -> None:
    def kept(**fields: object) -> int:
        entries: list[Object] = [
            PI_HEADER,
            pi_entry("user", content="One"),
            {"type": "compaction", "summary": "s", **fields},
            pi_entry("user", content="Two"),
        ]
        [found] = read(tmp_path, lines(*entries)).compactions
        return found.first_kept_message_index

    assert [kept(), kept(firstKeptEntryIndex=3), kept(firstKeptEntryIndex=99)] == [1, 1, 1]
    assert [kept(firstKeptEntryId="none"), kept(firstKeptEntryIndex=1)] == [1, 0]


def test_commands_beside_the_conversation(tmp_path: Path) -> None:
    def shown(**fields: object) -> list[str]:
        entries = [PI_HEADER, pi_entry("user", content="x"), pi_entry("bashExecution", **fields)]
        return outline(read(tmp_path, lines(*entries)))[1:]

    assert shown(command="ls", output="a", exitCode=0) == ["request: Ran `ls`\na"]
    assert shown(command="ls", output="a", cancelled=True) == [
        "request: Ran `ls`\na\n(command cancelled)"
    ]
    assert shown(command="ls", output="a", truncated=True, fullOutputPath="f.log") == [
        "request: Ran `ls`\na\n[Output truncated. Full output: f.log]"
    ]
    assert shown(command="ls", output="a", excludeFromContext=True) == []


def test_several_sessions_and_odd_records(tmp_path: Path) -> None:
    second = {**PI_HEADER, "id": "pi-2"}
    entries: list[Object] = [
        PI_HEADER,
        pi_entry("hookMessage", content="From a hook"),
        pi_entry("odd"),
        pi_reply("bare", {"type": "odd"}, text("x"), stop="error"),
        pi_reply(stop="aborted", errorMessage="Request was aborted."),
        second,
        pi_entry("user", content="Next"),
        pi_reply(pi_call("a"), stop="toolUse"),
        pi_result("a"),
    ]
    one, two = read_recordings(write(tmp_path, lines(*entries)))
    assert outline(one) == [
        "request: From a hook",
        'request: {"role":"odd","timestamp":1772000000000}',
        'response: bare | {"type":"odd"} | x',
        "response: ",
    ]
    assert [reply.state for reply in replies(one)] == ["interrupted", "interrupted"]
    assert (two.session_id, outline(two)[-1]) == ("pi-2", "request: bash a = ok")
