"""What the walk counts, by hand: sizes, cache, breaks, blind steps, need."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from palimpsest.core.budget import Budget
from palimpsest.core.errors import InvalidSettingError
from palimpsest.lab.fit import fit
from palimpsest.lab.measured import measure
from palimpsest.lab.policies import KeepAll, KeepNewestResults, Policy, Setting, SimulatedCompaction
from palimpsest.lab.replay import POLICIES, ReplaySettings, replay
from palimpsest.lab.results import Need, PolicyTrace, SessionReplay
from palimpsest.lab.walk import need_of, walk
from palimpsest.transcripts.recording import RecordedCompaction, Recording
from tests.lab.recordings import (
    MESSAGE,
    calls,
    prompt,
    recording,
    results,
    says,
    steps,
    words,
)


def setting_of(recorded: Recording, window: int = 100_000) -> Setting:
    measured = measure(recorded)
    return Setting(
        measured=measured,
        fit=fit(measured, recorded.compactions),
        budget=Budget(window=window, reserved_output=10),
    )


def trace_of(recorded: Recording, policy: Policy, window: int = 100_000) -> PolicyTrace:
    return walk(setting_of(recorded, window), policy, None)


KEEP_ALL = Policy(name="keep-all", label="keep all", start=KeepAll)
KEEP_ONE = Policy(
    name="keep-one", label="keep one", start=lambda setting: KeepNewestResults(setting, keep=1)
)


def of_session(session: SessionReplay, policy: str) -> PolicyTrace:
    [trace] = [trace for trace in session.traces if trace.result.policy == policy]
    return trace


def test_every_request_extends_the_one_before_it() -> None:
    recorded = recording(
        prompt(words(10)), says(words(20)), prompt(words(30)), says(words(40), answered=7)
    )
    trace = trace_of(recorded, KEEP_ALL)
    first = MESSAGE + 10
    second = first + MESSAGE + 20 + MESSAGE + 30
    assert trace.context_tokens == [first, second]
    result = trace.result
    assert (result.requests, result.input_tokens, result.peak_tokens) == (
        2,
        first + second,
        second,
    )
    assert (result.cache_read_tokens, result.cache_write_tokens) == (first, second)
    assert result.output_tokens == 20 + 7
    assert (result.cost_usd, result.prefix_breaks, result.steps_with_calls) == (None, 0, 0)


def test_system_text_is_part_of_every_request() -> None:
    plain = trace_of(recording(prompt(words(10)), says("ok")), KEEP_ALL)
    system = trace_of(recording(prompt(words(10)), says("ok"), system=words(100)), KEEP_ALL)
    assert system.result.input_tokens == plain.result.input_tokens + 100 + MESSAGE


def test_a_cleared_result_breaks_the_prefix_where_it_stands() -> None:
    recorded = recording(
        prompt(words(10)),
        calls(("c0", "src/app_1.py")),
        results(("c0", words(1000))),
        calls(("c1", "src/app_2.py")),
        results(("c1", words(2000))),
        says("done"),
    )
    whole = trace_of(recorded, KEEP_ALL)
    trace = trace_of(recorded, KEEP_ONE)
    assert trace.context_tokens[:2] == whole.context_tokens[:2]
    assert trace.context_tokens[2] == whole.context_tokens[2] - (1000 - 9)
    assert (trace.result.prunings, trace.result.prefix_breaks, trace.pruned_at) == (1, 1, [2])
    before_the_result = whole.context_tokens[1] - (1000 + MESSAGE + 2)
    assert trace.result.cache_read_tokens == whole.context_tokens[0] + before_the_result


def test_clearing_what_was_never_sent_breaks_nothing() -> None:
    recorded = recording(
        prompt(words(10)),
        calls(("c0", "src/app_1.py"), ("c1", "src/app_2.py")),
        results(("c0", words(1000)), ("c1", words(1000))),
        says("done"),
    )
    result = trace_of(recorded, KEEP_ONE).result
    assert (result.prunings, result.prefix_breaks) == (1, 0)


def test_a_trigger_holds_clearing_back() -> None:
    history = steps(6, tokens=1000)
    late = Policy(
        name="late",
        label="late",
        start=lambda setting: KeepNewestResults(setting, keep=1, trigger_tokens=4000),
    )
    trace = trace_of(recording(*history), late)
    assert trace.pruned_at[0] == next(
        index
        for index, tokens in enumerate(trace_of(recording(*history), KEEP_ALL).context_tokens)
        if tokens >= 4000
    )


def test_an_identifier_that_only_a_cleared_result_held_makes_a_step_blind() -> None:
    def recorded(later: str) -> Recording:
        return recording(
            prompt("Read it."),
            calls(("c0", "src/app_1.py")),
            results(("c0", f"see src/hidden_7.py {words(100)}")),
            calls(("c1", "src/app_1.py")),
            results(("c1", words(100))),
            says("Next."),
            calls(("c2", later)),
            results(("c2", "ok")),
            says("done"),
        )

    # The agent typed app_1 itself, so it still sees it; hidden_7 stood only in the result.
    known = trace_of(recorded("src/app_1.py"), KEEP_ONE).result
    unknown = trace_of(recorded("src/hidden_7.py"), KEEP_ONE).result
    invented = trace_of(recorded("src/never_seen_9.py"), KEEP_ONE).result
    assert (known.blind_steps, known.steps_with_calls) == (0, 3)
    assert (unknown.blind_steps, unknown.steps_with_calls) == (1, 3)
    assert (invented.blind_steps, invented.steps_with_calls) == (0, 3)
    assert trace_of(recorded("src/hidden_7.py"), KEEP_ALL).result.blind_steps == 0


def test_system_text_is_never_out_of_view() -> None:
    recorded = recording(
        prompt("Read it."),
        calls(("c0", "src/app_1.py")),
        results(("c0", f"see src/hidden_7.py {words(100)}")),
        calls(("c1", "src/app_1.py")),
        results(("c1", words(100))),
        calls(("c2", "src/hidden_7.py")),
        says("done"),
        system="Start from src/hidden_7.py.",
    )
    assert trace_of(recorded, KEEP_ONE).result.blind_steps == 0


def compaction(summary: str, *, kept_from: int, count: int) -> SimulatedCompaction:
    return SimulatedCompaction(
        request=0,
        first_kept_message_index=kept_from,
        history_message_count=count,
        tokens_before=0,
        tokens_after=0,
        summary=summary,
    )


@pytest.mark.parametrize(
    ("summary", "tail", "since", "expected"),
    [
        ("It is in src/old_1.py.", "go on", "ok", Need(cuts=1, needed=1, held=1)),
        ("Nothing of it.", "go on", "ok", Need(cuts=1, needed=1, held=0)),
        ("Nothing.", "look at src/old_1.py", "ok", Need()),
        ("Nothing.", "go on", "see src/old_1.py", Need()),
    ],
    ids=["held", "missed", "in the kept part", "supplied again"],
)
def test_need(summary: str, tail: str, since: str, expected: Need) -> None:
    recorded = recording(
        prompt("start"),
        says("I saw src/old_1.py and src/unused_2.py"),
        prompt(tail),
        calls(("c0", "src/new_3.py")),
        results(("c0", since)),
        calls(("c1", "src/old_1.py")),
        results(("c1", "ok")),
    )
    assert need_of(measure(recorded), compaction(summary, kept_from=2, count=3)) == expected


def test_need_looks_at_forty_calls() -> None:
    def recorded(calls_between: int) -> Recording:
        between: list[ModelMessage] = []
        for number in range(calls_between):
            between += [calls((f"b{number}", "src/new_3.py")), results((f"b{number}", "ok"))]
        return recording(
            prompt("start"), says("src/old_1.py"), prompt("go"), *between,
            calls(("last", "src/old_1.py")),
        )  # fmt: skip

    cut = compaction("", kept_from=2, count=3)
    assert need_of(measure(recorded(39)), cut).needed == 1
    assert need_of(measure(recorded(40)), cut).needed == 0


def test_the_engine_compacts_before_the_window_is_full() -> None:
    session = replay(
        recording(*steps(60, tokens=500, turn_every=20)), ReplaySettings(window=16_000)
    )
    ours, everything = of_session(session, "palimpsest"), of_session(session, "keep-all")
    assert everything.result.over_window > 0
    assert ours.result.over_window == 0
    assert ours.result.compactions == len(ours.compactions) == len(ours.needs) > 0
    assert ours.result.peak_tokens <= session.fits_tokens
    for done in ours.compactions:
        assert done.tokens_after < done.tokens_before
        assert ours.context_tokens[done.request] == done.tokens_after
        assert done.tokens_before >= session.trigger_tokens
        assert done.summary
    assert of_session(session, "pruning-only").compactions == []


def test_one_oversized_result_is_trimmed() -> None:
    recorded = recording(
        prompt("Read it."),
        calls(("c0", "src/app_1.py")),
        results(("c0", "line of the file\n" * 20_000)),
        says("done"),
    )
    session = replay(recorded, ReplaySettings(window=16_000))
    ours = of_session(session, "palimpsest").result
    assert of_session(session, "keep-all").result.over_window == 1
    assert (ours.over_window, ours.prunings, ours.compactions) == (0, 1, 0)


def test_a_request_that_nothing_makes_fit_is_counted() -> None:
    recorded = recording(prompt(words(20_000)), says("done"))
    session = replay(recorded, ReplaySettings(window=16_000))
    assert [trace.result.over_window for trace in session.traces] == [1] * len(POLICIES)


def test_what_a_session_is_told() -> None:
    own = [
        RecordedCompaction(kind="summary", message_index=2, trigger="auto", tokens_before=9),
        RecordedCompaction(kind="clearing", message_index=4),
    ]
    recorded = recording(
        prompt("one"), says("two"), prompt("three"), says("four"), model="no-such-model",
        compactions=own,
    )  # fmt: skip
    session = replay(recorded)
    assert session.model == "no-such-model"
    assert (session.window, session.window_source) == (
        128_000,
        "assumed: the model's window is not known",
    )
    assert [(item.request, item.kind) for item in session.recorded_compactions] == [
        (1, "summary"),
        (2, "clearing"),
    ]
    assert {trace.result.cost_usd for trace in session.traces} == {None}
    asked = replay(recorded, ReplaySettings(model="claude-sonnet-4-5", window=50_000))
    assert (asked.model, asked.window, asked.window_source) == (
        "anthropic:claude-sonnet-4-5",
        50_000,
        "as asked",
    )
    costs = [trace.result.cost_usd for trace in asked.traces]
    assert all(cost is not None and cost > 0 for cost in costs)


@pytest.mark.parametrize(
    "settings", [ReplaySettings(model="no-such-model"), ReplaySettings(window=0)]
)
def test_what_a_person_asks_for_must_exist(settings: ReplaySettings) -> None:
    with pytest.raises(InvalidSettingError):
        replay(recording(prompt("one"), says("two")), settings)


def test_a_recording_without_replies_has_no_requests() -> None:
    session = replay(recording(prompt("one")))
    assert {trace.result.requests for trace in session.traces} == {0}


_STEPS = st.lists(
    st.tuples(
        st.booleans(),
        st.integers(1, 3),
        st.integers(0, 3000),
        st.integers(0, 30),
    ),
    min_size=1,
    max_size=25,
)


def _history(drawn: list[tuple[bool, int, int, int]]) -> list[ModelMessage]:
    history: list[ModelMessage] = [prompt("start")]
    for index, (turns, count, tokens, name) in enumerate(drawn):
        if turns:
            history += [says("done"), prompt(words(tokens // 20) + f" src/file_{name}.py")]
        ids = [f"c{index}_{number}" for number in range(count)]
        history += [
            calls(*((call, f"src/file_{name}.py") for call in ids)),
            results(*((call, f"src/file_{name + 1}.py {words(tokens)}") for call in ids)),
        ]
    return [*history, says("done")]


@given(_STEPS, st.sampled_from([4_000, 16_000, 64_000]))
def test_what_holds_for_every_history(drawn: list[tuple[bool, int, int, int]], window: int) -> None:
    recorded = recording(*_history(drawn))
    session = replay(recorded, ReplaySettings(window=window))
    assert session == replay(recorded, ReplaySettings(window=window))
    everything = of_session(session, "keep-all").result
    assert (everything.prefix_breaks, everything.blind_steps, everything.prunings) == (0, 0, 0)
    for trace in session.traces:
        result = trace.result
        assert result.cache_read_tokens + result.cache_write_tokens == result.input_tokens
        assert result.input_tokens == sum(trace.context_tokens)
        assert result.peak_tokens == max(trace.context_tokens)
        assert result.requests == everything.requests
        assert result.blind_steps <= result.steps_with_calls
        assert result.need.held <= result.need.needed
        over = sum(tokens > session.fits_tokens for tokens in trace.context_tokens)
        assert result.over_window == over
    # Trimming and clearing leave a prompt and a step; where even that is too much, it is refused.
    ours = of_session(session, "palimpsest")
    smallest = 300 + 3 * (MESSAGE + 600)
    assert ours.result.over_window == 0 or session.fits_tokens < smallest
