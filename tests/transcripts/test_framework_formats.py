"""What frameworks record: OpenHands, inspect_ai, smolagents, pydantic-ai, LangChain."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    ThinkingPart,
    ToolReturnPart,
)

from palimpsest.core.errors import NotARecordingError
from palimpsest.transcripts import (
    CompactedView,
    expand_paths,
    inspect_ai,
    read_recordings,
    rewrite,
)
from palimpsest.transcripts.recording import Problem
from tests.formats.messages import histories
from tests.transcripts.framework_samples import (
    inspect_log,
    langchain_messages,
    openhands_events,
    openhands_line,
    openhands_sdk_events,
    pydantic_ai_messages,
    smolagents_run,
    smolagents_steps,
)
from tests.transcripts.samples import Object, lines, outline, read, replies, text, write

OPENHANDS_LINES = [
    "PROMPT: Look here",
    "response: I look. | call a {'command': 'ls'} | call b {'command': 'ls'}",
    "request: bash a = no (failed) | bash b = text of x",
    "response: Hm. | call event-9 {'topic': 'x'}",
    "request: think event-9 = Noted.",
    "request: Broken",
    'request: {"id":12,"source":"user","action":"run","args":{"command":"pwd"}}',
    "response: Done.",
]


def test_openhands_events(tmp_path: Path) -> None:
    recording = read(tmp_path, openhands_events())
    assert outline(recording) == OPENHANDS_LINES
    assert (recording.system, recording.model) == ("You are OpenHands.", "model-h")
    assert recording.set_aside == {
        "agent_state_changed": 1,
        "condensation": 1,
        "recall": 1,
        "system": 1,
    }
    [compaction] = recording.compactions
    assert (compaction.summary, compaction.message_index) == ("What was.", 3)
    assert replies(recording)[0].usage.input_tokens == 50


def test_openhands_pairs_and_lines(tmp_path: Path) -> None:
    events = openhands_events()
    pairs = [events[at : at + 2] for at in range(0, len(events), 2)]
    assert outline(read(tmp_path, pairs)) == OPENHANDS_LINES
    line = openhands_line()
    broken = '{"instance_id": "x", "history'
    path = write(tmp_path, f"{lines(line)}{broken}\n{lines(line)}", "output.jsonl")
    first, second = read_recordings(path)
    assert [outline(first), outline(second)] == [OPENHANDS_LINES, OPENHANDS_LINES]
    assert second.session_id == f"{first.session_id}~2"
    assert [(found.line, found.kind) for found in first.problems] == [(2, "lost")]


def test_the_openhands_sdk(tmp_path: Path) -> None:
    recording = read(tmp_path, openhands_sdk_events())
    calls = " | ".join(f"call {name} {{'command': 'ls'}}" for name in "abcd")
    assert outline(recording) == [
        "PROMPT: Look here",
        f"response: Both. | I look. | {calls}",
        "request: terminal a = no (failed) | terminal b = ['BinaryContent']"
        " | terminal c = No such tool (failed) | terminal d = Not that (denied)",
        "request: Injected",
        "response: Done.",
    ]
    [compaction] = recording.compactions
    assert (compaction.message_index, compaction.first_kept_message_index) == (3, 2)


def test_openhands_odd_events(tmp_path: Path) -> None:
    agent = {"source": "agent", "timestamp": 0}
    thinking = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]
    sdk: Object = {"kind": "ActionEvent", "source": "agent", "tool_name": "f", "tool_call_id": "z"}
    events: list[Object] = [
        {
            "source": "user",
            "action": "message",
            "args": {"content": "Go", "image_urls": ["https://x"]},
        },
        {**agent, "id": 1, "action": "run", "args": {"command": "ls", "thought": "First."}},
        {**agent, "id": 2, "observation": "user_rejected", "content": "No", "cause": 1},
        {**agent, "id": 3, "observation": "error", "content": "Alone"},
        {
            **agent,
            "id": 4,
            "action": "condensation",
            "args": {"forgotten_events_start_id": 0, "forgotten_events_end_id": 2, "summary": "S"},
        },
        {**sdk, "thinking_blocks": thinking, "action": {"x": 1}},
        {"kind": "ObservationEvent", "tool_call_id": "z", "observation": {"output": "done"}},
        {**sdk, "tool_call_id": "y", "thought": [], "tool_call": {"function": {"name": "g"}}},
        {"kind": "ObservationEvent", "tool_call_id": "y", "observation": {"rows": 1}},
    ]
    recording = read(tmp_path, events)
    assert outline(recording) == [
        "PROMPT: ['Go', 'ImageUrl']",
        "response: First. | call event-1 {'command': 'ls'}",
        "request: run event-1 = No (denied)",
        "request: Alone",
        "response: Hm. | call z {'x': 1}",
        "request: f z = done",
        "response: call y {}",
        'request: g y = {"rows":1}',
    ]
    [compaction] = recording.compactions
    assert (compaction.message_index, compaction.first_kept_message_index) == (4, 3)


def test_an_openhands_folder_of_events_is_one_recording(tmp_path: Path) -> None:
    folder = tmp_path / "conversation-1" / "events"
    folder.mkdir(parents=True)
    for number, event in enumerate(openhands_sdk_events()):
        write(folder, json.dumps(event), f"event-{number:05}-{'0a' * 4}.json")
    write(folder, "{}", "notes.json")
    whole = read(tmp_path, openhands_sdk_events())
    (tmp_path / "run.json").unlink()

    assert [found.path for found in expand_paths([tmp_path])] == [folder]
    assert [(found.path, found.named) for found in expand_paths([folder])] == [(folder, True)]
    [recording] = read_recordings(folder)
    assert (recording.format, recording.session_id) == ("openhands", "conversation-1")
    assert recording.messages == whole.messages

    out = io.StringIO()
    rewrite(recording, CompactedView(kept_message_indices=(2, 3, 4), summary="S"), out)
    back = read(tmp_path, json.loads(out.getvalue()))
    assert [compaction.summary for compaction in back.compactions] == ["S"]

    write(folder, '{"kind": "Mess', "event-00099-00.json")
    [damaged] = read_recordings(folder)
    assert [problem.kind for problem in damaged.problems] == ["lost"]
    assert damaged.messages == whole.messages


INSPECT_LINES = [
    "PROMPT: ['Look here', 'BinaryContent']",
    "response: Both. | Looking. | call a {'cmd': 'ls'} | call b {}",
    "request: bash a = a long text | bash b = too slow (failed)",
    "response: Done.",
]


def test_inspect_logs(tmp_path: Path) -> None:
    first, second = read_recordings(write(tmp_path, json.dumps(inspect_log()), "log.json"))
    assert outline(first) == outline(second) == INSPECT_LINES
    assert (first.session_id, second.session_id) == ("7_epoch_1", "7_epoch_2")
    assert (first.system, first.model) == ("Be brief.", "model-i")
    # The other attempt, and every copy of a text, is left out of what is written.
    out = io.StringIO()
    rewrite(second, CompactedView(kept_message_indices=(2, 3), summary="S"), out)
    written = json.loads(out.getvalue())
    assert [sample["epoch"] for sample in written["samples"]] == [2]
    assert {"events", "attachments"}.isdisjoint(written["samples"][0])


def _archive(
    folder: Path,
    entries: dict[str, str],
    name: str = "log.eval",
    compression: int = zipfile.ZIP_DEFLATED,
) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w", compression) as archive:
        for entry, content in entries.items():
            archive.writestr(entry, content)
    return path


def _log_entries(*, head: str = "header.json") -> dict[str, str]:
    log = inspect_log()
    samples = {
        f"samples/{sample['id']}_epoch_{sample['epoch']}.json": json.dumps(sample)
        for sample in log.pop("samples")
    }
    return {head: json.dumps(log), **samples, "summaries.json": "[]"}


@pytest.mark.parametrize("head", ["header.json", "_journal/start.json"])
@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_inspect_archives(tmp_path: Path, head: str, compression: int) -> None:
    path = _archive(tmp_path, _log_entries(head=head), compression=compression)
    first, second = read_recordings(path)
    assert first.format == "inspect-ai"
    assert outline(first) == outline(second) == INSPECT_LINES
    assert [found.path for found in expand_paths([tmp_path])] == [path]
    out = io.StringIO()
    rewrite(first, CompactedView(kept_message_indices=(1, 2, 3), summary="S"), out)
    assert outline(read(tmp_path, json.loads(out.getvalue())))[1:] == INSPECT_LINES[1:]


def test_a_sample_that_unpacks_to_more_than_any_is_reported(tmp_path: Path) -> None:
    path = _archive(tmp_path, {**_log_entries(), "samples/9.json": json.dumps("a" * 9_000_000)})
    assert path.stat().st_size < 100_000
    problems: list[Problem] = []
    log = inspect_ai.log_in(path, problems, largest_bytes=8 * 2**20)
    assert isinstance(log, dict)
    assert len(inspect_ai.sessions_in(log)) == 2
    assert [problem.what for problem in problems] == [
        "The entry samples/9.json could not be read: it unpacks to more than 8 MiB."
    ]


def test_a_sample_of_an_archive_that_cannot_be_read(tmp_path: Path) -> None:
    entries = _log_entries()
    entries["samples/7_epoch_1.json"] = '{"id": 7'
    [recording] = read_recordings(_archive(tmp_path, entries))
    assert recording.session_id == "7_epoch_2"
    assert [problem.kind for problem in recording.problems] == ["lost"]
    assert "samples/7_epoch_1.json could not be read" in recording.problems[0].what


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"notes.txt": "hello"}, "it is an archive, but no inspect_ai log."),
        ({"samples/1_epoch_1.json": "{"}, "no sample of it could be read."),
        ({"header.json": "{}"}, "it holds no message."),
    ],
)
def test_archives_without_a_session(tmp_path: Path, entries: dict[str, str], reason: str) -> None:
    with pytest.raises(NotARecordingError) as caught:
        list(read_recordings(_archive(tmp_path, entries)))
    assert reason in str(caught.value)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), cut=st.booleans())
def test_damaged_archives(tmp_path: Path, seed: int, cut: bool) -> None:
    chance = random.Random(seed)
    data = bytearray(_archive(tmp_path, _log_entries(), "whole.eval").read_bytes())
    for _ in range(chance.randint(1, 12)):
        data[chance.randrange(4, len(data))] = chance.randrange(256)
    path = write(tmp_path, bytes(data[: chance.randrange(5, len(data))] if cut else data), "x.eval")
    try:
        for recording in read_recordings(path):
            assert recording.format == "inspect-ai"
    except NotARecordingError as error:
        assert str(error).endswith(".")


def test_smolagents_runs(tmp_path: Path) -> None:
    run = smolagents_run()
    path = write(tmp_path, lines(run, {**run, "task_id": 2}), "runs.jsonl")
    first, second = read_recordings(path)
    assert outline(first) == outline(second)
    assert outline(first) == [
        "PROMPT: New task:\nHow many?",
        "response: Thought: I compute. | call call_1 x = 1",
        "request: python call_1 = Observation:\n1",
        "response: Thought: again. | call call_2 x = 1",
        "request: python call_2 = Error:\nbroken (failed)",
        "response: Calling tools:\n[unreadable",
        "request: Now proceed and carry out this plan.",
        "response: One.",
    ]
    assert (first.session_id, second.session_id, first.model) == ("task-1", "2", "model-s")


def test_smolagents_steps(tmp_path: Path) -> None:
    expected = [
        "PROMPT: How many?",
        "response: First this.",
        "response: I compute. | call call_1 x",
        "request: python call_1 = 1",
        "response: I compute. | call call_2 x",
        "request: python call_2 = broken (failed)",
        "response: No call.",
        "request: Nothing ran.",
        'request: {"new":"kind"}',
    ]
    recording = read(tmp_path, smolagents_steps())
    assert outline(recording) == expected
    assert recording.system == "You are an agent."
    assert replies(recording)[1].usage.input_tokens == 50
    assert outline(read(tmp_path, {"steps": smolagents_steps()})) == expected


@pytest.mark.parametrize(
    "calls",
    [
        "[{'function': {'name': 'f', 'arguments': {1, 2}}}]",
        "[{'function': {'name': 'f', 'arguments': b'x'}}]",
        "[{'function': 1j}]",
        "[...]",
        "7",
        "[]",
        "['\\d']",
        "[" * 200,
        "[" + "-" * 150_000 + "1]",
        "\x00",
        "__import__('os')",
    ],
    ids=range(11),
)
def test_smolagents_calls_that_are_none(tmp_path: Path, calls: str) -> None:
    said = f"Calling tools:\n{calls}"
    run = {
        "task_id": "t",
        "intermediate_steps": [{"role": "tool-call", "content": [text(said)]}],
    }
    assert outline(read(tmp_path, run)) == [f"response: {said}"]


def test_pydantic_ai(tmp_path: Path) -> None:
    recording = read(tmp_path, pydantic_ai_messages())
    assert recording.system == "Be brief.\n\nBe kind."
    assert outline(recording) == [
        "PROMPT: ['Look here', 'BinaryImage']",
        "response: Both. | Looking. | call a {'x': 1} | call b {broken"
        ' | {"part_kind":"new-kind","value":1}',
        "request: f b = {\"rows\":[1]} (failed) | f a = ['one', 'BinaryImage']",
        "response: call c {}",
        "request: f c = third",
        "request: beside",
        'request: {"part_kind":"new-kind","value":2}',
        'PROMPT: {"kind":"new"}',
        "request: Your previous response failed the application's validation (this is automated "
        "feedback, not a message from the user):\n<retry_feedback>\nTry again.\n</retry_feedback>",
        "response: Done.",
    ]
    assert replies(recording)[-1].finish_reason == "stop"
    held = read(tmp_path, {"messages": pydantic_ai_messages()})
    assert (held.format, held.messages) == ("pydantic-ai", recording.messages)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories())
def test_what_pydantic_ai_writes_is_read_as_it_was(
    tmp_path: Path, history: list[ModelMessage]
) -> None:
    written = ModelMessagesTypeAdapter.dump_json(history)
    [recording] = read_recordings(write(tmp_path, written, "history.json"))
    assert recording.format == "pydantic-ai"
    assert replies(recording) == [m for m in history if isinstance(m, ModelResponse)]
    found = [p for m in recording.messages for p in m.message.parts]
    assert _results(found) == _results(p for m in history for p in m.parts)


def _results(parts: Iterable[object]) -> list[object]:
    return [part for part in parts if isinstance(part, ToolReturnPart)]


def test_langchain(tmp_path: Path) -> None:
    recording = read(tmp_path, langchain_messages())
    assert outline(recording) == LANGCHAIN_LINES
    assert (recording.system, recording.model) == ("Be brief.", "model-l")
    reply = replies(recording)[0]
    assert (reply.usage.input_tokens, reply.usage.cache_read_tokens) == (50, 40)
    assert reply.finish_reason == "tool_call"
    assert isinstance(reply.parts[0], ThinkingPart)


LANGCHAIN_LINES = [
    "PROMPT: ['Look here', 'BinaryContent']",
    'response: Both. | Looking. | {"type":"new"} | call a {\'x\': 1} | call b {broken',
    "request: f a = first | f b = no (failed)",
    "response: Done.",
    "PROMPT: And?",
    "request: A word",
]


@pytest.mark.parametrize("form", ["dict", "dumped", "flat", "state"])
def test_what_langchain_writes(tmp_path: Path, form: str) -> None:
    call = {"name": "f", "args": {"x": 1}, "id": "a", "type": "tool_call"}
    messages = [
        SystemMessage("Be brief."),
        HumanMessage("Go"),
        AIMessage("I look.", tool_calls=[call]),
        ToolMessage("no", tool_call_id="a", status="error"),
        AIMessageChunk("Done."),
    ]
    flat = [message.model_dump() for message in messages]
    forms: dict[str, object] = {
        "dict": messages_to_dict(messages),
        "dumped": [dumpd(message) for message in messages],
        "flat": flat,
        "state": {"messages": flat, "other": 1},
    }
    recording = read(tmp_path, forms[form])
    assert recording.format == "langchain"
    assert outline(recording) == [
        "PROMPT: Go",
        "response: I look. | call a {'x': 1}",
        "request: f a = no (failed)",
        "response: Done.",
    ]
