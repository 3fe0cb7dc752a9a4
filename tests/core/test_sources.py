from __future__ import annotations

from palimpsest.core.sources import (
    CheckpointSource,
    HistorySource,
    RepairSource,
    SkillSource,
    source_map,
)
from palimpsest.core.view import Cleared, FoldedRow, MessageRow, RepairRow, SummaryRow


def test_every_row_has_its_source_and_none_has_text() -> None:
    skills = SkillSource(index=5, ids=("review",), revisions=("ab12",))
    rows = (
        FoldedRow(index=1, parts=(0, 2)),
        SummaryRow(checkpoint="c1", summarised_before=5, text="a secret"),
        MessageRow(index=5),
        MessageRow(index=6, edits=(Cleared(part=0, placeholder="a secret"),)),
        RepairRow(index=6, call_id="call-1", tool_name="read"),
    )
    sources = source_map(rows, {5: skills})
    assert sources == (
        HistorySource(index=1),
        CheckpointSource(id="c1", summarised_before=5),
        skills,
        HistorySource(index=5),
        HistorySource(index=6),
        RepairSource(index=6, call_id="call-1"),
    )
    assert "secret" not in repr(sources)
    assert source_map((), {5: skills}) == ()
