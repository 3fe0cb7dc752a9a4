from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from palimpsest.core.outline import Content, Outline, Position
from palimpsest.core.pruning import (
    ClearingPlan,
    PruningSettings,
    TrimPlan,
    plan_pruning,
    plan_relief,
    plan_trim,
)
from palimpsest.core.records import Clearing, Restore, Trim, ViewState, fold_records
from palimpsest.core.view import View
from tests.core.builders import (
    checkpoint,
    outline_of,
    output,
    prompt,
    reply,
    results,
    step,
    uuid,
)
from tests.tables import shared_cases


def history_of(case: dict[str, Any]) -> tuple[Outline, dict[Position, list[int]]]:
    """A history with the outputs of a row; a new step and a prompt make all of them old."""
    messages = [prompt(1) for _ in range(case["user_turns"])]
    places: dict[Position, list[int]] = {}
    for number, sizes in enumerate(case["messages"]):
        calls = [f"c{number}-{part}" for part in range(len(sizes))]
        messages.append(reply(0, calls))
        for part in range(len(sizes)):
            places[Position(len(messages), part)] = [number, part]
        messages.append(
            results(*(output(call, size) for call, size in zip(calls, sizes, strict=True)))
        )
    return outline_of([*messages, reply(1)]), places


@pytest.mark.parametrize("case", shared_cases("pruning"))
def test_pruning_table(case: dict[str, Any]) -> None:
    outline, places = history_of(case)
    already = [
        position
        for position in places
        if outline.part(position).content == Content(characters=32, tokens=8, bytes=32)
    ]
    state = cleared(*already) if already else ViewState()
    plan = plan_pruning(View(outline, state), PruningSettings())
    pruned = [] if plan is None else [places[position] for position in plan.positions]
    assert pruned == case["pruned"]
    assert (0 if plan is None else plan.tokens_reclaimed) == case["reclaimed"]


SMALL = PruningSettings(protect_tokens=100, minimum_tokens=50)


def history(*sizes: int, tool: str = "read", error: bool = False) -> Outline:
    """Two turns; the first holds one step per size, the second is just begun."""
    messages = [prompt(1)]
    for index, size in enumerate(sizes):
        messages.append(reply(0, [f"c{index}"]))
        messages.append(results(output(f"c{index}", size, tool=tool, error=error)))
    return outline_of([*messages, reply(1), prompt(1)])


def cleared(*positions: Position) -> ViewState:
    placeholders = tuple((position, "[cleared]") for position in positions)
    record = Clearing(id=uuid(9), timestamp=1, placeholders=placeholders, tokens_reclaimed=0)
    return fold_records([record])


def test_a_session_clears_what_stands_behind_the_protection_window() -> None:
    outline = history(60, 60, 60, 40)
    plan = plan_pruning(View(outline, ViewState()), SMALL)
    assert plan == ClearingPlan(
        positions=(Position(2, 0), Position(4, 0)), tokens_reclaimed=2 * (60 - 8)
    )


def test_planning_again_after_the_plan_is_recorded_finds_nothing() -> None:
    outline = history(60, 60, 60, 40)
    assert plan_pruning(View(outline, cleared(Position(2, 0), Position(4, 0))), SMALL) is None


def test_the_newest_step_stays_whole() -> None:
    outline = outline_of([prompt(1), *step("a", 500), prompt(1), *step("b", 500)])
    plan = plan_relief(View(outline, ViewState()), SMALL)
    assert plan is not None
    assert plan.positions == (Position(2, 0),)


def test_relief_reaches_into_the_newest_turn_and_asks_for_no_minimum() -> None:
    outline = outline_of([prompt(1), *step("a", 30), *step("b", 80), *step("c", 30)])
    assert plan_pruning(View(outline, ViewState()), SMALL) is None
    plan = plan_relief(View(outline, ViewState()), SMALL)
    assert plan == ClearingPlan(
        positions=(Position(2, 0), Position(4, 0)), tokens_reclaimed=30 - 8 + 80 - 8
    )


@pytest.mark.parametrize(
    "settings",
    [
        PruningSettings(protect_tokens=100, minimum_tokens=50, never=frozenset({"read"})),
        PruningSettings(protect_tokens=100, minimum_tokens=50, keep_errors=True),
        PruningSettings(protect_tokens=100, minimum_tokens=50, min_user_turns=3),
        PruningSettings(protect_tokens=100, minimum_tokens=180),
    ],
)
def test_what_settings_protect_stays(settings: PruningSettings) -> None:
    outline = history(60, 60, 60, 40, error=True)
    assert plan_pruning(View(outline, ViewState()), settings) is None


def test_outputs_shown_again_by_a_restore_stay() -> None:
    outline = history(60, 60, 60, 40)
    clearing = Clearing(
        id=uuid(1),
        timestamp=1,
        placeholders=((Position(2, 0), "x"), (Position(4, 0), "x")),
        tokens_reclaimed=0,
    )
    restore = Restore(id=uuid(2), timestamp=2, active=None, outputs_shown=True)
    state = fold_records([clearing, restore])
    assert plan_pruning(View(outline, state), SMALL) is None
    assert plan_pruning(View(outline, fold_records([clearing])), SMALL) is None


def test_outputs_behind_a_checkpoint_are_not_looked_at() -> None:
    messages = [prompt(1), *step("a", 500), prompt(1), *step("b", 90), prompt(1), *step("c", 90)]
    outline = outline_of([*messages, prompt(1)])
    view = View(outline, ViewState(checkpoint=checkpoint(3)))
    plan = plan_pruning(view, SMALL)
    assert plan is not None
    assert plan.positions == (Position(5, 0),)


def test_window_defaults() -> None:
    assert PruningSettings.for_window(16_000).protect_tokens == 3_200
    assert PruningSettings.for_window(16_000).minimum_tokens == 1_600
    assert PruningSettings.for_window(1_000_000) == PruningSettings()


def test_the_largest_shown_output_is_trimmed_by_the_excess() -> None:
    outline = outline_of([prompt(1), *step("a", 5_000), *step("b", 9_000)])
    view = View(outline, ViewState())
    plan = plan_trim(view, excess_tokens=4_000, excess_bytes=0)
    assert plan == TrimPlan(position=Position(4, 0), shown_tokens=5_000)
    by_bytes = plan_trim(view, excess_tokens=0, excess_bytes=16_000)
    assert by_bytes == plan
    huge = plan_trim(view, excess_tokens=90_000, excess_bytes=0)
    assert huge == TrimPlan(position=Position(4, 0), shown_tokens=256)


def test_a_trimmed_output_is_not_trimmed_again() -> None:
    outline = outline_of([prompt(1), *step("a", 200), *step("b", 9_000)])
    trim = Trim(
        id=uuid(1),
        timestamp=1,
        position=Position(4, 0),
        head_characters=1,
        tail_characters=1,
        shown_tokens=256,
        shown_bytes=1024,
    )
    view = View(outline, fold_records([trim]))
    assert plan_trim(view, excess_tokens=50, excess_bytes=0) is None
    assert view.measure().tokens == 1 + 200 + 256


def test_without_outputs_there_is_nothing_to_trim() -> None:
    view = View(outline_of([prompt(1), reply(1)]), ViewState(checkpoint=None))
    assert plan_trim(view, excess_tokens=5, excess_bytes=0) is None
    assert plan_relief(view, SMALL) is None


def test_a_trim_spares_what_may_not_be_cleared() -> None:
    lasting = replace(output("a", 9_000), clearable=False, lasting=True)
    outline = outline_of([prompt(1), reply(0, ["a"]), results(lasting), *step("b", 2_000)])
    plan = plan_trim(View(outline, ViewState()), excess_tokens=500, excess_bytes=0)
    assert plan == TrimPlan(position=Position(4, 0), shown_tokens=1_500)


def test_a_late_result_does_not_make_an_old_step_the_newest() -> None:
    outline = outline_of(
        [
            prompt(1),
            reply(0, ["a", "late"]),
            results(output("a", 500)),
            prompt(1),
            reply(1),
            results(output("late", 5)),
        ]
    )
    plan = plan_relief(View(outline, ViewState()), SMALL)
    assert plan is not None
    assert plan.positions == (Position(2, 0),)
