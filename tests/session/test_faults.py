"""Saves that fail, and cancellation at every moment: nothing is lost, nothing runs twice.

A seeded sample of the moments; ``make soak`` takes every one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

from palimpsest.core.errors import PendingSaveError, SaveFailedError, SessionDisposedError
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.memory import MemoryStore
from palimpsest.testing import FailingStore, Reply
from tests.scale import sample
from tests.session.helpers import HEADER, Rig, rig, work

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


TURNS = 7
SCRIPT = {"turns": TURNS, "steps": 2, "characters": 2_000, "prose": 6_000}


async def drive(found: Rig) -> SaveFailedError | None:
    """Give all prompts; after a failed save, flush once and go on."""
    failed: SaveFailedError | None = None
    for turn in range(TURNS):
        try:
            await found.session.prompt(f"do part {turn}")
        except SaveFailedError as error:
            failed = error
            assert found.session.state.has_pending_save
            with pytest.raises(PendingSaveError):
                await found.session.prompt("not now")
            with pytest.raises(PendingSaveError):
                await found.session.dispose()
            visible = list(found.session.messages)
            await found.session.flush()
            assert not found.session.state.has_pending_save
            assert list(found.session.messages) == visible
    return failed


async def assert_stored(found: Rig) -> None:
    stored = await found.store.load()
    assert list(stored.messages) == list(found.session.messages)
    live = found.session.state.compaction
    again = await rig([], store=found.store)
    assert again.session.state.compaction == live


async def commits_of(script: list[Reply]) -> int:
    store = MemoryStore(HEADER)
    count = 0

    class Counting(FailingStore):
        async def commit(self, commit: object) -> None:
            nonlocal count
            count += 1
            await super().commit(commit)  # type: ignore[arg-type]

    found = await rig(script, store=Counting(store, "read_range"))
    await drive(found)
    assert found.session.get_compactions(), "the script should compact"
    return count


async def test_a_save_that_fails_at_any_commit_heals() -> None:
    total = await commits_of(work(**SCRIPT))
    assert total > 20
    for number in sample(range(total), 6):
        store = MemoryStore(HEADER)
        found = await rig(work(**SCRIPT), store=FailingStore(store, "commit", after=number))
        failed = await drive(found)
        assert failed is not None
        assert len(found.tool_runs) == len(set(found.tool_runs))
        found.store = store
        await assert_stored(found)


async def test_discarding_what_could_not_be_saved() -> None:
    store = FailingStore(MemoryStore(HEADER), "commit", after=1, times=None)
    found = await rig(work(1), store=store)
    with pytest.raises(SaveFailedError):
        await found.session.prompt("go")
    with pytest.raises(SaveFailedError):
        await found.session.flush()
    await found.session.dispose(discard_pending=True)
    with pytest.raises(SessionDisposedError):
        await found.session.flush()


async def test_leaving_the_block_tries_once_to_save(tmp_path: Path) -> None:
    store = JsonlStore.create(tmp_path / "session.jsonl", HEADER)
    found = await rig(work(1), store=FailingStore(store, "commit", after=1, times=1))
    with pytest.raises(SaveFailedError):
        async with found.session:
            await found.session.prompt("go")
    again = await JsonlStore.open(tmp_path / "session.jsonl")
    assert list((await again.load()).messages) == list(found.session.messages)
    await again.close()


def answered_once(found: Rig) -> bool:
    ids = [
        part.tool_call_id
        for message in found.session.messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    return len(ids) == len(set(ids))


@dataclass(frozen=True)
class Cancelled:
    """A session whose newest prompt was aborted after so many turns of the loop."""

    rig: Rig
    loop_steps: int


async def cancelled_after(steps: int) -> Cancelled:
    """Run until a prompt that compacts, and abort it after at most so many turns of the loop."""
    found = await rig(work(5, characters=400, prose=22_000))
    for turn in range(3):
        await found.session.prompt(f"do part {turn}")
    running = asyncio.ensure_future(found.session.prompt("do part 3"))
    done = 0
    while done < steps and not running.done():
        await asyncio.sleep(0)
        done += 1
    was_done = running.done()
    await found.session.abort()
    outcome = (await asyncio.gather(running, return_exceptions=True))[0]
    assert was_done or isinstance(outcome, asyncio.CancelledError | str)
    return Cancelled(rig=found, loop_steps=done)


async def loop_steps_of_a_prompt() -> int:
    """How many turns of the loop the prompt that compacts takes."""
    found = await cancelled_after(1_000_000)
    return found.loop_steps


async def test_cancelling_at_every_await_leaves_a_valid_session() -> None:
    before = len(asyncio.all_tasks())
    total = await loop_steps_of_a_prompt()
    assert total > 30
    compacted = False
    for number, steps in enumerate(sample(range(total + 1), 16)):
        found = (await cancelled_after(steps)).rig
        state = found.session.state
        assert not state.is_running
        assert state.active_compaction is None
        assert found.kinds().count("settled") == 4
        starts, ends = found.of("compaction_start"), found.of("compaction_end")
        assert len(starts) == len(ends)
        compacted = compacted or bool(starts)
        assert answered_once(found)
        assert len(found.tool_runs) == len(set(found.tool_runs))
        await assert_stored(found)
        prompts = [
            part.content
            for message in found.session.messages
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, UserPromptPart)
        ]
        assert prompts[:2] == ["do part 0", "do part 1"]
        if number % 7 == 0:
            assert await found.session.prompt("go on")
            await assert_stored(found)
    assert compacted
    assert len(asyncio.all_tasks()) <= before + 1
