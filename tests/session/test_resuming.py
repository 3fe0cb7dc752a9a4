"""A session is opened with its live tail; what stands before it is read when it is looked at."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.usage import RequestUsage

from palimpsest.core.errors import (
    BrokenMessageError,
    FailureError,
    SessionFileError,
    StoreClosedError,
    SummaryRejectedError,
)
from palimpsest.core.records import SummaryUsage
from palimpsest.models.timeline import measure
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.doctor import tidy
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.memory import MemoryStore
from palimpsest.session.resuming import accounts_of, load_live, timeline_of
from palimpsest.session.store import Commit, Loaded, Store
from palimpsest.storage.header import HeaderChanges
from palimpsest.storage.totals import Counted, Totals
from palimpsest.testing import Call, Reply
from palimpsest.testing.faults import FailingStore, FaultyFiles
from tests.measuring import counted
from tests.session.builders import checkpoint, kill, turn
from tests.session.doubles import RefusingSummarizer
from tests.session.helpers import HEADER, Rig, rig, work

pytestmark = pytest.mark.anyio

TURNS = 12
SCRIPT: dict[str, Any] = {"characters": 2_000, "prose": 6_000}

Load = Callable[[Store], Awaitable[Loaded]]


async def load_whole(store: Store) -> Loaded:
    return await store.load()


async def worked(store: Store, turns: int = TURNS) -> Rig:
    found = await rig(work(turns, **SCRIPT), store=store)
    for number in range(turns):
        await found.session.prompt(f"do part {number}")
    assert len(found.session.get_compactions()) > 1
    return found


async def resumed(store: Store, script: list[Reply] | None = None, load: Load = load_live) -> Rig:
    return await rig(script or [], store=store, first_id=5_000, load=load)


def sent(session: AgentSession) -> bytes:
    return ModelMessagesTypeAdapter.dump_json(session._conversation.engine.timeline.messages())


def first_measured(session: AgentSession) -> int:
    return session._conversation.engine.timeline.outline.first


# --- the same session ---


async def test_the_live_tail_is_enough_to_go_on() -> None:
    store = MemoryStore(HEADER)
    before = await worked(store)
    whole = await resumed(store, load=load_whole)
    live = await resumed(store, work(4, **SCRIPT))
    history = live.session._conversation.engine.timeline.history
    assert first_measured(whole.session) == 0
    assert first_measured(live.session) == first_measured(before.session) > len(history) / 2
    assert sent(live.session) == sent(whole.session) == sent(before.session)
    assert live.session.state == whole.session.state
    assert live.session.state.totals == before.session.state.totals
    assert list(live.session.messages) == list(whole.session.messages)
    assert live.session.messages[3:9] == list(whole.session.messages)[3:9]
    assert live.session.messages[2] == whole.session.messages[2]

    compactions = len(live.session.get_compactions())
    for number in range(4):
        await live.session.prompt(f"do more {number}")
    assert len(live.session.get_compactions()) > compactions
    again = await resumed(store, load=load_whole)
    assert sent(again.session) == sent(live.session)
    assert list(again.session.messages) == list(live.session.messages)


async def test_receipts_and_facts_do_not_depend_on_how_it_was_opened() -> None:
    figures: list[object] = []
    for load in (load_whole, load_live):
        store = MemoryStore(HEADER)
        await worked(store)
        found = await resumed(store, work(4, **SCRIPT), load=load)
        for number in range(4):
            await found.session.prompt(f"do more {number}")
        loaded = await store.load()
        newest = [record for record in loaded.records if record.kind == "checkpoint"][-1]
        figures.append((replace(newest, covers=""), loaded.receipts[newest.id]))
    assert figures[0] == figures[1]


@pytest.mark.parametrize("outputs", [True, False])
@pytest.mark.parametrize("which", [0, 1, None])
async def test_a_restore_reaches_back_before_the_tail(which: int | None, outputs: bool) -> None:
    store = MemoryStore(HEADER)
    await worked(store)
    live = await resumed(store, work(1))
    target = None if which is None else live.session.get_compactions()[which].id
    said = await live.session.preview_restore(target, outputs=outputs)
    assert await live.session.restore(target, outputs=outputs) == said
    whole = await resumed(store, load=load_whole)
    assert sent(live.session) == sent(whole.session)
    assert live.session.state.context_budget.size == whole.session.state.context_budget.size
    assert said.size == live.session.state.context_budget.size
    again = await resumed(store, work(1))
    assert sent(again.session) == sent(whole.session)


async def test_a_checkpoint_can_be_made_anew_behind_a_restore() -> None:
    store = MemoryStore(HEADER)
    await worked(store)
    live = await resumed(store)
    await live.session.restore(None)
    made = await live.session.compact()
    assert made.base is None and made.prefix is not None
    assert sent((await resumed(store)).session) == sent(live.session)


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
    assert first_measured(live.session) > 0
    assert sent(live.session) == sent(found.session)
    assert live.session._conversation.engine.timeline.view.prompt_index == 0


async def test_originals_cannot_be_read_after_the_end() -> None:
    found = await worked(MemoryStore(HEADER))
    messages = found.session.messages
    await found.session.dispose()
    assert messages[-1]
    with pytest.raises(StoreClosedError):
        assert messages[0]


async def test_a_preview_does_not_disturb_a_running_prompt() -> None:
    store = MemoryStore(HEADER)
    await worked(store)
    said: list[object] = []

    async def look() -> str:
        said.append(await live.session.preview_restore(None))
        return "seen"

    script = [Reply(calls=(Call(tool="look", arguments={}),)), Reply(text="done")]
    live = await rig(script, store=store, first_id=5_000, tools={"look": look})
    before = first_measured(live.session)
    assert await live.session.prompt("look") == "done"
    assert len(said) == 1
    assert first_measured(live.session) == before
    assert sent((await resumed(store)).session) == sent(live.session)


# --- files that do not say what stands before the tail ---


async def test_a_file_of_another_origin_is_read_once_and_then_known() -> None:
    store = MemoryStore(HEADER)
    found = await worked(store)
    stored = await store.load()
    foreign = MemoryStore(replace(HEADER, model=stored.header.model))
    records = tuple(
        replace(record, prefix=None) if record.kind == "checkpoint" else record
        for record in stored.records
    )
    await foreign.commit(Commit(messages=stored.messages, records=records))
    live = await resumed(foreign, work(4, **SCRIPT))
    assert first_measured(live.session) == first_measured(found.session)
    assert sent(live.session) == sent(found.session)
    assert live.session.state.totals == found.session.state.totals
    assert (await foreign.load()).header.counted == Counted()
    for number in range(4):
        await live.session.prompt(f"do more {number}")
    reads = await foreign.load_tail()
    assert await load_live(foreign) == reads
    assert reads.header.counted.totals == live.session.state.totals


async def test_what_another_tool_appended_is_counted_too() -> None:
    store = MemoryStore(HEADER)
    found = await worked(store)
    before = found.session.state.totals
    reply = ModelResponse(parts=turn(1)[3].parts, usage=RequestUsage(input_tokens=5))  # type: ignore[arg-type]
    await store.commit(Commit(messages=(turn(1)[0], reply)))
    again = (await resumed(store)).session.state.totals
    assert (again.requests, again.input_tokens) == (before.requests + 1, before.input_tokens + 5)


async def test_totals_of_more_than_there_is_are_counted_anew() -> None:
    store = MemoryStore(HEADER)
    found = await worked(store)
    wrong = Counted(messages=10_000, records=1, totals=Totals(requests=7))
    await store.commit(Commit(header=HeaderChanges(counted=wrong)))
    assert (await resumed(store)).session.state.totals == found.session.state.totals


# --- totals ---


async def test_totals_are_those_of_the_whole_session() -> None:
    store = MemoryStore(HEADER)
    found = await worked(store)
    stored = await store.load()
    assert stored.header.counted == Counted(
        messages=stored.message_count,
        records=len(stored.records),
        totals=found.session.state.totals,
    )
    uncounted = replace(stored, header=replace(stored.header, counted=Counted()))
    assert accounts_of(uncounted).totals == found.session.state.totals


@pytest.mark.parametrize("by_hand", [True, False])
async def test_what_a_failed_summary_cost_is_known_after_reopening(by_hand: bool) -> None:
    store = MemoryStore(HEADER)
    spent = SummaryUsage(input=900, output=70)
    found = await rig(
        work(8, **SCRIPT), store=store, summarizer=RefusingSummarizer(times=1, usage=spent)
    )
    if by_hand:
        for number in range(3):
            await found.session.prompt(f"do part {number}")
        with pytest.raises(SummaryRejectedError):
            await found.session.compact()
    else:
        for number in range(8):
            await found.session.prompt(f"do part {number}")
        assert any(event.error for event in found.of("compaction_end"))
    totals = found.session.state.totals
    assert (totals.summaries, totals.summary_input_tokens) == (1, 900)
    assert (await resumed(store)).session.state.totals == totals


async def test_a_failure_and_its_save_come_together() -> None:
    spent = SummaryUsage(input=900, output=70)
    inner = MemoryStore(HEADER)
    failing = FailingStore(inner, "commit", after=3 * 4)
    found = await rig(work(3, **SCRIPT), store=failing, summarizer=RefusingSummarizer(usage=spent))
    for number in range(3):
        await found.session.prompt(f"do part {number}")
    with pytest.raises(ExceptionGroup) as raised:
        await found.session.compact()
    assert {type(error).__name__ for error in raised.value.exceptions} == {
        "SummaryRejectedError",
        "SaveFailedError",
    }
    assert found.session.state.has_pending_save
    await found.session.flush()
    assert (await resumed(inner)).session.state.totals.summaries == 1


async def test_nothing_used_is_nothing_written() -> None:
    store = MemoryStore(HEADER)
    found = await rig(work(1), store=store)
    await found.session.prompt("one turn")
    before = await store.load()
    with pytest.raises(Exception, match="fewer than two turns"):
        await found.session.compact()
    assert await store.load() == before


BROKEN: dict[str, object] = {
    "no object": 7,
    "a count missing": {"messages": 1, "records": 0, "cost_usd": 0.0},
    "no money": {**Counted().dump(), "cost_usd": "much"},
    "endless money": {**Counted().dump(), "cost_usd": float("inf")},
    "negative money": {**Counted().dump(), "cost_usd": -1},
    "a negative count": {**Counted().dump(), "requests": -1},
}


@pytest.mark.parametrize("totals", BROKEN.values(), ids=BROKEN)
async def test_totals_that_are_none_are_refused(tmp_path: Path, totals: object) -> None:
    path = tmp_path / "s.jsonl"
    store = JsonlStore.create(path, HEADER)
    await store.commit(Commit(messages=turn(1)))
    await store.close()
    first, *rest = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text(json.dumps({**json.loads(first), "totals": totals}) + "\n" + "".join(rest))
    with pytest.raises(SessionFileError):
        await JsonlStore.open(path)


# --- damage before the tail ---


async def test_damage_before_the_tail_is_met_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    found = await worked(JsonlStore.create(path, HEADER))
    await found.session.dispose()
    body = path.read_bytes()
    at = body.index(b'"content":"t0s0:')
    path.write_bytes(body[:at] + b"#" + body[at + 1 :])
    live = await rig(work(1), store=await JsonlStore.open(path), first_id=5_000)
    assert await live.session.prompt("go on")
    with pytest.raises(BrokenMessageError):
        list(live.session.messages)
    with pytest.raises(BrokenMessageError):
        await live.session.restore(None)
    with pytest.raises(FailureError):
        await live.session.compact()
    assert live.session.state.outcome == "error"
    await live.session.dispose()


# --- what it costs, without a clock ---


MEASURE = measure
assert isinstance(MEASURE, FunctionType)


async def cost_of_opening(path: Path, messages: int, *, tidied: bool) -> tuple[int, int, int]:
    """Bytes read, messages measured and messages held by opening so long a session."""
    store = JsonlStore.create(path, HEADER, files=FaultyFiles())
    session = await rig([], store=store)
    timeline = session.session._conversation.engine.timeline
    for start in range(0, messages, 200):
        new = [message for number in range(start, start + 200, 4) for message in turn(number, 800)]
        await store.commit(Commit(messages=tuple(new)))
        for message in new:
            timeline.append(message)
    record = checkpoint(1, messages - 8, messages, prefix=timeline.outline.prefix(messages - 8))
    counted_so_far = Counted(messages=messages, records=1)
    await store.commit(Commit(records=(record,), header=HeaderChanges(counted=counted_so_far)))
    kill(store)
    if tidied:
        tidy(path)
    files = FaultyFiles()
    store = await JsonlStore.open(path, files=files, read_only=True)
    with counted(MEASURE) as measured:
        opened = timeline_of(await load_live(store))
    await store.close()
    return files.bytes_read, measured.calls, len(opened.history._held)


@pytest.mark.parametrize("tidied", [True, False])
async def test_opening_costs_the_view_and_not_the_history(tmp_path: Path, tidied: bool) -> None:
    short = await cost_of_opening(tmp_path / "short.jsonl", 2_000, tidied=tidied)
    long = await cost_of_opening(tmp_path / "long.jsonl", 10_000, tidied=tidied)
    lines_of_commits = 40 * 400
    size = (tmp_path / "long.jsonl").stat().st_size
    assert long[0] <= short[0] + lines_of_commits + size / 50
    assert long[0] < size / 4
    assert long[1] == short[1] == 8
    assert long[2] == short[2] == 8


async def test_a_prompt_costs_what_is_new(tmp_path: Path) -> None:
    """Messages measured and held, bytes read and written: the late prompts as the early ones."""
    files = FaultyFiles()
    store = JsonlStore.create(tmp_path / "s.jsonl", HEADER, files=files)
    found = await rig(work(36, characters=2_000, prose=700), store=store)
    talk = found.session._conversation
    costs: list[tuple[int, int, int]] = []
    for number in range(36):
        read, written = files.bytes_read, files.bytes_written
        count, compactions = len(talk.engine.timeline.history), len(found.session.get_compactions())
        with counted(MEASURE) as measured:
            await found.session.prompt(f"do part {number:02}")
        timeline = talk.engine.timeline
        assert measured.calls == len(timeline.history) - count
        if len(found.session.get_compactions()) == compactions:
            costs.append(
                (
                    files.bytes_read - read,
                    files.bytes_written - written,
                    len(timeline.history._held),
                )
            )
    assert len(costs) > 20
    assert sum(read > 0 for read, _, _ in costs) <= 1  # the store's first look at a record
    assert max(cost[1] for cost in costs[-6:]) <= 1.2 * max(cost[1] for cost in costs[2:8])
    assert max(cost[2] for cost in costs) < 150
