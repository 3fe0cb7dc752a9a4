"""The context meter divided up: the parts always add up to the number that is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.core.pruning import PruningSettings
from palimpsest.core.receipt import Receipt
from palimpsest.models.engine import EngineSettings
from palimpsest.session.breakdown import ContextBreakdown
from palimpsest.session.jsonl import JsonlStore
from palimpsest.testing import Reply
from tests.session.helpers import HEADER, rig, work

pytestmark = pytest.mark.anyio


def parts(found: ContextBreakdown) -> int:
    return found.system + found.tools + found.skills + found.summary + found.turns + found.cleared


async def test_it_adds_up_whatever_happens(tmp_path: Path) -> None:
    skill = tmp_path / "dates" / "SKILL.md"
    skill.parent.mkdir()
    skill.write_text("---\nname: dates\ndescription: About dates.\n---\n" + "ISO only. " * 40)
    pruning = PruningSettings(protect_tokens=1_500, minimum_tokens=500)
    made = await rig(
        [*work(6, characters=3_000), Reply(text="done")],
        skill_directories=(str(tmp_path),),
        engine=EngineSettings(pruning=pruning),
        instructions="Rules. " * 30,
        count_ratio=1.3,
    )
    session = made.session
    found = session.context_breakdown()
    assert (found.total, parts(found), found.turns_kept) == (0, 0, 0)
    for turn in range(6):
        await session.prompt(f"part {turn}", skills=["dates"] if turn == 5 else [])
        found = session.context_breakdown()
        assert parts(found) == found.total == session.state.context_budget.size.tokens
    assert found.system > 0
    assert found.tools > 0
    assert found.skills > 100
    assert found.outputs_cleared > 0
    assert found.cleared_away > found.cleared > 0
    assert found.summary == 0
    assert found.free == found.budget.largest_fitting - found.total
    await session.compact()
    after = session.context_breakdown()
    assert parts(after) == after.total < found.total
    assert after.summary > 0
    assert after.turns_kept < 6


async def test_receipts_outlive_the_process(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    made = await rig(work(6, prose=4_000), store=JsonlStore.create(path, HEADER))
    for turn in range(6):
        await made.session.prompt(f"part {turn}")
    checkpoint = await made.session.compact()
    receipt = made.session.get_receipt(checkpoint.id)
    assert isinstance(receipt, Receipt)
    assert made.session.get_receipt("none") is None
    await made.session.dispose()
    again = await rig([], store=await JsonlStore.open(path))
    assert again.session.get_receipt(checkpoint.id) == receipt
    await again.session.dispose()
