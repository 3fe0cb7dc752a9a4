"""SPEC 13, undo, as a session does it: one test a sentence."""

from __future__ import annotations

import pytest

from palimpsest.core.errors import ContextBudgetExceededError, UnknownCheckpointError
from palimpsest.models.engine import EngineSettings
from palimpsest.testing import Reply
from tests.session.helpers import Rig, rig, work

pytestmark = pytest.mark.anyio


def answers(*tokens: int) -> list[Reply]:
    return [Reply(text="word " * (size * 4 // 5)) for size in tokens]


async def compacted(*tokens: int, then: tuple[int, ...] = ()) -> Rig:
    found = await rig(answers(*tokens, *then))
    for turn in range(len(tokens)):
        await found.session.prompt(f"question {turn}")
    await found.session.compact()
    return found


async def test_nothing_is_deleted() -> None:
    found = await compacted(2_000, 2_000, 2_000)
    messages, checkpoints = list(found.session.messages), found.session.get_compactions()
    for target in (None, checkpoints[0].id, None):
        await found.session.restore(target)
    assert list(found.session.messages) == messages
    assert found.session.get_compactions() == checkpoints
    stored = await found.store.load()
    assert list(stored.messages) == list(messages)
    assert [record.kind for record in stored.records] == ["checkpoint", *["restore"] * 3]


async def test_it_says_before_switching_whether_the_view_fits() -> None:
    found = await compacted(4_000, 4_000, 4_000, then=(4_000,))
    assert (await found.session.preview_restore(None)).fits
    await found.session.prompt("more")
    events, records = len(found.events), (await found.store.load()).records
    said = await found.session.preview_restore(None)
    assert (said.fits, said.pressured) == (False, True)
    assert said.size.tokens > 16_000
    assert len(found.events) == events
    assert (await found.store.load()).records == records
    assert found.session.state.compaction is not None
    assert await found.session.restore(None) == said
    (event,) = found.of("restored")
    assert (event.fits, event.pressured) == (False, True)
    with pytest.raises(UnknownCheckpointError):
        await found.session.preview_restore("00000000-0000-4000-8000-999999999999")


async def test_budget_availability_and_meters_follow() -> None:
    found = await compacted(3_000, 3_000, 3_000)
    small = found.session.state
    await found.session.restore(None)
    whole = found.session.state
    assert whole.context_budget.size.tokens > small.context_budget.size.tokens + 5_000
    assert whole.compaction is None
    assert whole.compaction_available
    assert not small.compaction_available
    again = await rig([], store=found.store)
    assert again.session.state.compaction is None
    await found.session.restore(found.session.get_compactions()[0].id)
    assert found.session.state.compaction == small.compaction


async def test_after_it_compaction_waits_until_the_request_does_not_fit() -> None:
    found = await compacted(4_000, 4_000, 4_700, then=(10, 3_000, 10))
    await found.session.restore(None)
    await found.session.prompt("above 90 %")
    assert found.of("context_budget")[-1].decision == "held"
    assert len(found.session.get_compactions()) == 1
    await found.session.prompt("and more")
    await found.session.prompt("too much")
    assert found.of("context_budget")[-1].decision == "compacted"
    assert len(found.session.get_compactions()) == 2


async def test_a_manual_compaction_ends_the_wait() -> None:
    found = await compacted(4_000, 4_000, 4_000, then=(10, 6_000, 6_000, 10))
    await found.session.restore(None)
    await found.session.compact()
    for turn in range(4):
        await found.session.prompt(f"more {turn}")
    assert "held" not in [event.decision for event in found.of("context_budget")]
    assert "compacted" in [event.decision for event in found.of("context_budget")]


async def test_outputs_shown_again_are_exempt_from_pruning() -> None:
    found = await rig(work(8, steps=2, characters=4_000))
    for turn in range(4):
        await found.session.prompt(f"part {turn}")
    (cleared, *_) = found.of("pruned")
    assert cleared.outputs
    placeholder = "[Old tool result content cleared]"
    assert placeholder in found.model.requests[-1].text
    await found.session.restore(None)
    await found.session.prompt("still cleared")
    assert placeholder in found.model.requests[-1].text
    await found.session.restore(None, outputs=True)
    await found.session.prompt("shown again")
    assert "t0s0:xxx" in found.model.requests[-1].text


async def test_back_to_an_earlier_checkpoint_that_does_not_fit_is_refused_not_sent() -> None:
    found = await rig(answers(5_000, 5_000, 5_000), engine=EngineSettings(automatic=False))
    for turn in range(2):
        await found.session.prompt(f"question {turn}")
    await found.session.compact()
    await found.session.prompt("one more")
    await found.session.restore(None)
    requests = len(found.model.requests)
    with pytest.raises(ContextBudgetExceededError):
        await found.session.prompt("too much")
    assert len(found.model.requests) == requests
