"""An outline that starts behind a cut answers as the whole one does, from the cut on."""

from __future__ import annotations

from random import Random

import pytest

from palimpsest.core.outline import MessageOutline, Outline
from palimpsest.core.planning import plan_cut, plan_split
from palimpsest.core.records import fold_records
from palimpsest.core.view import View
from tests.core.builders import output, prompt, reply, results
from tests.session.builders import checkpoint


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


@pytest.mark.parametrize("seed", range(6))
def test_it_answers_as_the_whole_outline_does(seed: int) -> None:
    messages = history(seed)
    whole = Outline(messages)
    for split, cuts in ((False, whole.turn_starts), (True, whole.step_starts)):
        for cut in cuts[1:]:
            prefix = whole.prefix(cut)
            known = {index: messages[index] for index in prefix.known}
            later = Outline.following(prefix, known)
            for message in messages[cut:]:
                later.append(message)
            state = fold_records([checkpoint(1, cut, len(messages), split=split)])
            one, two = View(whole, state), View(later, state)
            assert list(one.rows()) == list(two.rows())
            assert one.measure() == two.measure()
            assert later.messages_measured == len(known) + len(messages) - cut
            assert plan_cut(one, keep_tokens=500) == plan_cut(two, keep_tokens=500)
            assert plan_split(one, keep_tokens=500) == plan_split(two, keep_tokens=500)
            for index in range(cut, len(messages) + 1):
                assert later.prefix(index) == whole.prefix(index)


def test_nothing_before_the_first_prompt() -> None:
    whole = Outline([reply(5), reply(6), prompt(7), reply(8)])
    prefix = whole.prefix(2)
    assert (prefix.turns, prefix.steps, prefix.prompt, prefix.known) == (0, 2, None, ())
