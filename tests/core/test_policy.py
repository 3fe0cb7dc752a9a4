from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.budget import Budget, Measure
from palimpsest.core.planning import Cut, NoCut
from palimpsest.core.policy import (
    Cancelled,
    Generated,
    GenerationFailed,
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
    SaveFailed,
    Send,
    Stop,
    Summarise,
    begin,
    step,
)
from tests.tables import own_cases, shared_cases

BUDGET = Budget(window=32_000, reserved_output=1_024, byte_limit=1_000_000)


def measure(size: int | list[int]) -> Measure:
    tokens, size_bytes = size if isinstance(size, list) else (size, 0)
    return Measure(tokens=tokens, bytes=size_bytes)


def reading(size: int | list[int]) -> Reading:
    return Reading(pressure=measure(size), comparable=measure(size))


@dataclass
class Script:
    """Answers effects from one row of a table, and notes what happened."""

    attempts: list[dict[str, Any]]
    relief: int | list[int] | None = None
    seen: list[str] = field(default_factory=list)
    effects: Counter[str] = field(default_factory=Counter)
    current: dict[str, Any] = field(default_factory=dict)

    def answer(self, state: Preflight) -> Outcome:
        effect = state.effect
        self.effects[effect.kind] += 1
        match effect:
            case Plan(keep=keep):
                self.seen.append(f"plan {keep}")
                self.current = self.attempts.pop(0) if self.attempts else {"plan": False}
                if self.current["plan"]:
                    split = keep in {"split", "newest_step"}
                    return Cut(first_kept_message_index=1, split=split)
                return NoCut(reason="everything_fits")
            case Relieve():
                self.seen.append("relieve")
                if self.relief is None:
                    return NothingToRelieve()
                return Relieved(reading=reading(self.relief))
            case Summarise(extractive=extractive):
                self.seen.append("extract" if extractive else "summarise")
                return self._summary("extractive" if extractive else "summary")
            case Save():
                self.seen.append("save")
                if self.current.get("save", "ok") == "failed":
                    return SaveFailed()
                cancelled = self.current.get("save") == "cancelled"
                return Saved(reading=reading(self.current["candidate"]), cancelled=cancelled)
            case _:
                raise AssertionError(effect)

    def _summary(self, key: str) -> Outcome:
        match self.current.get(key, "ok"):
            case "ok":
                return Generated(candidate=measure(self.current["candidate"]))
            case "cancelled":
                return Cancelled()
            case cause:
                return GenerationFailed(cause=f"{cause}.")


def run(state: Preflight, script: Script) -> Preflight:
    for _ in range(20):
        if isinstance(state.effect, Send | Refuse | Stop):
            return state
        state = step(state, script.answer(state))
    raise AssertionError("the policy does not end")


def result_of(state: Preflight) -> str:
    match state.effect:
        case Send():
            return "send"
        case Refuse():
            return "budget_exceeded"
        case Stop(why=why):
            return why
        case _:
            raise AssertionError(state.effect)


@pytest.mark.parametrize("case", shared_cases("policy"))
def test_policy_table(case: dict[str, Any]) -> None:
    settings = PolicySettings(split_newest_turn=False)
    counter = 0
    for preflight, expected in zip(case["preflights"], case["expect"], strict=True):
        state = begin(
            budget=BUDGET,
            settings=settings,
            counter=counter,
            reading=reading(preflight["estimate"]),
        )
        state = run(state, Script(list(preflight["attempts"])))
        counter = state.counter
        assert result_of(state) == expected["result"]
        assert state.generations == expected["generations"]
        assert state.saved == expected["saved"]
        assert state.started is expected["started"]


@pytest.mark.parametrize("case", own_cases("policy"))
def test_own_policy_table(case: dict[str, Any]) -> None:
    settings = PolicySettings(
        split_newest_turn=case.get("split", True), extractive_fallback=case.get("fallback", False)
    )
    script = Script(list(case.get("attempts", [])), case.get("relief"))
    state = begin(
        budget=BUDGET,
        settings=settings,
        counter=case.get("counter", 0),
        reading=reading(case["estimate"]),
        forced=case.get("forced", False),
        held=case.get("held", False),
    )
    state = run(state, script)
    expected = case["expect"]
    assert script.seen == expected["steps"].split(", ") if expected["steps"] else not script.seen
    assert result_of(state) == expected["result"]
    if isinstance(state.effect, Send):
        assert state.effect.why == expected["why"]
    if isinstance(state.effect, Refuse):
        assert state.effect.cause == expected.get("cause", state.effect.cause)
    if "counter" in expected:
        assert state.counter == expected["counter"]


SIZES = st.one_of(
    st.integers(0, 60_000), st.tuples(st.integers(0, 60_000), st.integers(0, 2_000_000)).map(list)
)
ATTEMPTS = st.lists(
    st.fixed_dictionaries(
        {
            "plan": st.booleans(),
            "candidate": SIZES,
            "summary": st.sampled_from(["ok", "ok", "failed", "timeout", "cancelled"]),
            "extractive": st.sampled_from(["ok", "failed"]),
            "save": st.sampled_from(["ok", "ok", "failed", "cancelled"]),
        }
    ),
    max_size=6,
)


@given(
    preflights=st.lists(
        st.tuples(SIZES, ATTEMPTS, st.one_of(st.none(), SIZES), st.booleans(), st.booleans()),
        min_size=1,
        max_size=6,
    ),
    split=st.booleans(),
    fallback=st.booleans(),
)
def test_policy_ends_within_two_generations_and_sends_only_what_fits(
    preflights: list[tuple[Any, list[dict[str, Any]], Any, bool, bool]],
    split: bool,
    fallback: bool,
) -> None:
    settings = PolicySettings(split_newest_turn=split, extractive_fallback=fallback)
    counter = 0
    for estimate, attempts, relief, forced, held in preflights:
        suppressed = counter >= 2 and not forced
        script = Script(list(attempts), relief)
        state = begin(
            budget=BUDGET,
            settings=settings,
            counter=counter,
            reading=reading(estimate),
            forced=forced,
            held=held,
        )
        state = run(state, script)
        assert state.generations <= (1 if suppressed else 2)
        assert script.effects["summarise"] <= 2 * state.generations
        assert script.effects["relieve"] <= (1 if split else 0)
        assert state.saved <= script.effects["save"]
        if isinstance(state.effect, Send):
            assert BUDGET.fits(state.reading.pressure)
        if isinstance(state.effect, Refuse):
            assert not BUDGET.fits(state.reading.pressure)
        counter = state.counter
