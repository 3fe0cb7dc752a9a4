"""Sessions of Palimpsest's own, read as recordings."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from palimpsest.session.doctor import examine
from palimpsest.session.jsonl import JsonlStore
from palimpsest.transcripts import CompactedView, Recording, read_recordings, rewrite
from tests.session.helpers import HEADER
from tests.transcripts.own_samples import own_session
from tests.transcripts.samples import outline, write

pytestmark = pytest.mark.anyio


def read(folder: Path, text: str, format: str | None = None) -> Recording:
    [recording] = read_recordings(write(folder, text, "session.jsonl"), format=format)
    return recording


def unsealed(change: dict[str, Any]) -> list[Any]:
    """The lines of a session as another tool may write them, with other keys in line 1."""
    header, *messages = map(json.loads, own_session().closed.splitlines())
    del header["chunks"], header["hash"]
    return [header | change, *messages]


@pytest.mark.parametrize("text", own_session(), ids=["open", "closed"])
async def test_the_messages_are_those_of_the_session(tmp_path: Path, text: str) -> None:
    recording = read(tmp_path, text)
    store = await JsonlStore.open(recording.path, read_only=True)
    stored = await store.load()
    await store.close()
    assert recording.session_id == HEADER.id
    assert recording.model == "scripted"
    assert recording.problems == []
    assert [(m.message.kind, *map(type, m.message.parts)) for m in recording.messages] == [
        (m.kind, *map(type, m.parts)) for m in stored.messages
    ]
    assert [line for line in outline(recording) if line.startswith("PROMPT")] == [
        f"PROMPT: prompt {turn}" for turn in range(5)
    ]
    assert recording.counts.messages == len(stored.messages)
    assert (recording.counts.calls, recording.counts.results) == (10, 10)


def test_what_was_compacted_and_cleared_is_told(tmp_path: Path) -> None:
    recording = read(tmp_path, own_session().closed)
    *cleared, summary, last = recording.compactions
    assert [found.kind for found in recording.compactions] == [
        *["clearing"] * len(cleared),
        "summary",
        "clearing",
    ]
    assert [found.cleared_call_ids for found in (*cleared, last)] == [
        ("call-1-0", "call-2-0"),
        ("call-4-0", "call-5-0"),
        ("call-7-0", "call-8-0"),
    ]
    assert (summary.message_index, summary.first_kept_message_index) == (24, 18)
    assert summary.trigger == "manual"
    assert (summary.tokens_before or 0) > 1_000
    assert "## Goal" in summary.summary
    assert recording.set_aside == {"header": 1, "restore": 1}
    assert read(tmp_path, own_session().open).compactions == recording.compactions


def test_a_clearing_stands_where_its_time_puts_it(tmp_path: Path) -> None:
    clearing = json.loads(own_session().closed.splitlines()[0])["clearings"][0]
    header, *messages = unsealed(
        {"clearings": [{**clearing, "timestamp": 12_000}], "checkpoints": [], "restores": []}
    )
    for second, message in enumerate(messages):
        message["timestamp"] = f"1970-01-01T00:00:{second:02}Z"
    recording = read(tmp_path, "\n".join(map(json.dumps, [header, *messages])) + "\n")
    [found] = recording.compactions
    assert found.message_index == 13
    assert recording.messages[12].is_prompt
    assert recording.problems == []


def test_a_torn_tail_is_one_remark(tmp_path: Path) -> None:
    text = own_session().open
    whole = read(tmp_path, text)
    torn = text + "".join(text.splitlines(keepends=True)[1:3])[:-9]
    recording = read(tmp_path, torn)
    assert recording.messages == whole.messages
    [problem] = recording.problems
    assert problem.kind == "lost"
    assert problem.line == len(text.splitlines()) + 1
    assert "a save that was never finished" in problem.what


@pytest.mark.parametrize(
    ("line", "text", "kind", "what"),
    [
        pytest.param(1, "{", "lost", "the header is broken", id="header"),
        pytest.param(3, '{"parts": 7}', "lost", "is no message", id="message"),
        pytest.param(3, "", "lost", "is no message", id="blank"),
    ],
)
def test_a_damaged_line_is_told(tmp_path: Path, line: int, text: str, kind: str, what: str) -> None:
    lines = own_session().closed.splitlines()
    lines[line - 1] = text
    recording = read(tmp_path, "\n".join(lines) + "\n", "palimpsest")
    assert any((p.line, p.kind) == (line, kind) and what in p.what for p in recording.problems)
    assert len(recording.messages) == 30 - (line > 1)


def test_a_result_without_its_call_stays_as_text(tmp_path: Path) -> None:
    header, *messages = unsealed({"clearings": [], "checkpoints": [], "restores": []})
    del messages[1]
    recording = read(tmp_path, "\n".join(map(json.dumps, [header, *messages])) + "\n")
    [problem] = recording.problems
    assert "'call-1-0' has no call" in problem.what
    assert outline(recording)[1].startswith("request: t0s0:xxx")


def test_records_of_a_damaged_file_may_name_what_is_not_there(tmp_path: Path) -> None:
    lines = unsealed({})
    recording = read(tmp_path, "\n".join(map(json.dumps, lines[:4])) + "\n")
    assert {found.kind for found in recording.compactions} == {"clearing", "summary"}
    assert len(recording.messages) == 3
    assert any(problem.kind == "lost" for problem in recording.problems)


async def test_a_view_is_a_session_that_can_be_gone_on_with(tmp_path: Path) -> None:
    recording = read(tmp_path, own_session().closed)
    out = io.StringIO()
    view = CompactedView(
        kept_message_indices=tuple(range(18, 30)),
        cleared={(20, "call-10-0"): "[gone]"},
        summary="S",
    )
    rewrite(recording, view, out)
    path = tmp_path / "view.jsonl"
    path.write_text(out.getvalue())
    assert examine(path).findings == ()
    store = await JsonlStore.open(path)
    loaded = await store.load()
    await store.close()
    assert loaded.records == ()
    [again] = read_recordings(path)
    assert outline(again)[:4] == [
        "request: S",
        "PROMPT: prompt 3",
        *outline(recording)[19:20],
        "request: read call-10-0 = [gone]",
    ]


def test_a_stored_session_with_every_kind_of_record() -> None:
    folder = Path(__file__).parent.parent / "session" / "golden"
    for path in sorted(folder.glob("*.jsonl")):
        [recording] = read_recordings(path)
        assert recording.problems == []
        assert [found.kind for found in recording.compactions] == ["clearing", "summary", "summary"]
        assert (recording.set_aside["trim"], recording.set_aside["restore"]) == (1, 1)


def test_what_no_reader_shows_as_text_stays_as_json(tmp_path: Path) -> None:
    header, *messages = unsealed({"clearings": [], "checkpoints": [], "restores": []})
    system = {"part_kind": "system-prompt", "content": "Rules", "timestamp": "2026-01-01T00:00:00Z"}
    messages[0]["parts"].insert(0, system)
    messages[0]["instructions"] = "More rules"
    messages[6]["parts"].append(
        {"part_kind": "instruction-delta", "id": "a", "content": "Be brief"}
    )
    recording = read(tmp_path, "\n".join(map(json.dumps, [header, *messages])) + "\n")
    assert recording.system == "Rules\n\nMore rules"
    assert "instruction-delta" in outline(recording)[7]
    assert not recording.messages[7].is_prompt


def test_times_that_no_clock_of_this_machine_has(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    early = '"timestamp":"0001-01-01T00:00:00"'
    path.write_text(re.sub(r'"timestamp":"[^"]*"', early, own_session().closed))
    [recording] = read_recordings(path)
    assert {item.kind for item in recording.compactions} == {"summary", "clearing"}
