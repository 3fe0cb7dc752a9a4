"""Hundreds of turns through the policy, numbers only: whatever happens, what is sent is sound."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import assert_never

import pytest

from palimpsest.core.budget import Budget
from palimpsest.core.outline import Outline
from palimpsest.core.planning import Cut, NoCut, plan_cut, plan_split
from palimpsest.core.policy import (
    Cancelled,
    Effect,
    Generated,
    GenerationFailed,
    Keep,
    NothingToRelieve,
    Outcome,
    Plan,
    PolicySettings,
    Reading,
    Refuse,
    Relieve,
    Relieved,
    Save,
    Saved,
    SaveFailed,
    Send,
    Stop,
    Summarise,
    begin,
    step,
)
from palimpsest.core.pruning import (
    ClearingPlan,
    PruningSettings,
    plan_pruning,
    plan_relief,
    plan_trim,
)
from palimpsest.core.record_codec import dump_record, load_records
from palimpsest.core.records import Checkpoint, Clearing, Record, Restore, Trim, fold_records
from palimpsest.core.view import MessageRow, Row, View
from tests.core.builders import output, prompt, reply, results, uuid
from tests.scale import WHOLE

TURNS = 300
MOST_EFFECTS = 16


class Session:
    """A shell around the policy that makes up its messages and its accidents from one seed."""

    def __init__(self, seed: int, window: int, *, split: bool) -> None:
        self.chance = Random(seed)
        self.budget = Budget(window=window, reserved_output=window // 8)
        self.pruning = PruningSettings.for_window(window)
        self.settings = PolicySettings(split_newest_turn=split)
        self.outline = Outline()
        self.records: list[Record] = []
        self.view = View(self.outline, fold_records([]))
        self.candidate: Checkpoint | None = None
        self.sent: list[Row] = []
        self.records_when_sent = 0
        self.calls = 0
        self.seen: Counter[str] = Counter()

    def turn(self) -> None:
        self._clear(plan_pruning(self.view, self.pruning))
        self.outline.append(prompt(self.chance.randint(10, 400), lasting=self.calls == 0))
        counter = 0
        for _ in range(self.chance.randint(1, 12)):
            sent, counter = self._request(counter)
            if not sent:
                return
            self._step()
        if self._request(counter)[0]:
            self.outline.append(reply(self.chance.randint(10, 800)))

    def undo(self) -> None:
        checkpoints = [record.id for record in self.records if record.kind == "checkpoint"]
        active = self.chance.choice([None, *checkpoints])
        shown = self.chance.random() < 0.5
        self._add(Restore(id=self._id(), timestamp=1, active=active, outputs_shown=shown))

    def _step(self) -> None:
        calls = [f"c{self.calls + n}" for n in range(self.chance.randint(1, 4))]
        self.calls += len(calls)
        self.outline.append(reply(self.chance.randint(0, 300), calls, call_tokens=30))
        largest = self.budget.window // (1 if self.chance.random() < 0.01 else 12)
        made = (output(call, self.chance.randint(1, largest)) for call in calls)
        self.outline.append(results(*made))

    def _request(self, counter: int) -> tuple[bool, int]:
        """Run one preflight; give whether the request was sent, and the counter."""
        state = begin(
            budget=self.budget,
            settings=self.settings,
            counter=counter,
            reading=self._reading(),
            held=self.view.state.held,
        )
        for _ in range(MOST_EFFECTS):
            match state.effect:
                case Send(why=why):
                    self.seen[why] += 1
                    self._check_sent()
                    return True, state.counter
                case Refuse():
                    self.seen["refused"] += 1
                    assert not self.budget.fits(self.view.measure())
                    return False, state.counter
                case Stop(why=why):
                    self.seen[why] += 1
                    return False, state.counter
                case effect:
                    state = step(state, self._perform(effect))
                    assert state.generations <= state.generation_limit
        raise AssertionError("a preflight does not end")

    def _perform(self, effect: Effect) -> Outcome:
        match effect:
            case Plan(keep=keep):
                return self._plan(keep)
            case Relieve():
                return self._relieve()
            case Summarise(cut=cut):
                return self._summarise(cut)
            case Save():
                if self.chance.random() < 0.02:
                    return SaveFailed()
                assert self.candidate is not None
                self._add(self.candidate)
                return Saved(reading=self._reading(), cancelled=self.chance.random() < 0.02)
            case Send() | Refuse() | Stop():
                raise AssertionError(f"{effect.kind} is not performed")
            case _:
                assert_never(effect)

    def _plan(self, keep: Keep) -> Cut | NoCut:
        match keep:
            case "retention":
                return plan_cut(self.view, keep_tokens=self.budget.retention)
            case "emergency":
                return plan_cut(self.view, keep_tokens=0)
            case "split":
                return plan_split(self.view, keep_tokens=self.budget.retention)
            case "newest_step":
                return plan_split(self.view, keep_tokens=0)
            case _:
                assert_never(keep)

    def _relieve(self) -> Outcome:
        before = len(self.records)
        self._clear(plan_relief(self.view, self.pruning))
        excess = self.view.measure().tokens - self.budget.input_limit
        trim = plan_trim(self.view, excess_tokens=excess, excess_bytes=0) if excess > 0 else None
        if trim is not None:
            self._add(
                Trim(
                    id=self._id(),
                    timestamp=1,
                    position=trim.position,
                    head_characters=2 * trim.shown_tokens,
                    tail_characters=2 * trim.shown_tokens - 100,
                    shown_tokens=trim.shown_tokens,
                    shown_bytes=4 * trim.shown_tokens,
                )
            )
        if len(self.records) == before:
            return NothingToRelieve()
        return Relieved(reading=self._reading())

    def _summarise(self, cut: Cut) -> Outcome:
        accident = self.chance.random()
        if accident < 0.1:
            return GenerationFailed(cause="the summariser gave up.")
        if accident < 0.12:
            return Cancelled()
        active = self.view.state.checkpoint
        self.candidate = Checkpoint(
            id=self._id(),
            base=None if active is None else active.id,
            first_kept_message_index=cut.first_kept_message_index,
            history_message_count=len(self.outline),
            summary="word " * self.chance.randint(50, self.budget.window // 20),
            timestamp=1,
            provider="extractive",
            model="",
            split=cut.split,
        )
        view = View(self.outline, fold_records([*self.records, self.candidate]))
        return Generated(candidate=view.measure())

    def _clear(self, plan: ClearingPlan | None) -> None:
        if plan is not None:
            self._add(
                Clearing(
                    id=self._id(),
                    timestamp=1,
                    placeholders=tuple((at, self.pruning.placeholder) for at in plan.positions),
                    tokens_reclaimed=plan.tokens_reclaimed,
                )
            )

    def _add(self, record: Record) -> None:
        self.records.append(record)
        self.view = View(self.outline, fold_records(self.records))

    def _id(self) -> str:
        return uuid(len(self.records) + 1)

    def _reading(self) -> Reading:
        size = self.view.measure()
        return Reading(pressure=size, comparable=size)

    def _check_sent(self) -> None:
        assert self.budget.fits(self.view.measure())
        rows = list(self.view.rows())
        if len(self.records) == self.records_when_sent:
            assert rows[: len(self.sent)] == self.sent
        self.sent, self.records_when_sent = rows, len(self.records)
        open_calls: set[str] = set()
        for row in rows:
            if isinstance(row, MessageRow):
                parts = self.outline[row.index].parts
                answered = {part.call_id for part in parts if part.kind == "tool_return"}
                assert answered == open_calls
                open_calls = {part.call_id for part in parts if part.kind == "tool_call"}
        assert not open_calls


CASES = [
    (seed, window, split)
    for seed in (1, 2)
    for window in (8_000, 32_000, 200_000)
    for split in (True, False)
]
SAMPLED = [(1, 8_000, True), (2, 32_000, False), (1, 200_000, True)]


@pytest.mark.parametrize(("seed", "window", "split"), CASES if WHOLE else SAMPLED)
def test_a_long_session_stays_sound(seed: int, window: int, split: bool) -> None:
    session = Session(seed, window, split=split)
    for _ in range(TURNS):
        session.turn()
        if session.chance.random() < 0.05:
            session.undo()
        fresh = View(session.outline, fold_records(session.records))
        assert fresh.measure() == session.view.measure()

    assert session.seen["compacted"] > 0
    dumped = [dump_record(record) for record in session.records]
    assert load_records(dumped, session.outline) == tuple(session.records)
    undone = Restore(id=uuid(999_999), timestamp=1, active=None, outputs_shown=True)
    whole = View(session.outline, fold_records([*session.records, undone]))
    assert list(whole.rows()) == [MessageRow(index=n) for n in range(len(session.outline))]
