"""An outline that begins behind a cut answers as the whole one does, from the cut on."""

from __future__ import annotations

from random import Random

import pytest

from palimpsest.core.errors import InvalidRecordError
from palimpsest.core.outline import MessageOutline, Outline, Prefix
from palimpsest.core.planning import plan_cut, plan_split
from palimpsest.core.pruning import PruningSettings, plan_pruning, plan_relief
from palimpsest.core.record_codec import dump_record, read_records
from palimpsest.core.records import Clearing, fold_records
from palimpsest.core.view import View
from tests.core.builders import checkpoint, output, prompt, reply, results, uuid


def history(seed: int) -> list[MessageOutline]:
    chance, messages = Random(seed), list[MessageOutline]()
    for turn in range(12):
        messages.append(prompt(chance.randint(10, 400), lasting=chance.random() < 0.3))
        for step in range(chance.randint(0, 4)):
            call = f"t{turn}s{step}"
            messages.append(reply(30, [call], call_tokens=20))
            messages.append(results(output(call, chance.randint(10, 900))))
        messages.append(reply(chance.randint(10, 100)))
    return messages


def behind(messages: list[MessageOutline], prefix: Prefix) -> Outline:
    """What an opening makes of a stored prefix."""
    shown = {index: messages[index] for index in prefix.shown}
    return Outline(messages[prefix.count :], prefix=prefix, shown=shown)


@pytest.mark.parametrize("seed", range(6))
def test_it_answers_as_the_whole_outline_does(seed: int) -> None:
    messages = history(seed)
    whole = Outline(messages)
    clearing = Clearing(
        id=uuid(2),
        timestamp=1,
        placeholders=tuple((at, "[cleared]") for at in whole.outputs[::3]),
        tokens_reclaimed=1,
    )
    for split, cuts in ((False, whole.turn_starts), (True, whole.step_starts)):
        for cut in cuts[1:]:
            record = checkpoint(cut, count=len(messages), split=split)
            state = fold_records([record, clearing])
            one = View(whole, state)
            for later in (behind(messages, whole.prefix(cut)), whole.behind(cut)):
                two = View(later, state)
                assert len(later) == len(whole)
                assert list(one.rows()) == list(two.rows())
                assert one.measure() == two.measure()
                for keep in (0, 500, 5_000):
                    assert plan_cut(one, keep_tokens=keep) == plan_cut(two, keep_tokens=keep)
                    assert plan_split(one, keep_tokens=keep) == plan_split(two, keep_tokens=keep)
                settings = PruningSettings(protect_tokens=300, minimum_tokens=10)
                assert plan_pruning(one, settings) == plan_pruning(two, settings)
                assert plan_relief(one, settings) == plan_relief(two, settings)
                assert (later.turns, later.steps) == (whole.turns, whole.steps)
                for index in range(cut, len(messages) + 1):
                    assert later.prefix(index) == whole.prefix(index)


def test_it_goes_on_growing_and_can_be_cut_again() -> None:
    messages = history(3)
    whole = Outline(messages)
    first, second = whole.turn_starts[4], whole.step_starts[-3]
    later = Outline(messages[:second]).behind(first)
    for message in messages[second:]:
        later.append(message)
    assert later.behind(second).prefix(second) == whole.prefix(second)
    state = fold_records([checkpoint(second, count=len(messages), split=True)])
    assert View(later.behind(second), state).measure() == View(whole, state).measure()


def test_only_a_split_needs_the_prompt_before_it() -> None:
    whole = Outline([reply(5), prompt(7), reply(6), prompt(7), reply(8)])
    assert whole.prefix(0) == Prefix(count=0)
    assert whole.prefix(1) == Prefix(count=1, steps=1)
    assert whole.prefix(3) == Prefix(count=3, turns=1, steps=2)
    assert whole.prefix(4) == Prefix(count=4, turns=2, steps=2, prompt=3)
    assert whole.prefix(4).shown == (3,)


PREFIX = Prefix(count=5, turns=2, steps=2, prompt=4, lasting=(0, 2))


def test_it_is_read_as_it_was_written() -> None:
    record = checkpoint(5, split=True, prefix=PREFIX)
    assert read_records([dump_record(record)]) == (record,)
    assert "prefix" not in dump_record(checkpoint(5))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("turns", -1),
        ("steps", "two"),
        ("prompt", 5),
        ("lasting", 7),
        ("lasting", ["x"]),
        ("lasting", [5]),
        ("lasting", [2, 2]),
        ("lasting", [3, 1]),
    ],
)
def test_one_that_cannot_be_true_is_refused(field: str, value: object) -> None:
    dumped = dump_record(checkpoint(5, split=True, prefix=PREFIX))
    dumped["prefix"] = {**dumped["prefix"], field: value}  # type: ignore[dict-item]
    with pytest.raises(InvalidRecordError) as raised:
        read_records([dumped])
    assert raised.value.field == field
