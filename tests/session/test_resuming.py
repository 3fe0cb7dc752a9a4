"""A session is opened with its live tail; what is before it is read when it is asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter

from palimpsest.core.errors import StoreClosedError
from palimpsest.core.outline import Outline
from palimpsest.formats.pydantic_ai import outline
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.memory import MemoryStore
from palimpsest.session.resuming import load_live, prefix_object, timeline_of
from palimpsest.session.store import Commit, Loaded, Store
from palimpsest.testing import Call, Reply
from palimpsest.testing.faults import FaultyFiles
from tests.session.builders import checkpoint, kill, turn
from tests.session.helpers import HEADER, Rig, rig, work

pytestmark = pytest.mark.anyio

TURNS = 12
SCRIPT: dict[str, Any] = {"characters": 2_000, "prose": 6_000}


async def worked(store: Store, turns: int = TURNS) -> Rig:
    found = await rig(work(turns, **SCRIPT), store=store)
    for number in range(turns):
        await found.session.prompt(f"do part {number}")
    assert len(found.session.get_compactions()) > 1
    return found


def sent(session: AgentSession) -> bytes:
    return ModelMessagesTypeAdapter.dump_json(session._engine.timeline.messages())


class Live:
    """A store whose ``load`` gives what opening a session loads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.commit, self.close = store.commit, store.close
        self.load_tail, self.read_range = store.load_tail, store.read_range

    async def load(self) -> Loaded:
        return await load_live(self._store)


async def resumed(store: Store, script: list[Reply] | None = None) -> Rig:
    return await rig(script or [], store=Live(store), first_id=5_000)


async def test_the_live_tail_is_enough_to_go_on() -> None:
    store = MemoryStore(HEADER)
    before = await worked(store)
    whole = await rig([], store=store)
    live = await resumed(store, work(4, **SCRIPT))
    timeline = live.session._engine.timeline
    assert timeline.outline.first == timeline.view.cut > 0
    assert timeline.outline.messages_measured < len(timeline.outline) / 2
    assert sent(live.session) == sent(whole.session) == sent(before.session)
    assert live.session.state.context_budget.size == whole.session.state.context_budget.size
    assert list(live.session.messages) == list(whole.session.messages)
    assert live.session.messages[3:9] == list(whole.session.messages)[3:9]
    assert live.session.messages[2] == whole.session.messages[2]

    compactions = len(live.session.get_compactions())
    for number in range(4):
        await live.session.prompt(f"do more {number}")
    assert len(live.session.get_compactions()) > compactions
    again = await rig([], store=store)
    assert sent(again.session) == sent(live.session)
    assert list(again.session.messages) == list(live.session.messages)


async def test_receipts_and_facts_do_not_depend_on_how_it_was_opened() -> None:
    figures: list[object] = []
    for opened in (lambda store: store, Live):
        store = MemoryStore(HEADER)
        await worked(store)
        found = await rig(work(4, **SCRIPT), store=opened(store), first_id=5_000)
        for number in range(4):
            await found.session.prompt(f"do more {number}")
        loaded = await store.load()
        newest = [record for record in loaded.records if record.kind == "checkpoint"][-1]
        figures.append((newest.summary, loaded.receipts[newest.id], loaded.prefixes[newest.id]))
    assert figures[0] == figures[1]


@pytest.mark.parametrize("outputs", [True, False])
@pytest.mark.parametrize("which", [0, 1, None])
async def test_a_restore_reaches_back_before_the_tail(which: int | None, outputs: bool) -> None:
    store = MemoryStore(HEADER)
    await worked(store)
    live = await resumed(store)
    checkpoints = live.session.get_compactions()
    target = None if which is None else checkpoints[which].id
    await live.session.restore(target, outputs=outputs)
    whole = await rig([], store=store)
    assert sent(live.session) == sent(whole.session)
    assert live.session.state.context_budget.size == whole.session.state.context_budget.size
    assert sent((await resumed(store)).session) == sent(whole.session)


BROKEN: dict[str, dict[str, Any] | None] = {
    "missing": None,
    "no counts": {"turns": -1},
    "no list": {"lasting": 7},
    "beyond the cut": {"lasting": [10_000]},
    "no index": {"lasting": ["x"]},
    "no prompt": {"prompt": None},
    "a prompt beyond the cut": {"prompt": 10_000},
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
async def test_without_a_usable_prefix_all_is_loaded(change: dict[str, Any] | None) -> None:
    store = MemoryStore(HEADER)
    found = await worked(store)

    class Changed(Live):
        async def load(self) -> Loaded:
            return await load_live(_Changed(store, change))

    whole = await rig([], store=Changed(store))
    assert whole.session._engine.timeline.outline.first == 0
    assert sent(whole.session) == sent(found.session)


class _Changed(MemoryStore):
    def __init__(self, store: MemoryStore, change: dict[str, Any] | None) -> None:
        self._store, self._change = store, change

    def _of(self, loaded: Loaded) -> Loaded:
        changed = {key: {**value, **(self._change or {})} for key, value in loaded.prefixes.items()}
        return replace(loaded, prefixes={} if self._change is None else changed)

    async def load(self) -> Loaded:
        return self._of(await self._store.load())

    async def load_tail(self, first_message_index: int | None = None) -> Loaded:
        return self._of(await self._store.load_tail(first_message_index))


async def test_a_split_turn_is_known_again() -> None:
    store = MemoryStore(HEADER)
    steps = [
        Reply(text=" really" * 700, calls=(Call(tool="read", arguments={"name": f"s{number}"}),))
        for number in range(20)
    ]
    found = await rig([*steps, Reply(text="done")], store=store)
    await found.session.prompt("one long turn")
    assert found.session.get_compactions()[-1].split
    live = await resumed(store)
    assert live.session._engine.timeline.outline.first > 0
    assert sent(live.session) == sent(found.session)
    assert live.session._engine.timeline.view.prompt_index == 0


async def test_originals_cannot_be_read_after_the_end() -> None:
    found = await worked(MemoryStore(HEADER))
    messages = found.session.messages
    await found.session.dispose()
    assert messages[-1]
    with pytest.raises(StoreClosedError):
        assert messages[0]


# --- what it costs, without a clock -----------------------------------------------------------


async def cost_of_opening(path: Path, messages: int) -> tuple[int, int, int]:
    """Bytes read, messages measured and messages held by opening so long a session."""
    store, measured = JsonlStore.create(path, HEADER, files=FaultyFiles()), Outline()
    for start in range(0, messages, 200):
        new = [message for number in range(start, start + 200, 4) for message in turn(number, 800)]
        await store.commit(Commit(messages=tuple(new)))
        for message in new:
            measured.append(outline(message))
    record = checkpoint(1, messages - 8, messages)
    prefix = prefix_object(measured.prefix(messages - 8))
    await store.commit(Commit(records=(record,), prefixes={record.id: prefix}))
    kill(store)
    files = FaultyFiles()
    store = await JsonlStore.open(path, files=files, read_only=True)
    timeline = timeline_of(await load_live(store))
    await store.close()
    return files.bytes_read, timeline.outline.messages_measured, len(timeline.history._held)


async def test_opening_costs_the_view_and_not_the_history(tmp_path: Path) -> None:
    short = await cost_of_opening(tmp_path / "short.jsonl", 2_000)
    long = await cost_of_opening(tmp_path / "long.jsonl", 10_000)
    commit_lines = 40 * 400
    assert long[0] <= short[0] + commit_lines < (tmp_path / "long.jsonl").stat().st_size / 4
    assert long[1] == short[1] == 9  # the tail, and the prompt before it
    assert long[2] == short[2] == 8


async def test_a_prompt_costs_what_is_new(tmp_path: Path) -> None:
    """Messages measured, bytes read and written by a prompt, early and late."""
    files = FaultyFiles()
    store = JsonlStore.create(tmp_path / "s.jsonl", HEADER, files=files)
    found = await rig(work(60, characters=2_000, prose=700), store=store)
    costs: list[tuple[int, int, int, int]] = []
    for number in range(60):
        timeline = found.session._engine.timeline
        measured = timeline.outline.messages_measured
        read, written, count = files.bytes_read, files.bytes_written, len(timeline.history)
        compactions = len(found.session.get_compactions())
        await found.session.prompt(f"do part {number:02}")
        if len(found.session.get_compactions()) == compactions:
            new = len(timeline.history) - count
            costs.append(
                (
                    timeline.outline.messages_measured - measured - new,
                    files.bytes_read - read,
                    files.bytes_written - written,
                    len(timeline.history._held),
                )
            )
    assert len(costs) > 30
    assert all(measured == 0 for measured, _, _, _ in costs)
    assert sum(read > 0 for _, read, _, _ in costs) == 1  # the store's first look at a record
    early, late = costs[2:8], costs[-6:]
    assert max(cost[2] for cost in late) <= 1.2 * max(cost[2] for cost in early)
    assert max(cost[3] for cost in costs) < 150
