from __future__ import annotations

from dataclasses import replace

import pytest

from palimpsest.core.budget import Measure
from palimpsest.core.calibration import Calibration, Meter
from palimpsest.core.outline import MessageOutline, Part, Position
from palimpsest.core.record_checks import check_record
from palimpsest.core.records import Clearing, Trim, ViewState, fold_records
from palimpsest.core.view import (
    Cleared,
    FoldedRow,
    Hidden,
    MessageRow,
    RepairRow,
    SummaryRow,
    Trimmed,
    View,
    repair_measure,
    summary_measure,
)
from tests.core.builders import (
    checkpoint,
    injected,
    outline_of,
    output,
    prompt,
    reply,
    results,
    step,
    uuid,
)

FULL = ViewState()


def test_without_records_the_view_is_the_history() -> None:
    outline = outline_of([prompt(5), *step("a", 10), prompt(6)])
    view = View(outline, FULL)
    assert list(view.rows()) == [MessageRow(index=index) for index in range(4)]
    assert view.measure() == Measure(tokens=21, bytes=40)


def test_a_checkpoint_shows_lasting_parts_summary_and_tail() -> None:
    outline = outline_of([prompt(5, lasting=True), *step("a", 10), prompt(6), reply(3)])
    view = View(outline, ViewState(checkpoint=checkpoint(3, summary="past")))
    assert list(view.rows()) == [
        FoldedRow(index=0, parts=(0,)),
        SummaryRow(checkpoint=uuid(1), summarised_before=3, text="past"),
        MessageRow(index=3),
        MessageRow(index=4),
    ]
    assert view.measure().tokens == 7 + summary_measure("past").tokens + 9


def test_a_split_turn_keeps_its_prompt_in_front() -> None:
    outline = outline_of(
        [prompt(1), reply(1), prompt(5, lasting=True), *step("a", 10), *step("b", 11)]
    )
    view = View(outline, ViewState(checkpoint=checkpoint(5, split=True)))
    assert list(view.rows()) == [
        SummaryRow(checkpoint=uuid(1), summarised_before=5, text="s"),
        MessageRow(index=2),
        MessageRow(index=5),
        MessageRow(index=6),
    ]
    assert view.measure().tokens == summary_measure("s").tokens + 12 + 11
    assert view.shows(Position(2, 1))
    assert not view.shows(Position(0, 0))


def test_a_split_before_any_prompt_has_none_to_keep() -> None:
    outline = outline_of([injected(1), *step("a", 10), *step("b", 11)])
    view = View(outline, ViewState(checkpoint=checkpoint(3, split=True)))
    assert view.prompt_index is None
    assert [row.kind for row in view.rows()] == ["summary", "message", "message"]


def test_clearings_and_trims_are_edits_and_weigh_what_they_show() -> None:
    outline = outline_of([prompt(1), *step("a", 100), *step("b", 200), *step("c", 300)])
    records = [
        Clearing(
            id=uuid(1), timestamp=1, placeholders=((Position(2, 0), "gone"),), tokens_reclaimed=0
        ),
        Trim(
            id=uuid(2),
            timestamp=2,
            position=Position(4, 0),
            head_characters=8,
            tail_characters=4,
            shown_tokens=20,
            shown_bytes=70,
        ),
    ]
    view = View(outline, fold_records(records))
    rows = list(view.rows())
    assert rows[2] == MessageRow(index=2, edits=(Cleared(part=0, placeholder="gone"),))
    assert rows[4] == MessageRow(
        index=4, edits=(Trimmed(part=0, head_characters=8, tail_characters=4),)
    )
    assert view.measure() == Measure(tokens=1 + 1 + 20 + 300, bytes=4 + 70 + 1200)
    assert view.measure_between(0, 3) == Measure(tokens=2, bytes=4)
    assert not view.shows(Position(2, 0))
    assert not view.shows(Position(4, 0))
    assert view.shows(Position(6, 0))


def test_an_unanswered_call_gets_a_repair_once_the_history_went_on() -> None:
    outline = outline_of([prompt(1), reply(1, ["a"])])
    view = View(outline, FULL)
    assert [row.kind for row in view.rows()] == ["message", "message"]
    outline.append(prompt(1))
    assert list(view.rows())[2] == RepairRow(index=1, call_id="a", tool_name="read")
    assert view.measure() == Measure(tokens=3, bytes=0) + repair_measure(
        outline.part(Position(1, 1))
    )


def test_an_orphan_result_is_left_out_of_the_view() -> None:
    outline = outline_of([prompt(1), results(output("nobody", 40), output("nobody", 2)), reply(1)])
    cleared = Clearing(
        id=uuid(1), timestamp=1, placeholders=((Position(1, 0), "gone"),), tokens_reclaimed=0
    )
    for state in (FULL, fold_records([cleared])):
        view = View(outline, state)
        assert list(view.rows())[1] == MessageRow(index=1, edits=(Hidden(part=0), Hidden(part=1)))
        assert view.measure() == Measure(tokens=2, bytes=0)
        assert view.measure_between(0, 1) == Measure(tokens=1, bytes=0)


def test_a_message_with_results_and_user_text_never_starts_a_turn() -> None:
    mixed = MessageOutline(parts=(output("a", 5), Part(kind="user", tokens=3)), starts_turn=True)
    feedback = MessageOutline(
        parts=(Part(kind="feedback", tokens=5), Part(kind="user", tokens=3)), starts_turn=True
    )
    outline = outline_of([prompt(1), reply(1, ["a"]), mixed, reply(1), feedback, reply(1)])
    assert outline.prompts == [0]
    assert outline.turns_before(6) == 1
    assert outline.prompt_of(5) == 0


def test_a_result_behind_the_cut_of_its_call_is_hidden() -> None:
    outline = outline_of([prompt(1), reply(2, ["a"]), prompt(3), reply(4)])
    view = View(outline, ViewState(checkpoint=checkpoint(2)))
    before = view.measure()
    outline.append(results(output("a", 50)))
    assert list(view.rows())[-1] == MessageRow(index=4, edits=(Hidden(part=0),))
    assert view.measure() == before
    check_record(checkpoint(2), [], outline)
    whole = View(outline, FULL)
    assert [row.kind for row in whole.rows()] == ["message"] * 5


def test_a_lasting_call_without_a_result_gets_a_stand_in_when_folded() -> None:
    call = Part(kind="tool_call", tokens=9, tool_name="load", call_id="a", lasting=True)
    asking = MessageOutline(parts=(call,), is_reply=True)
    outline = outline_of([prompt(1), asking, prompt(3), reply(4)])
    view = View(outline, ViewState(checkpoint=checkpoint(2)))
    assert list(view.rows())[:2] == [
        FoldedRow(index=1, parts=(0,)),
        RepairRow(index=1, call_id="a", tool_name="load"),
    ]
    assert view.measure() == summary_measure("s") + repair_measure(call) + Measure(
        tokens=9 + 3 + 4, bytes=0
    )


def test_a_lasting_call_and_its_result_are_folded_together() -> None:
    call = Part(kind="tool_call", tokens=9, tool_name="load", call_id="a", lasting=True)
    answer = replace(output("a", 5), lasting=True, clearable=False)
    outline = outline_of(
        [prompt(1), MessageOutline(parts=(call,), is_reply=True), results(answer), prompt(3)]
    )
    view = View(outline, ViewState(checkpoint=checkpoint(3)))
    assert [row.kind for row in view.rows()] == ["folded", "folded", "summary", "message"]


def test_two_calls_of_one_id_get_their_results_in_order() -> None:
    outline = outline_of([prompt(1), reply(1, ["a", "a"]), results(output("a", 5), output("a", 6))])
    assert outline.orphans == []
    assert not outline.has_open_calls
    again = outline_of([prompt(1), reply(1, ["a", "a"]), results(output("a", 5)), prompt(1)])
    assert len(again.unanswered()) == 1


def test_mending_is_summed_up_once_a_message() -> None:
    """Measuring costs no walk over damaged calls: as often as asked, between two messages."""
    outline = outline_of([reply(1, [f"c{number}"]) for number in range(50)])
    view = View(outline, FULL)
    first = view.measure_between(0, 50)
    assert [view.measure_between(0, stop).tokens for stop in (50, 49, 50)][-1] == first.tokens
    assert view.measure_between(10, 20).tokens == sum(
        1 + repair_measure(outline.part(Position(index, 1))).tokens for index in range(10, 20)
    )


FIXED = Measure(tokens=100, bytes=10)


def test_the_provider_count_replaces_what_it_covers() -> None:
    outline = outline_of([prompt(1000)])
    view = View(outline, FULL)
    meter = Meter().after_reply(view, FIXED, message_count=1, reported_tokens=2200)
    assert meter.calibration == Calibration(ratio=2.0, observations=1)
    outline.append(reply(50))
    assert meter.pressure(view, FIXED).tokens == 2200 + 100
    assert meter.local(view, FIXED).tokens == 2300
    other = Measure(tokens=101, bytes=10)
    assert meter.pressure(view, other).tokens == meter.local(view, other).tokens
    assert meter.after_record().pressure(view, FIXED) == meter.local(view, FIXED)
    later = Meter().after_reply(view, FIXED, message_count=1, reported_tokens=2200)
    assert later.calibration.ratio == 2.0


def test_calibration_is_smoothed_and_clamped() -> None:
    first = Calibration().observe(reported_tokens=900, estimated_tokens=100)
    assert first.ratio == 4.0
    second = first.observe(reported_tokens=10, estimated_tokens=100)
    assert second == Calibration(ratio=2.25, observations=2)
    assert second.scale(3) == 7
    assert Calibration().scale(3) == 3
    assert second.observe(reported_tokens=0, estimated_tokens=5) == second
    assert second.observe(reported_tokens=5, estimated_tokens=0) == second


def test_calibration_can_be_turned_off() -> None:
    view = View(outline_of([prompt(10)]), FULL)
    off = Meter(enabled=False)
    assert off.after_reply(view, FIXED, message_count=1, reported_tokens=999) == off
    assert Meter().after_reply(view, FIXED, message_count=1, reported_tokens=0) == Meter()


@pytest.mark.parametrize(("reported", "learns"), [(549, False), (550, True), (20, False)])
def test_a_count_that_cannot_be_all_of_the_request_teaches_nothing(
    reported: int, learns: bool
) -> None:
    outline = outline_of([prompt(1000)])
    view = View(outline, FULL)
    meter = Meter().after_reply(view, FIXED, message_count=1, reported_tokens=1100)
    outline.append(reply(0))
    again = meter.after_reply(view, FIXED, message_count=2, reported_tokens=reported)
    assert (again != meter) is learns
    assert (again.pressure(view, FIXED).tokens >= 1100) is not learns
