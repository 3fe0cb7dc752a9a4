"""What the hot paths of a session cost, without a clock: the same at 200 and at 20,000 messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage

from palimpsest.core.budget import Budget, Measure
from palimpsest.core.calibration import Meter
from palimpsest.core.receipt import Receipt
from palimpsest.core.records import Checkpoint, Clearing, Record
from palimpsest.models.candidates import CandidateMaker
from palimpsest.models.engine import Engine, EngineSettings
from palimpsest.models.history import History
from palimpsest.models.limits import Limits
from palimpsest.models.preflight import preflight
from palimpsest.models.summarizer import ExtractiveSummarizer
from palimpsest.models.timeline import Timeline
from palimpsest.session.doctor import tidy
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.opening import open_session_file
from palimpsest.session.store import Commit
from palimpsest.storage.header import HeaderChanges
from palimpsest.testing.faults import FaultyFiles
from tests.measuring import counted
from tests.session.builders import HEADER, checkpoint, run, turn

SIZES = (200, 2_000, 20_000)
LIVE = 40
"""Messages behind the cut; with the summary they are the view."""

STEP = turn(9_999_999)[1:3]
LIMITS = Limits(
    budget=Budget(window=1_000_000, reserved_output=16_000), fixed=Measure(tokens=9, bytes=36)
)


@dataclass(frozen=True)
class Grown:
    """One conversation, in an engine and in an open file."""

    engine: Engine
    store: JsonlStore
    path: Path
    files: FaultyFiles = field(default_factory=FaultyFiles)


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Grown]]:
    folder = tmp_path_factory.mktemp("sessions")
    conversations = [_grown(folder / f"{count}.jsonl", count) for count in SIZES]
    yield conversations
    for one in conversations:
        run(one.store.close())


def _grown(path: Path, count: int) -> Grown:
    history = [message for number in range(count // 4) for message in turn(number)]
    timeline = Timeline(History(history))
    cut = count - LIVE
    record = checkpoint(1, cut, count, prefix=timeline.outline.prefix(cut))
    timeline.apply(record)
    return Grown(engine=_engine(timeline), store=run(_stored(path, history, record)), path=path)


async def _stored(path: Path, history: Sequence[ModelMessage], record: Checkpoint) -> JsonlStore:
    store = JsonlStore.create(path, HEADER, files=FaultyFiles())
    for start in range(0, len(history), 200):
        await store.commit(Commit(messages=tuple(history[start : start + 200])))
    await store.commit(Commit(records=(record,)))
    await store.close()
    tidy(path)  # the canonical layout; commit lines that may stay are read, up to a fixed number
    return await JsonlStore.open(path, files=FaultyFiles())


def _engine(timeline: Timeline) -> Engine:
    async def save(record: Record, receipt: Receipt | None) -> None:
        raise AssertionError(record, receipt)

    extractive = ExtractiveSummarizer()
    return Engine(
        timeline,
        settings=EngineSettings(),
        candidates=CandidateMaker(
            summarizer=extractive, fallback=extractive, now_ms=lambda: 0, new_id=lambda: "id"
        ),
        save=save,
        emit=lambda event: None,
        meter=Meter(),
    )


def take_a_step(one: Grown) -> None:
    for message in STEP:
        one.engine.timeline.append(message)


def commit(one: Grown) -> None:
    run(one.store.commit(Commit(messages=STEP, header=HeaderChanges(updated=5))))


def open_and_load(one: Grown) -> None:
    file = open_session_file(one.path, one.files, read_only=True)
    assert len(file.load_tail(None).messages) >= LIVE
    file.release()


OPERATIONS: list[tuple[str, Callable[[Grown], object], int]] = [
    ("preflight", lambda one: run(preflight(one.engine, LIMITS)), 450),
    ("project the view", lambda one: one.engine.dispatch(), 300),
    ("measure a step", take_a_step, 110),
    ("plan the clearing at a prompt", lambda one: one.engine.plan_clearing(LIMITS.budget), 110),
    (
        "ask whether a compaction is possible",
        lambda one: one.engine.can_compact(LIMITS.budget),
        110,
    ),
    ("commit a step", commit, 700),
    ("open a file, with its live tail", open_and_load, 4_000),
]


@pytest.mark.parametrize(
    ("work", "most"), [row[1:] for row in OPERATIONS], ids=[row[0] for row in OPERATIONS]
)
def test_calls(grown: list[Grown], work: Callable[[Grown], object], most: int) -> None:
    calls = list[int]()
    for one in grown:
        work(one)  # the first time loads what is missing
        with counted() as counting:
            work(one)
        calls.append(counting.calls)
    assert max(calls) <= most
    assert max(calls) <= 1.2 * min(calls) + 10  # a search may grow with the logarithm


def test_a_step_in_a_long_turn_costs_that_step() -> None:
    calls = list[int]()
    for count in SIZES:
        timeline = Timeline(
            History(message for number in range(count // 4) for message in turn(number))
        )
        outputs = timeline.outline.outputs
        placeholders = tuple((at, "[cleared]") for at in outputs)
        timeline.apply(Clearing(id="c", timestamp=1, placeholders=placeholders, tokens_reclaimed=1))
        engine = _engine(timeline)
        engine.dispatch()
        for message in STEP:
            timeline.append(message)
        with counted() as counting:
            assert len(engine.dispatch()) == count + len(STEP)
        calls.append(counting.calls)
    assert max(calls) <= 600
    assert max(calls) <= min(calls) + 5
