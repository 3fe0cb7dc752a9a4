"""Whatever the engine decides over a legal history, its view stays legal and lossless."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.core.estimate import text_bytes, text_tokens
from palimpsest.core.outline import Outline
from palimpsest.core.planning import Cut, plan_cut, plan_split
from palimpsest.core.pruning import PruningSettings, plan_pruning, plan_relief, plan_trim
from palimpsest.core.record_codec import dump_record, load_records
from palimpsest.core.records import Checkpoint, Clearing, Record, Restore, Trim, fold_records
from palimpsest.core.trimming import trim_to
from palimpsest.core.view import View
from palimpsest.formats.projection import project
from palimpsest.formats.pydantic_ai import outline, tool_return_text
from tests.core.builders import uuid
from tests.formats.messages import histories

SMALL = PruningSettings(protect_tokens=1_500, minimum_tokens=500)
OPERATIONS = st.lists(
    st.sampled_from(
        ["turn", "turn", "prune", "relieve", "trim", "compact", "emergency", "split", "undo", "all"]
    ),
    max_size=14,
)


class Engine:
    """Grows a history turn by turn and records what is decided, as a session would."""

    def __init__(self, history: list[ModelMessage]) -> None:
        self.future = list(history)
        self.history: list[ModelMessage] = []
        self.outline = Outline()
        self.records: list[Record] = []
        self.view = View(self.outline, fold_records([]))

    def perform(self, operation: str) -> None:
        match operation:
            case "turn":
                self._grow()
            case "prune":
                self._clear(plan_pruning(self.view, SMALL))
            case "relieve":
                self._clear(plan_relief(self.view, SMALL))
            case "trim":
                self._trim()
            case "compact":
                self._compact(plan_cut(self.view, keep_tokens=500))
            case "emergency":
                self._compact(plan_cut(self.view, keep_tokens=0))
            case "split":
                self._compact(plan_split(self.view, keep_tokens=300))
            case "undo" | "all":
                self._restore(outputs=operation == "all")

    def _grow(self) -> None:
        while self.future:
            message = self.future.pop(0)
            self.history.append(message)
            self.outline.append(outline(message))
            upcoming = outline(self.future[0]) if self.future else None
            if upcoming is None or upcoming.starts_turn:
                return

    def _add(self, record: Record) -> None:
        self.records.append(record)
        loaded = load_records([dump_record(item) for item in self.records], self.outline)
        assert loaded == tuple(self.records)
        self.view = View(self.outline, fold_records(self.records))

    def _next_id(self) -> str:
        return uuid(len(self.records) + 1)

    def _clear(self, plan: object) -> None:
        if plan is not None:
            before = self.view.measure()
            self._add(
                Clearing(
                    id=self._next_id(),
                    timestamp=1,
                    placeholders=tuple((at, SMALL.placeholder) for at in plan.positions),  # type: ignore[attr-defined]
                    tokens_reclaimed=0,
                )
            )
            assert self.view.measure().tokens < before.tokens

    def _trim(self) -> None:
        plan = plan_trim(self.view, excess_tokens=1_000, excess_bytes=0)
        if plan is None:
            return
        part = self.history[plan.position.message].parts[plan.position.part]
        assert isinstance(part, ToolReturnPart)
        trimmed = trim_to(tool_return_text(part), plan.shown_tokens)
        self._add(
            Trim(
                id=self._next_id(),
                timestamp=1,
                position=plan.position,
                head_characters=trimmed.head_characters,
                tail_characters=trimmed.tail_characters,
                shown_tokens=text_tokens(trimmed.text),
                shown_bytes=text_bytes(trimmed.text),
            )
        )

    def _compact(self, plan: object) -> None:
        if isinstance(plan, Cut):
            active = self.view.state.checkpoint
            self._add(
                Checkpoint(
                    id=self._next_id(),
                    base=None if active is None else active.id,
                    first_kept_message_index=plan.first_kept_message_index,
                    history_message_count=len(self.history),
                    summary="what came before",
                    timestamp=1,
                    provider="extractive",
                    model="",
                    split=plan.split,
                )
            )

    def _restore(self, *, outputs: bool) -> None:
        checkpoints = [record.id for record in self.records if record.kind == "checkpoint"]
        active = checkpoints[-2] if len(checkpoints) > 1 else None
        self._add(Restore(id=self._next_id(), timestamp=1, active=active, outputs_shown=outputs))


def sent(engine: Engine) -> list[ModelMessage]:
    return project(engine.history, engine.view.rows())


def assert_pairs(messages: Sequence[ModelMessage]) -> None:
    """Every call is answered once, in the next message; no result stands without its call."""
    expected: set[str] = set()
    for message in messages:
        answered = {part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)}
        assert answered == expected
        expected = {part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)}
    assert not expected


def prompts(messages: Sequence[ModelMessage]) -> list[object]:
    return [
        part.content
        for message in messages
        if isinstance(message, ModelRequest) and outline(message).starts_turn
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]


@given(history=histories(), operations=OPERATIONS)
@settings(max_examples=200)
def test_every_view_is_legal_lossless_and_weighs_what_it_says(
    history: list[ModelMessage], operations: list[str]
) -> None:
    originals = copy.deepcopy(history)
    engine = Engine(history)
    engine.perform("turn")
    for operation in operations:
        extended = sent(engine)
        count = len(engine.records)
        engine.perform(operation)
        messages = sent(engine)
        assert_pairs(messages)
        whole = prompts(engine.history)
        shown = prompts([m for m in messages if "<summary>" not in str(m.parts[0])])
        assert shown == whole[len(whole) - len(shown) :]
        newest = [m for m in engine.history if outline(m).starts_turn][-1]
        assert newest in messages or not shown
        if len(engine.records) == count:
            assert messages[: len(extended)] == extended
        measured = Outline([outline(message) for message in messages])
        assert measured.measure_between(0, len(measured)) == engine.view.measure()
    assert engine.history == originals[: len(engine.history)]
    again = View(engine.outline, fold_records(engine.records))
    dumped = ModelMessagesTypeAdapter.dump_json(sent(engine))
    assert ModelMessagesTypeAdapter.dump_json(project(engine.history, again.rows())) == dumped


@given(history=histories())
def test_pruning_and_planning_are_idempotent(history: list[ModelMessage]) -> None:
    engine = Engine(history)
    while engine.future:
        engine.perform("turn")
    for operation in ("prune", "relieve"):
        engine.perform(operation)
        count = len(engine.records)
        engine.perform(operation)
        assert len(engine.records) == count
    first = plan_cut(engine.view, keep_tokens=500)
    assert plan_cut(engine.view, keep_tokens=500) == first
    engine.perform("compact")
    assert not isinstance(plan_cut(engine.view, keep_tokens=500), Cut) or first.kind == "no_cut"


@given(history=histories(), places=st.lists(st.integers(0, 60), max_size=5))
def test_missing_results_are_repaired_and_orphans_left_out(
    history: list[ModelMessage], places: list[int]
) -> None:
    damaged: list[ModelMessage] = []
    for index, message in enumerate(history):
        answers = any(isinstance(part, ToolReturnPart) for part in message.parts)
        if index in places and (answers or isinstance(message, ModelResponse)):
            continue
        damaged.append(message)
    engine = Engine(damaged)
    engine.perform("turn")
    while engine.future:
        engine.perform("turn")
    messages = sent(engine)
    if not isinstance(messages[-1], ModelResponse):
        calls = {p.tool_call_id for m in messages for p in m.parts if isinstance(p, ToolCallPart)}
        done = {p.tool_call_id for m in messages for p in m.parts if isinstance(p, ToolReturnPart)}
        assert calls == done
