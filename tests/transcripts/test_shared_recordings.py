"""Real recordings: counts as their own table gives them, and views that read back."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

from palimpsest.transcripts import (
    CompactedView,
    Recording,
    expand_paths,
    read_paths,
    read_recordings,
    rewrite,
)


@dataclass(frozen=True)
class Row:
    messages: str
    results: str
    compactions: str
    images: str
    interrupted: str


def table_of(shared: Path) -> dict[str, Row]:
    rows = dict[str, Row]()
    for line in (shared / "transcripts" / "README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 11 and cells[10].isdigit():
            rows[cells[0]] = Row(cells[4], cells[5], cells[7], cells[8], cells[9])
    return rows


def _row(recordings: list[Recording], expected: Row) -> Row:
    counts = [recording.counts for recording in recordings]
    summaries = sum(c.kind == "summary" for r in recordings for c in r.compactions)
    return Row(
        messages=str(sum(count.messages for count in counts)),
        results="-" if expected.results == "-" else str(sum(count.results for count in counts)),
        compactions=str(summaries),
        images=str(sum(count.images for count in counts)),
        interrupted=str(sum(count.interrupted for count in counts)),
    )


def test_counts_are_those_of_the_table(shared: Path) -> None:
    table = table_of(shared)
    folder = shared / "transcripts"
    everything = {found.path for found in expand_paths([folder])}
    assert {folder / name for name in table} == everything
    found = {name: list(read_recordings(folder / name)) for name in table}
    assert {name: _row(found[name], table[name]) for name in table} == table


def test_no_record_is_lost_and_reading_twice_gives_the_same(shared: Path) -> None:
    folder = shared / "transcripts"
    for recording in read_paths([folder], on_skipped=lambda error: None):
        assert [p for p in recording.problems if p.kind == "lost"] == []
        [again] = [
            other
            for other in read_recordings(recording.path)
            if other.session_id == recording.session_id
        ]
        assert again.messages == recording.messages
        assert all(message.records for message in recording.messages)


def test_every_result_of_a_claude_code_session_is_in_the_history(shared: Path) -> None:
    for recording in read_paths(
        [shared / "transcripts" / "claude-code"], on_skipped=lambda error: None
    ):
        parts = [part for recorded in recording.messages for part in recorded.message.parts]
        kinds = [part.part_kind for part in parts]
        assert kinds.count("tool-return") == recording.counts.results
        assert kinds.count("tool-call") == recording.counts.calls


def test_views_read_back(shared: Path, tmp_path: Path) -> None:
    for recording in read_paths([shared / "transcripts"], on_skipped=lambda error: None):
        first = len(recording.messages) // 2
        while first and recording.messages[first].message.kind != "response":
            first -= 1
        kept = tuple(range(first, len(recording.messages)))
        path = tmp_path / recording.path.name
        with path.open("w") as out:
            rewrite(recording, CompactedView(kept_message_indices=kept, summary="S"), out)
        [back] = read_recordings(path)
        added = len(back.messages) - len(kept)
        assert added == (0 if back.compactions else 1)
        for index, recorded in zip(kept, back.messages[added:], strict=True):
            original = recording.messages[index]
            assert [_shown(part) for part in recorded.message.parts] == [
                _shown(part) for part in original.message.parts
            ]
            assert recorded.is_prompt == original.is_prompt
        out_again = io.StringIO()
        rewrite(recording, CompactedView(kept_message_indices=kept, summary="S"), out_again)
        assert out_again.getvalue() == path.read_text()


def _shown(part: object) -> tuple[object, ...]:
    return tuple(getattr(part, name, None) for name in ("part_kind", "content", "args", "outcome"))
