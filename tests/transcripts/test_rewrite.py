"""A compacted view written in the recording's own format reads back as that view."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelResponse

from palimpsest.core.errors import InvalidSettingError, NotARecordingError
from palimpsest.transcripts import CompactedView, Recording, read_recordings, rewrite
from tests.transcripts.every_sample import sample_texts
from tests.transcripts.samples import (
    Claude,
    claude_session,
    lines,
    mini_swe,
    openai_messages,
    openhands,
    outline,
    pi_entries,
    pi_tree,
    roo_messages,
    swe_agent,
    tau_results,
    text,
    write,
)

SUMMARY = "Written by a summariser.\n<summary>\nWhat was.\n</summary>"
_HAS_SUMMARIES = {"claude", "codex", "kimi", "pi", "pi tree", "roo", "cline"} | {
    name for name in sample_texts() if name.startswith(("opencode", "openhands "))
}
# Ids that a reader makes of a call's place, where the recording has none.
_PLACE_ID = re.compile(r"\b(step|call)-\d[\d-]*")


def read(folder: Path, content: str, name: str = "session.json") -> Recording:
    return next(iter(read_recordings(write(folder, content, name))))


def back(folder: Path, recording: Recording, view: CompactedView) -> Recording:
    out = io.StringIO()
    rewrite(recording, view, out)
    folder = folder / "out"
    folder.mkdir(exist_ok=True)
    return read(folder, out.getvalue(), recording.path.name)


@pytest.mark.parametrize("name", sample_texts())
@pytest.mark.parametrize("share", [0.3, 0.6])
def test_kept_messages_and_summary_come_back(tmp_path: Path, name: str, share: float) -> None:
    format, content = sample_texts()[name]
    recording = read(tmp_path, content)
    count = len(recording.messages)
    first = max(1, int(count * share))
    while outline(recording)[first].startswith("request: ") and first < count - 1:
        first += 1
    kept = tuple(range(first, count))
    result = back(tmp_path, recording, CompactedView(kept_message_indices=kept, summary=SUMMARY))

    expected = [_without_ids(line) for line in outline(recording)[first:]]
    got = [_without_ids(line) for line in outline(result)]
    assert result.format == format
    if name in _HAS_SUMMARIES:
        assert [found.summary for found in result.compactions if found.kind == "summary"] == [
            SUMMARY
        ]
        assert got == expected
    else:
        who = "request" if format == "palimpsest" else "PROMPT"
        assert got == [f"{who}: {SUMMARY}", *expected]
    assert [problem for problem in result.problems if "again" not in problem.what] == []


@pytest.mark.parametrize("name", sample_texts())
def test_counts_of_requests_that_were_longer_do_not_stay(tmp_path: Path, name: str) -> None:
    recording = read(tmp_path, sample_texts()[name][1])
    kept = tuple(range(1, len(recording.messages)))
    result = back(tmp_path, recording, CompactedView(kept_message_indices=kept, summary=SUMMARY))
    replies = [m.message for m in result.messages if isinstance(m.message, ModelResponse)]
    assert [reply.usage.input_tokens for reply in replies] == [0] * len(replies)
    assert replies


@pytest.mark.parametrize("name", ["claude", "pi tree"])
def test_a_kept_message_without_an_id_stays(tmp_path: Path, name: str) -> None:
    raw = [json.loads(line) for line in sample_texts()[name][1].splitlines()]
    newest = next(
        value for value in reversed(raw) if value.get("type") in {"user", "assistant", "message"}
    )
    for key in ("uuid", "id"):
        newest.pop(key, None)
    recording = read(tmp_path, lines(*raw))
    count = len(recording.messages)
    view = CompactedView(kept_message_indices=tuple(range(1, count)), summary=SUMMARY)
    assert len(back(tmp_path, recording, view).messages) == count - 1


def _without_ids(line: str) -> str:
    """A repeated id loses its suffix once the first is gone."""
    return _PLACE_ID.sub(r"\1", line).replace("a~2", "a").replace("bash:0~2", "bash:0")


@pytest.mark.parametrize("name", sample_texts())
def test_cleared_results_show_their_placeholder(tmp_path: Path, name: str) -> None:
    recording = read(tmp_path, sample_texts()[name][1])
    cleared = {
        (index, part.tool_call_id): "[cleared]"
        for index, recorded in enumerate(recording.messages)
        for part in recorded.message.parts
        if part.part_kind == "tool-return"
    }
    kept = tuple(range(len(recording.messages)))
    view = CompactedView(kept_message_indices=kept, cleared=cleared)
    result = back(tmp_path, recording, view)
    returns = [
        part.content
        for recorded in result.messages
        for part in recorded.message.parts
        if part.part_kind == "tool-return"
    ]
    assert returns == ["[cleared]"] * len(cleared)
    assert len(result.messages) == len(recording.messages)


def test_claude_code_lines_form_one_chain_behind_the_boundary(tmp_path: Path) -> None:
    recording = read(tmp_path, claude_session())
    out = io.StringIO()
    view = CompactedView(kept_message_indices=(11, 12, 13, 14), summary=SUMMARY)
    rewrite(recording, view, out)
    found = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["parentUuid"] for line in found] == [None, *(line["uuid"] for line in found[:-1])]
    assert [line["type"] for line in found] == [
        "system",
        "user",
        "user",
        "attachment",
        "assistant",
        "user",
    ]
    assert found[0]["subtype"] == "compact_boundary"
    assert found[1]["isCompactSummary"] is True


def test_a_prompt_that_rides_along(tmp_path: Path) -> None:
    recording = read(tmp_path, lines(*pi_entries()))
    view = CompactedView(kept_message_indices=(4, 5), summary=SUMMARY, kept_prompt_index=3)
    result = back(tmp_path, recording, view)
    assert outline(result) == outline(recording)[3:6]


def test_pi_rebuilds_the_view_by_its_own_rules(tmp_path: Path) -> None:
    view = CompactedView(kept_message_indices=(3, 4), summary=SUMMARY)
    out = io.StringIO()
    rewrite(read(tmp_path, lines(*pi_entries())), view, out)
    header, compaction, *kept = [json.loads(line) for line in out.getvalue().splitlines()]
    assert (header["type"], compaction["firstKeptEntryIndex"], len(kept)) == ("session", 2, 2)

    out = io.StringIO()
    rewrite(read(tmp_path, lines(*pi_tree())), view, out)
    _, compaction, first, second = [json.loads(line) for line in out.getvalue().splitlines()]
    assert compaction["firstKeptEntryId"] == first["id"]
    assert [compaction["parentId"], first["parentId"], second["parentId"]] == [
        None,
        compaction["id"],
        first["id"],
    ]


def test_first_messages_stay_in_front_of_the_summary(tmp_path: Path) -> None:
    recording = read(tmp_path, json.dumps(openai_messages()))
    view = CompactedView(kept_message_indices=(0, 3, 4), summary=SUMMARY)
    out = io.StringIO()
    rewrite(recording, view, out)
    written = json.loads(out.getvalue())
    source = openai_messages()
    assert written == [*source[:2], {"role": "user", "content": SUMMARY}, *source[5:7]]

    recording = read(tmp_path, json.dumps(roo_messages()))
    result = back(tmp_path, recording, CompactedView(kept_message_indices=(0, 1, 4), summary="S"))
    assert outline(result) == [*outline(recording)[:2], outline(recording)[4]]
    [compaction] = result.compactions
    assert (compaction.message_index, compaction.summary) == (2, "S")


def test_only_the_kept_side_of_a_record_stays(tmp_path: Path) -> None:
    recording = read(tmp_path, json.dumps(roo_messages()))
    result = back(tmp_path, recording, CompactedView(kept_message_indices=(2, 5), summary="S"))
    assert outline(result)[-1] == "PROMPT: <feedback>\nNo\n</feedback>"


def test_documents_keep_no_other_copy(tmp_path: Path) -> None:
    view = CompactedView(kept_message_indices=(2, 3), summary=SUMMARY)

    def written(document: object) -> object:
        out = io.StringIO()
        rewrite(read(tmp_path, json.dumps(document)), view, out)
        found: object = json.loads(out.getvalue())
        return found

    run = written({**openhands(), "raw_messages": []})
    assert isinstance(run, dict) and not {"response", "raw_messages"} & run.keys()
    trajectory = written(swe_agent())
    assert isinstance(trajectory, dict) and trajectory["trajectory"] == []
    results = written(tau_results())
    assert isinstance(results, list) and len(results) == 1
    assert isinstance(written(mini_swe()), dict)


def test_a_lone_surrogate_can_be_written(tmp_path: Path) -> None:
    content = '[{"role": "user", "content": "\\ud800"}]'
    recording = read(tmp_path, content)
    result = back(tmp_path, recording, CompactedView(kept_message_indices=(0,)))
    assert result.messages[0].message == recording.messages[0].message


def test_values_nested_too_deep_to_write(tmp_path: Path) -> None:
    values = f"{'[' * 500}{']' * 500}"
    recording = read(tmp_path, f'[{{"role": "user", "content": "Go", "x": {values}}}]')

    def rewritten(frames: int) -> None:
        if frames:
            rewritten(frames - 1)
        else:
            rewrite(recording, CompactedView(kept_message_indices=(0,)), io.StringIO())

    rewritten(0)
    with pytest.raises(NotARecordingError, match="nested too deep"):
        rewritten(500)


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    for content in (claude_session(), lines(*pi_entries()), json.dumps(openai_messages())):
        recording = read(tmp_path, content)
        recording.messages.pop()
        with pytest.raises(NotARecordingError, match="changed"):
            rewrite(recording, CompactedView(kept_message_indices=(0,)), io.StringIO())


@pytest.mark.parametrize(
    "view",
    [
        CompactedView(kept_message_indices=(0, 99)),
        CompactedView(kept_message_indices=(-1,)),
        CompactedView(kept_message_indices=(1, 0)),
        CompactedView(kept_message_indices=(1,), kept_prompt_index=99),
    ],
)
def test_messages_that_are_not_there(tmp_path: Path, view: CompactedView) -> None:
    with pytest.raises(InvalidSettingError):
        rewrite(read(tmp_path, claude_session()), view, io.StringIO())


def test_nothing_kept(tmp_path: Path) -> None:
    file = Claude()
    file.user("One")
    file.reply("m1", text("Two"))
    out = io.StringIO()
    rewrite(read(tmp_path, file.text), CompactedView(kept_message_indices=(), summary="S"), out)
    assert len(out.getvalue().splitlines()) == 2
    out = io.StringIO()
    rewrite(
        read(tmp_path, lines(*pi_entries())),
        CompactedView(kept_message_indices=(), summary="S"),
        out,
    )
    assert len(out.getvalue().splitlines()) == 2
