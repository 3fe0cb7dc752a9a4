from __future__ import annotations

from typing import Any

import pytest

from palimpsest.core.calibration import Calibration
from palimpsest.core.outline import Outline
from palimpsest.core.planning import Cut, NoCut, plan_cut, plan_split
from palimpsest.core.records import ViewState
from palimpsest.core.view import View
from tests.core.builders import checkpoint, injected, outline_of, output, prompt, reply, results
from tests.tables import own_cases, shared_cases


def view_of(rows: list[dict[str, Any]], previous_cut: int = 0, *, split: bool = False) -> View:
    messages = []
    for row in rows:
        if row.get("step"):
            messages.append(reply(row["size"]))
        else:
            messages.append(prompt(row["size"]) if row["user"] else injected(row["size"]))
    state = ViewState()
    if previous_cut:
        state = ViewState(checkpoint=checkpoint(previous_cut, split=split))
    return View(outline_of(messages), state)


@pytest.mark.parametrize("case", shared_cases("planner"))
def test_planner_table(case: dict[str, Any]) -> None:
    view = view_of(case["rows"], case["previous_cut"])
    planned = plan_cut(view, keep_tokens=case["keep"])
    if case["cut"] is None:
        assert isinstance(planned, NoCut)
    else:
        assert planned == Cut(first_kept_message_index=case["cut"])


@pytest.mark.parametrize("case", own_cases("split"))
def test_split_table(case: dict[str, Any]) -> None:
    rows = [
        {"user": row[0] == "u", "step": row[0] == "s", "size": int(row[1:])}
        for row in case["rows"].split()
    ]
    view = view_of(rows, case.get("previous_cut", 0), split=case.get("previous_split", False))
    plan = plan_split if case["plan"] == "split" else plan_cut
    planned = plan(view, keep_tokens=case["keep"])
    if isinstance(case["cut"], str):
        assert planned == NoCut(reason=case["cut"])  # type: ignore[arg-type]
    else:
        assert planned == Cut(first_kept_message_index=case["cut"], split=case["plan"] == "split")


def test_keep_is_compared_with_calibrated_sizes() -> None:
    view = view_of([{"user": True, "size": 17}, {"user": True, "size": 17}])
    doubled = Calibration(ratio=2.0, observations=1)
    assert plan_cut(view, keep_tokens=68, calibration=doubled) == NoCut(reason="everything_fits")
    assert plan_cut(view, keep_tokens=67, calibration=doubled) == Cut(first_kept_message_index=1)


def test_a_split_is_compared_with_calibrated_sizes_too() -> None:
    rows = [{"user": True, "size": 1}, *({"user": False, "step": True, "size": 50} for _ in "abc")]
    doubled = Calibration(ratio=2.0, observations=1)
    at_200 = plan_split(view_of(rows), keep_tokens=200, calibration=doubled)
    assert at_200 == Cut(first_kept_message_index=2, split=True)
    at_199 = plan_split(view_of(rows), keep_tokens=199, calibration=doubled)
    assert at_199 == Cut(first_kept_message_index=3, split=True)


def test_a_cut_never_parts_a_call_from_a_late_result() -> None:
    torn = outline_of(
        [
            prompt(10),
            reply(10, ["a"]),
            prompt(10),
            results(output("a", 10)),
            prompt(10),
        ]
    )
    assert torn.prompts == [0, 2, 4]
    assert torn.turn_starts == [0, 4]
    assert plan_cut(View(torn, ViewState()), keep_tokens=0) == Cut(first_kept_message_index=4)


def test_reasons_are_sentences() -> None:
    empty = View(Outline(), ViewState())
    for planned in (plan_cut(empty, keep_tokens=0), plan_split(empty, keep_tokens=0)):
        assert isinstance(planned, NoCut)
        assert "fewer than two turns" in str(planned)
    one_step = view_of([{"user": True, "size": 1}, {"user": False, "step": True, "size": 1}])
    assert "no older step" in str(plan_split(one_step, keep_tokens=0))
    two = view_of([{"user": True, "size": 1}, {"user": True, "size": 1}])
    assert "fit what a compaction keeps" in str(plan_cut(two, keep_tokens=9))
