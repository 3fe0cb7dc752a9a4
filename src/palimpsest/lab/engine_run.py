"""This product's engine, played over a recording: pruning, policy and extractive summaries."""

from __future__ import annotations

from typing import assert_never

from palimpsest.core.budget import Measure, default_max_output
from palimpsest.core.estimate import text_bytes, text_tokens
from palimpsest.core.extractive import extractive_summary
from palimpsest.core.ledger import LedgerBuilder
from palimpsest.core.outline import MessageOutline, Outline, Position
from palimpsest.core.planning import Cut, NoCut, plan_cut, plan_split
from palimpsest.core.policy import (
    Generated,
    NothingToRelieve,
    Outcome,
    Plan,
    PolicySettings,
    Preflight,
    Reading,
    Refuse,
    Relieve,
    Relieved,
    Save,
    Saved,
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
from palimpsest.core.records import Checkpoint, Clearing, Record, Trim, ViewState
from palimpsest.core.summary import summary_output_cap
from palimpsest.core.trimming import trim_to
from palimpsest.core.view import View
from palimpsest.formats.pydantic_ai import output_text
from palimpsest.lab.policies import Change, Setting, SimulatedCompaction

MOST_TRIMS = 8
"""Outputs that one relief trims at most."""


class EngineRun:
    """The engine over one recording: pruning alone, or with automatic compaction.

    The recording answers for the model, so a request that the engine would refuse is counted by
    the walk and the next one is looked at.
    """

    def __init__(self, setting: Setting, *, compacts: bool) -> None:
        self._setting = setting
        self._compacts = compacts
        self._pruning = PruningSettings.for_window(setting.budget.window)
        self._outline = Outline()
        self._view = View(self._outline, ViewState())
        self._records = 0
        self._counter = 0
        self._ledger = LedgerBuilder()
        self._ledger_count = 0
        self._change = Change()
        self._request = 0
        self._candidate: Checkpoint | None = None

    def add(self, message: MessageOutline) -> None:
        """Take in the next message; a prompt prunes the history before it."""
        if message.starts_turn:
            self._counter = 0
            self._clear(plan_pruning(self._view, self._pruning))
        self._outline.append(message)

    def before_request(self, request: int) -> Change:
        """Run the preflight."""
        self._request = request
        if self._compacts:
            self._preflight()
        change, self._change = self._change, Change()
        return change

    def measure(self) -> Measure:
        """Give the size of the view."""
        return self._view.measure()

    def shows(self, position: Position) -> bool:
        """Whether the part stands in the view, whole."""
        return self._view.shows(position)

    def summary(self) -> str:
        """Give the active summary, or an empty text."""
        checkpoint = self._view.state.checkpoint
        return "" if checkpoint is None else checkpoint.summary

    def _preflight(self) -> None:
        state = begin(
            budget=self._setting.budget,
            settings=PolicySettings(),
            counter=self._counter,
            reading=self._reading(),
        )
        while not isinstance(state.effect, Send | Refuse | Stop):
            state = step(state, self._perform(state))
        self._counter = state.counter

    def _perform(self, state: Preflight) -> Outcome:
        match state.effect:
            case Plan():
                return self._plan(state.effect)
            case Relieve():
                return self._relieve()
            case Summarise(cut=cut):
                return self._summarise(cut)
            case Save():
                return self._save()
            case Send() | Refuse() | Stop():
                raise AssertionError(state.effect)
            case _:
                assert_never(state.effect)

    def _reading(self) -> Reading:
        size = self._setting.request(self._view.measure())
        return Reading(pressure=size, comparable=size)

    def _plan(self, plan: Plan) -> Cut | NoCut:
        calibration = self._setting.fit.calibration
        retention = self._setting.budget.retention
        match plan.keep:
            case "retention":
                return plan_cut(self._view, keep_tokens=retention, calibration=calibration)
            case "emergency":
                return plan_cut(self._view, keep_tokens=0, calibration=calibration)
            case "split":
                return plan_split(self._view, keep_tokens=retention, calibration=calibration)
            case "newest_step":
                return plan_split(self._view, keep_tokens=0, calibration=calibration)

    def _summarise(self, cut: Cut) -> Generated:
        while self._ledger_count < cut.first_kept_message_index:
            self._ledger.add(
                self._ledger_count, self._setting.measured.excerpts[self._ledger_count]
            )
            self._ledger_count += 1
        window = self._setting.budget.window
        cap = summary_output_cap(window=window, max_output=default_max_output(window))
        active = self._view.state.checkpoint
        summary = extractive_summary(
            self._ledger.snapshot(),
            max_tokens=cap,
            previous=None if active is None else active.summary,
        )
        self._candidate = Checkpoint(
            id=self._next_id(),
            base=None if active is None else active.id,
            first_kept_message_index=cut.first_kept_message_index,
            history_message_count=len(self._outline),
            summary=summary,
            timestamp=self._records,
            provider="extractive",
            model="",
            split=cut.split,
        )
        view = View(self._outline, self._after(self._candidate))
        return Generated(candidate=self._setting.request(view.measure()))

    def _save(self) -> Saved:
        checkpoint = self._candidate
        assert checkpoint is not None
        before = self._setting.request_tokens(self._view.measure())
        self._record(checkpoint)
        self._change.keep_only(Measure(tokens=0, bytes=0))
        self._change.compactions.append(
            SimulatedCompaction(
                request=self._request,
                first_kept_message_index=checkpoint.first_kept_message_index,
                history_message_count=checkpoint.history_message_count,
                tokens_before=before,
                tokens_after=self._setting.request_tokens(self._view.measure()),
                summary=checkpoint.summary,
            )
        )
        return Saved(reading=self._reading())

    def _relieve(self) -> Relieved | NothingToRelieve:
        before = self._records
        self._clear(plan_relief(self._view, self._pruning))
        for _ in range(MOST_TRIMS):
            if self._setting.budget.fits(self._reading().pressure) or not self._trim():
                break
        if self._records == before:
            return NothingToRelieve()
        return Relieved(reading=self._reading())

    def _clear(self, plan: ClearingPlan | None) -> None:
        if plan is None:
            return
        self._note_pruning(plan.positions[0])
        text = self._pruning.placeholder
        self._record(
            Clearing(
                id=self._next_id(),
                timestamp=self._records,
                placeholders=tuple((position, text) for position in plan.positions),
                tokens_reclaimed=plan.tokens_reclaimed,
            )
        )

    def _trim(self) -> bool:
        budget, size = self._setting.budget, self._reading().pressure
        excess = size.tokens - budget.largest_fitting
        plan = plan_trim(
            self._view,
            excess_tokens=max(0, int(excess / self._setting.fit.calibration.ratio) + 1),
            excess_bytes=max(0, size.bytes - budget.byte_limit),
        )
        if plan is None:
            return False
        message = self._setting.measured.messages[plan.position.message]
        trimmed = trim_to(output_text(message, plan.position.part), plan.shown_tokens)
        self._note_pruning(plan.position)
        self._record(
            Trim(
                id=self._next_id(),
                timestamp=self._records,
                position=plan.position,
                head_characters=trimmed.head_characters,
                tail_characters=trimmed.tail_characters,
                shown_tokens=text_tokens(trimmed.text),
                shown_bytes=text_bytes(trimmed.text),
            )
        )
        return True

    def _note_pruning(self, first: Position) -> None:
        self._change.prunings += 1
        self._change.keep_only(self._view.measure_before(first.message))

    def _record(self, record: Record) -> None:
        self._records += 1
        self._view = View(self._outline, self._after(record))

    def _after(self, record: Record) -> ViewState:
        return self._view.state.after(record, {})

    def _next_id(self) -> str:
        return f"00000000-0000-4000-8000-{self._records:012d}"
