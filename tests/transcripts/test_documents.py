"""Formats that are one JSON document: OpenAI and Anthropic messages, SWE-agent, mini-swe-agent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic_ai.messages import ToolCallPart

from palimpsest.transcripts import read_recordings
from palimpsest.transcripts.detect import sniff
from tests.transcripts.samples import (
    Object,
    cline_session,
    mini_swe,
    openai_messages,
    openhands,
    outline,
    read,
    replies,
    roo_messages,
    swe_agent,
    tau_results,
    text,
    tool_result,
    tool_use,
    write,
)

OPENAI_LINES = [
    "PROMPT: ['Look here', 'BinaryContent']",
    "response: Both. | call a {'command': 'ls'} | call b {broken",
    "request: bash b = second | bash a = first",
    "response: Now again | call a~2 {'command': 'ls'}",
    "request: bash a~2 = third",
    "request: EXECUTION RESULT of [bash]:\nok",
    "request: A late word",
]


def test_a_list_of_openai_messages(tmp_path: Path) -> None:
    recording = read(tmp_path, openai_messages())
    assert (recording.format, recording.session_id) == ("openai-chat", "run")
    assert recording.system == "Be brief."
    assert outline(recording) == OPENAI_LINES
    assert recording.messages[1].records == (2,)
    assert [problem.line for problem in recording.problems] == [None]


def test_openhands_has_its_last_answer_beside_the_messages(tmp_path: Path) -> None:
    recording = read(tmp_path, openhands())
    assert outline(recording) == [*OPENAI_LINES, "response: All done."]
    assert (recording.session_id, recording.model) == ("r1", "model-z")
    assert recording.tools == [
        {"name": "bash", "description": "Runs", "parameters": {"type": "object"}}
    ]
    last = replies(recording)[-1]
    assert (last.usage.input_tokens, last.usage.cache_read_tokens) == (50, 40)
    assert (last.finish_reason, recording.counts.messages) == ("stop", 9)


def test_an_answer_that_is_among_the_messages_is_not_read_twice(tmp_path: Path) -> None:
    run = openhands()
    run["messages"].append({"role": "assistant", "content": "All done."})
    assert outline(read(tmp_path, run))[-2:] == ["request: A late word", "response: All done."]
    run["response"] = None
    assert outline(read(tmp_path, run))[-1] == "response: All done."


def test_tau_bench_results_are_one_session_each(tmp_path: Path) -> None:
    first, second = read_recordings(write(tmp_path, json.dumps(tau_results()), "tau.json"))
    assert (first.session_id, second.session_id) == ("tau-0-0", "tau-1-0")
    assert outline(first) == outline(second) == OPENAI_LINES
    assert outline(read(tmp_path, tau_results()[0])) == OPENAI_LINES


def test_documents_one_behind_the_other(tmp_path: Path) -> None:
    joined = json.dumps(openhands()) + "\n" + json.dumps(swe_agent()) + json.dumps({"odd": 1})
    *found, last = read_recordings(write(tmp_path, joined))
    assert [recording.format for recording in (*found, last)] == ["openai-chat", "swe-agent"]
    assert [problem.kind for problem in last.problems] == ["lost"]
    first, *rest = read_recordings(write(tmp_path, joined[:-60]))
    assert (first.format, rest) == ("openai-chat", [])
    assert "truncated" in first.problems[-1].what


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"role": "assistant", "content": None, "refusal": "No."}, "response: No."),
        (
            {
                "role": "assistant",
                "content": None,
                "function_call": {"name": "f", "arguments": "{}"},
            },
            "response: call call {}",
        ),
        ({"role": "assistant", "content": [text("a"), text("b")]}, "response: a\nb"),
        ({"role": "tool", "tool_call_id": "none", "content": "alone"}, "request: alone"),
        ({"role": "critic", "content": "Hm"}, "request: Hm"),
        ({"role": "critic"}, 'request: {"role":"critic"}'),
        (7, "request: 7"),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x"}}]},
            "PROMPT: ['ImageUrl']",
        ),
    ],
)
def test_odd_openai_messages(tmp_path: Path, message: object, expected: str) -> None:
    document = [{"role": "user", "content": "Begin"}, message]
    path = write(tmp_path, json.dumps(document))
    [recording] = read_recordings(path, format="openai-chat")
    assert outline(recording)[1] == expected


def test_mini_swe_agent(tmp_path: Path) -> None:
    recording = read(tmp_path, mini_swe())
    assert (recording.session_id, recording.model) == ("task-1", "model-m")
    assert outline(recording) == [
        "PROMPT: Fix it.",
        "response: Looking. | call a {'command': 'ls'}",
        "request: bash a = <returncode>1</returncode><output>no</output> (failed)",
        "request: Tool call error: none",
    ]
    assert recording.set_aside == {"exit": 1, "system": 1}
    assert (recording.counts.messages, recording.counts.interrupted) == (6, 1)
    old = read(tmp_path, mini_swe()["messages"])
    assert (old.format, outline(old)) == ("mini-swe-agent", outline(recording))


def test_swe_agent(tmp_path: Path) -> None:
    recording = read(tmp_path, swe_agent(), "task.traj")
    assert outline(recording) == [
        "request: A demonstration",
        "response: Try. | call step-2 {'arguments': ''}",
        "PROMPT: The issue",
        "response: List. | call step-4 {'command': 'ls'}",
        "request: bash step-4 = a b",
        "response: Words that no thought holds. x",
        "PROMPT: Not understood",
        "response: Call. | call f {'command': 'ls'}",
        "request: bash f = by id",
        "response: call step-10 {'arguments': ''}",
    ]
    assert (recording.session_id, recording.system) == ("task", "SETTING")
    assert (recording.counts.results, recording.counts.interrupted) == (3, 1)


def test_roo_code(tmp_path: Path) -> None:
    recording = read(tmp_path, roo_messages())
    details = "<environment_details>\ntabs\n</environment_details>"
    assert outline(recording) == [
        "PROMPT: <task>\nDo it\n</task>",
        f"request: {details}",
        "response: <read_file>x</read_file>",
        f"request: [read_file for 'x'] Result:\ntext of x\n{details}",
        "response: Done?",
        "PROMPT: <feedback>\nNo\n</feedback>",
        f"request: {details}",
    ]
    [compaction] = recording.compactions
    assert (compaction.summary, compaction.message_index) == ("What was.", 2)
    assert compaction.first_kept_message_index == 0


def test_cline(tmp_path: Path) -> None:
    recording = read(tmp_path, cline_session())
    assert outline(recording) == [
        "PROMPT: Change it",
        "request: a.py\nx = 1",
        "response: Yes. | call a {'path': 'a.py'}",
        'request: editor a = {"query":"q","result":"r"}',
        "response: Changed.",
    ]
    assert (recording.session_id, recording.model) == ("cline-1", "claude-z")
    assert recording.system == "You are Cline."
    usage = replies(recording)[0].usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (120, 100, 8)


def test_a_list_of_anthropic_messages(tmp_path: Path) -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 10, "output_tokens": 2}
    document: list[Object] = [
        {"role": "user", "content": "Do it"},
        {
            "role": "assistant",
            "content": [tool_use("a")],
            "usage": usage,
            "stop_reason": "tool_use",
        },
        {"role": "user", "content": [tool_result("a"), text("and more")]},
        {"role": "other", "content": "Hm"},
    ]
    recording = read(tmp_path, document)
    assert recording.format == "anthropic-messages"
    assert outline(recording) == [
        "PROMPT: Do it",
        "response: call a {}",
        "request: Bash a = ok",
        "request: and more",
        "request: Hm",
    ]
    reply = replies(recording)[0]
    assert (reply.usage.input_tokens, reply.finish_reason) == (15, "tool_call")
    assert isinstance(reply.parts[0], ToolCallPart)
    whole = read(tmp_path, {"system": [text("Be brief.")], "messages": document, "model": "m"})
    assert (whole.format, whole.system, whole.model) == ("anthropic-messages", "Be brief.", "m")


@pytest.mark.parametrize(
    ("text", "format", "is_only"),
    [
        pytest.param('{"messages": []}', None, True, id="document"),
        pytest.param('\ufeff[{"role": "user"}]\r\n', None, True, id="list"),
        pytest.param('{"role": "_usage"}\n', "kimi", True, id="one line"),
        pytest.param('{"role": "user"}\n{"role": "_usage"}\n', "kimi", False, id="lines"),
        pytest.param('{"messages": [\n]}', None, False, id="several lines"),
        pytest.param('{"messages": [', None, False, id="cut off"),
    ],
)
def test_a_file_of_one_line_is_parsed_when_it_is_told(
    tmp_path: Path, text: str, format: str | None, is_only: bool
) -> None:
    sniffed = sniff(write(tmp_path, text))
    assert (sniffed.format, sniffed.only is not None) == (format, is_only)
