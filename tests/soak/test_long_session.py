"""Thousands of turns in one session over a real file: flat, whole, the same after each resume."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import fmean
from time import process_time

import pytest

from palimpsest.session.opening import open_session_file
from palimpsest.testing.faults import FaultyFiles
from tests.measuring import counted, held_bytes
from tests.scale import SEED, TURNS, sample
from tests.soak.long_session import LongSession, said_in, view_bytes

pytestmark = pytest.mark.anyio

RESUMES = 100
"""Every so many turns a second opening is compared."""

REOPENINGS = 500
"""Every so many turns the session is closed and opened again."""

WINDOW = 60
"""Turns at the start and at the end that are compared; the first ten only warm up."""

MOST_BYTES_HELD = 2_500_000
"""By engine, journal and store of a session: a view of 16,000 tokens, records and facts."""

MOST_GROWTH_A_TURN = 6_000
"""Of the bytes held: facts of some six messages and their places in the file, and the summaries of
earlier compactions; no message."""


@dataclass
class Costs:
    """What single turns cost, one entry a turn."""

    calls: list[int] = field(default_factory=list)
    operations: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def late_to_early(self, values: list[int] | list[float]) -> float:
        return fmean(values[-WINDOW:]) / fmean(values[10 : 10 + WINDOW])


async def test_a_session_of_thousands_of_turns(
    tmp_path: Path, figures: Callable[[str], None]
) -> None:
    long = LongSession(tmp_path / "s.jsonl", SEED)
    files, costs, held = FaultyFiles(), Costs(), dict[int, int]()
    session = await long.open(files=files)
    # Soon after an opening, when few commit lines have to be read for each byte that is tried.
    early = [number for number in range(5, TURNS) if number % REOPENINGS < 25]
    crash_turns = set(Random(SEED).sample(early, 2))
    crashes = 0
    for number in range(TURNS):
        operations, written = len(files.operations), files.bytes_written
        started = process_time()
        if 10 <= number < 10 + WINDOW or number >= TURNS - WINDOW:
            with counted() as work:
                await long.turn(session)
            costs.calls.append(work.calls)
        else:
            await long.turn(session)
        costs.seconds.append(process_time() - started)
        costs.operations.append(len(files.operations) - operations)
        costs.written.append(files.bytes_written - written)
        if number in crash_turns:
            crashes += await crash_in_commits(long, tmp_path / "torn.jsonl")
        if (number + 1) % RESUMES == 0 or number + 1 == TURNS:
            held[number + 1] = held_bytes(
                session._conversation.engine, session._conversation.journal
            )
            await check_resume(long, view_bytes(session))
            if (number + 1) % REOPENINGS == 0:
                await session.dispose()
                session = await long.open(files=files)
    total = len(session.messages)
    await session.dispose()
    await check_resume(long, None)

    calls = fmean(costs.calls[-WINDOW:]) / fmean(costs.calls[:WINDOW])
    growth = (held[TURNS] - held[RESUMES]) / max(1, TURNS - RESUMES)
    figures(f"{TURNS} turns, {total} messages, {len(session.get_compactions())} compactions, "
            f"{long.path.stat().st_size / 1e6:.1f} MB, {long.tool_runs} tool runs")  # fmt: skip
    figures(f"late ÷ early per turn: calls {calls:.2f} (≤ 1.5), "
            f"file operations {costs.late_to_early(costs.operations):.2f} (≤ 1.3), "
            f"bytes written {costs.late_to_early(costs.written):.2f} (≤ 1.3), "
            f"CPU time {costs.late_to_early(costs.seconds):.2f} (not held)")  # fmt: skip
    figures(f"held by the session: {held[TURNS] / 1e6:.2f} MB "
            f"(at turn {RESUMES}: {held[RESUMES] / 1e6:.2f}, ≤ {MOST_BYTES_HELD / 1e6}), "
            f"growth {growth:,.0f} bytes a turn (≤ {MOST_GROWTH_A_TURN:,})")  # fmt: skip
    figures(f"crash bytes tried: {crashes}")
    assert calls <= 1.5
    assert costs.late_to_early(costs.operations) <= 1.3
    assert costs.late_to_early(costs.written) <= 1.3
    assert growth <= MOST_GROWTH_A_TURN
    assert held[RESUMES] <= MOST_BYTES_HELD


async def check_resume(long: LongSession, view: bytes | None) -> None:
    """A second opening of the file shows the same view, and every original."""
    again = LongSession(long.path, 0)
    resumed = await again.open(files=FaultyFiles(), read_only=True)
    try:
        assert view is None or view_bytes(resumed) == view
        assert said_in(resumed.messages) == long.said.hexdigest()
    finally:
        await resumed.dispose()


async def crash_in_commits(long: LongSession, copy: Path) -> int:
    """Cut the file off at bytes of the turn's first and last commit; gives at how many."""
    tried = 0
    for start, stop in (long.store.commits[0], long.store.commits[-1]):
        shutil.copyfile(long.path, copy)
        with copy.open("r+b") as file:
            file.truncate(stop)
            whole = counts(copy)
            found: set[tuple[int, int]] = set()
            for byte in sorted({start, *sample(range(start + 1, stop), 25)}, reverse=True):
                file.truncate(byte)
                found.add(counts(copy))
                tried += 1
            assert len(found) == 1
            assert whole not in found
    return tried


def counts(path: Path) -> tuple[int, int]:
    file = open_session_file(path, FaultyFiles(), read_only=True)
    try:
        loaded = file.load_tail(None)
        return loaded.message_count, len(loaded.records)
    finally:
        file.release()
