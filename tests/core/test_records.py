from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from palimpsest.core.errors import InvalidRecordError
from palimpsest.core.outline import Outline, Position
from palimpsest.core.record_checks import check_record
from palimpsest.core.record_codec import (
    dump_record,
    load_checkpoints,
    load_records,
)
from palimpsest.core.records import (
    Checkpoint,
    Clearing,
    Record,
    Restore,
    SummaryUsage,
    Trim,
    ViewState,
    active_checkpoint,
    fold_records,
)
from tests.core.builders import checkpoint, outline_of, prompt, reply, step, uuid
from tests.tables import own_cases, shared_cases, shared_table


def outline_of_roles(roles: list[str]) -> Outline:
    return outline_of([prompt(1) if role == "user" else reply(1) for role in roles])


@pytest.mark.parametrize("case", shared_cases("checkpoints"))
def test_checkpoint_table(case: dict[str, Any]) -> None:
    outline = outline_of_roles(shared_table("checkpoints")["roles"])
    if case["valid"]:
        assert len(load_checkpoints(case["checkpoints"], outline)) == len(case["checkpoints"])
    else:
        with pytest.raises(InvalidRecordError):
            load_checkpoints(case["checkpoints"], outline)


@pytest.mark.parametrize("case", own_cases("restores"))
def test_restores_and_bases(case: dict[str, Any]) -> None:
    outline = outline_of_roles(["user", "assistant"] * 4)
    records = [_record(number + 1, row) for number, row in enumerate(case["records"])]
    dumped = [dump_record(record) for record in records]
    if "invalid" in case:
        with pytest.raises(InvalidRecordError, match=case["invalid"]):
            load_records(dumped, outline)
        return
    state = fold_records(load_records(dumped, outline))
    assert (0 if state.checkpoint is None else state.checkpoint.first_kept_message_index) == case[
        "cut"
    ]
    assert state.held is case["held"]


def _record(number: int, row: str) -> Record:
    words = row.split()
    names = dict(word.split("=") for word in words[1:])
    if words[0] == "restore":
        active = None if names["to"] == "none" else uuid(int(names["to"]))
        return Restore(id=uuid(number), timestamp=number, active=active, outputs_shown=False)
    base = None if names["base"] == "none" else uuid(int(names["base"]))
    return checkpoint(int(names["cut"]), number=number, base=base, count=int(names["of"]))


WORKED = outline_of([prompt(1), *step("a", 50), prompt(1), *step("b", 50), *step("c", 50)])
RECORDS: list[Record] = [
    Clearing(
        id=uuid(1),
        timestamp=1,
        placeholders=((Position(2, 0), "gone"),),
        tokens_reclaimed=42,
    ),
    Trim(
        id=uuid(2),
        timestamp=2,
        position=Position(5, 0),
        head_characters=3,
        tail_characters=4,
        shown_tokens=20,
        shown_bytes=80,
    ),
    Checkpoint(
        id=uuid(3),
        base=None,
        first_kept_message_index=3,
        history_message_count=6,
        summary="what was",
        timestamp=3,
        provider="extractive",
        model="",
        usage=SummaryUsage(input=1, output=2, cache_read=3, cache_write=4),
        covers="a" * 64,
    ),
    checkpoint(6, number=4, base=uuid(3), count=8, split=True),
    Restore(id=uuid(5), timestamp=5, active=uuid(3), outputs_shown=True),
    Restore(id=uuid(6), timestamp=6, active=None, outputs_shown=False),
]


def test_records_round_trip() -> None:
    assert load_records([dump_record(record) for record in RECORDS], WORKED) == tuple(RECORDS)


def test_the_newest_record_decides() -> None:
    states = [fold_records(RECORDS[: count + 1]) for count in range(len(RECORDS))]
    assert [state.held for state in states] == [False, False, False, False, True, True]
    assert [state.checkpoint and state.checkpoint.id for state in states[2:]] == [
        uuid(3),
        uuid(4),
        uuid(3),
        None,
    ]
    assert dict(states[0].cleared) == {Position(2, 0): "gone"}
    assert list(states[1].trimmed) == [Position(5, 0)]
    assert states[4].cleared == {}
    assert states[4].trimmed == {}
    assert states[4].shown_again == {Position(2, 0), Position(5, 0)}
    assert fold_records([]) == ViewState()


def _set(**changes: Any) -> Callable[[list[Any]], None]:
    def change(records: list[Any]) -> None:
        index = changes.pop("at")
        for key, value in changes.items():
            if value is ...:
                del records[index][key]
            else:
                records[index][key] = value

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_set(at=0, id="x"), "record 1: id is no UUID"),
        (_set(at=0, kind="cleaning"), "kind is unknown"),
        (_set(at=0, kind=3), "kind is no text"),
        (_set(at=0, kind=...), "kind is missing"),
        (_set(at=0, placeholders=[]), "placeholders are empty"),
        (_set(at=0, placeholders={}), "placeholders is no list"),
        (_set(at=0, placeholders=[[2, 0]]), "triples"),
        (_set(at=0, placeholders=[[2, 0, 5]]), "triples"),
        (_set(at=0, placeholders=[[1, 0, "x"]]), "is no clearable tool result"),
        (_set(at=0, placeholders=[[99, 0, "x"]]), "is no clearable tool result"),
        (_set(at=0, placeholders=[[2, 99, "x"]]), "is no clearable tool result"),
        (_set(at=0, tokens_reclaimed=-1), "zero or more"),
        (_set(at=0, placeholders=[[7, 0, "x"], [2, 0, "y"]]), "not in ascending order"),
        (_set(at=0, placeholders=[[2, 0, "x"], [2, 0, "y"]]), "not in ascending order"),
        (_set(at=1, head_characters=196), "leave nothing out"),
        (_set(at=1, head_characters=100), "shown_tokens is less"),
        (_set(at=1, shown_bytes=6), "shown_bytes is less"),
        (_set(at=1, id=uuid(1)), "stands twice"),
        (_set(at=5, id=uuid(3).upper()), "stands twice"),
        (_set(at=1, position=[5]), "is no \\[message, part\\] pair"),
        (_set(at=1, position=[5, True]), "whole number"),
        (_set(at=1, position=[0, 0]), "is no clearable tool result"),
        (_set(at=2, covers="zz"), "SHA-256"),
        (_set(at=2, covers=7), "SHA-256"),
        (_set(at=2, base=uuid(8)), "base names no earlier"),
        (_set(at=2, base=7), "base is no UUID"),
        (_set(at=2, usage=3), "usage: the record is no object"),
        (_set(at=2, split=1), "true or false"),
        (_set(at=2, summary=7), "summary is no text"),
        (_set(at=3, first_kept_message_index=3), "must be above 3"),
        (_set(at=3, split=False), "does not start a turn"),
        (_set(at=2, split=True), "does not start a step"),
        (_set(at=3, history_message_count=9), "more than the history"),
        (_set(at=3, id=uuid(3)), "stands twice"),
        (_set(at=4, active=uuid(77)), "names no checkpoint"),
        (_set(at=4, outputs_shown="yes"), "true or false"),
    ],
)
def test_invalid_records_are_refused(change: Callable[[list[Any]], None], says: str) -> None:
    records: list[Any] = [dump_record(record) for record in RECORDS]
    change(records)
    with pytest.raises(InvalidRecordError, match=says):
        load_records(records, WORKED)


def test_lists_are_lists() -> None:
    with pytest.raises(InvalidRecordError):
        load_records(None, WORKED)
    with pytest.raises(InvalidRecordError):
        load_records(["x"], WORKED)


def test_the_history_count_never_decreases() -> None:
    first = checkpoint(3, number=1, count=8)
    with pytest.raises(InvalidRecordError, match="less than one before"):
        check_record(checkpoint(3, number=2, count=7), [first], WORKED)


def test_usage_counters_default_to_zero() -> None:
    dumped = dump_record(RECORDS[2])
    dumped["usage"] = {}
    del dumped["base"], dumped["split"], dumped["covers"]
    (loaded,) = load_checkpoints([dumped], WORKED)
    assert loaded.usage == SummaryUsage()
    assert loaded.base is None


def test_outputs_shown_by_two_restores_stay_exempt_and_a_clearing_does_not_end_the_wait() -> None:
    def clearing(number: int, message: int) -> Clearing:
        placeholders = ((Position(message, 0), "gone"),)
        return Clearing(
            id=uuid(number), timestamp=number, placeholders=placeholders, tokens_reclaimed=0
        )

    def restore(number: int) -> Restore:
        return Restore(id=uuid(number), timestamp=number, active=None, outputs_shown=True)

    state = fold_records([clearing(1, 2), restore(2), clearing(3, 5), restore(4), clearing(5, 7)])
    assert state.shown_again == {Position(2, 0), Position(5, 0)}
    assert state.held


@pytest.mark.parametrize("seed", range(20))
def test_the_fold_does_not_depend_on_how_it_is_made(seed: int) -> None:
    chance = Random(seed)
    records: list[Record] = []
    state = ViewState()
    checkpoints: dict[str, Checkpoint] = {}
    for number in range(1, 30):
        record: Record
        at = Position(chance.randrange(9), 0)
        match chance.randrange(4):
            case 0:
                record = checkpoint(number, number=number)
                checkpoints[record.id] = record
            case 1:
                record = Clearing(
                    id=uuid(number), timestamp=1, placeholders=((at, "-"),), tokens_reclaimed=1
                )
            case 2:
                record = Trim(
                    id=uuid(number),
                    timestamp=1,
                    position=at,
                    head_characters=1,
                    tail_characters=1,
                    shown_tokens=1,
                    shown_bytes=2,
                )
            case _:
                active = chance.choice([None, *checkpoints])
                shown = chance.random() < 0.5
                record = Restore(id=uuid(number), timestamp=1, active=active, outputs_shown=shown)
        before = state
        held = (dict(before.cleared), dict(before.trimmed), before.shown_again)
        records.append(record)
        state = state.after(record, checkpoints)
        assert (before.cleared, before.trimmed, before.shown_again) == held
        assert fold_records(records) == state
        assert active_checkpoint(records) == state.checkpoint
