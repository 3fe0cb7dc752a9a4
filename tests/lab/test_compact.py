"""One recording compacted: what is kept, cleared, summarised, and what the receipt says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from palimpsest.core.errors import InvalidSettingError, NothingToCompactError
from palimpsest.core.placeholder import PRUNE_PLACEHOLDER
from palimpsest.core.summary import summary_message_text
from palimpsest.lab.compact import compact_recording
from palimpsest.transcripts import Recording, read_recordings
from tests.lab.long_recordings import ONE_TURN, STEPS, WINDOW, claude_code, long_texts
from tests.lab.recordings import calls, prompt, recording, results, says, steps, words
from tests.transcripts.samples import write


def read(folder: Path, name: str) -> Recording:
    [found] = read_recordings(write(folder, long_texts()[name][1]))
    return found


@pytest.mark.parametrize("name", sorted(long_texts().keys() - ONE_TURN))
def test_older_turns_are_summarised_and_old_outputs_cleared(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, name)
    compacted = compact_recording(found, window=WINDOW)
    view, figures = compacted.view, compacted.receipt.figures
    last_prompt = max(index for index, item in enumerate(found.messages) if item.is_prompt)
    assert view.kept_message_indices == tuple(range(last_prompt, len(found.messages)))
    assert view.kept_prompt_index is None
    assert not compacted.split
    # Of the newest turn's six outputs of 500 tokens the oldest is behind the newest 2,000.
    assert set(view.cleared.values()) == {PRUNE_PLACEHOLDER}
    assert {call for _, call in view.cleared} == {"c9", "c10"}
    assert (figures.turns_summarised, figures.turns_kept) == (3, 1)
    assert (figures.steps_summarised, figures.outputs_cleared) == (9, 2)
    assert figures.messages_summarised + figures.messages_kept == len(found.messages)
    assert compacted.receipt.reduced
    assert view.summary is not None
    assert "Task 0: mend part_0.py" in view.summary
    assert (compacted.window, compacted.window_source) == (WINDOW, "as asked")


@pytest.mark.parametrize("name", sorted(ONE_TURN))
def test_a_single_turn_is_cut_after_a_step_and_its_prompt_stays(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, name)
    compacted = compact_recording(found, window=WINDOW)
    view, figures = compacted.view, compacted.receipt.figures
    assert compacted.split
    assert view.kept_prompt_index == 0
    assert view.cleared == {}
    assert view.kept_message_indices == tuple(
        range(view.kept_message_indices[0], len(found.messages))
    )
    assert figures.steps_summarised + figures.steps_kept == STEPS
    assert figures.steps_kept == 3  # a fourth of 500 tokens and more would not fit 2,000
    assert compacted.receipt.reduced


def test_clearing_alone_may_be_enough() -> None:
    history = [
        prompt("one"),
        calls(("a", "big.py")),
        results(("a", words(5000))),
        prompt("two"),
        calls(("b", "small.py")),
        results(("b", words(10))),
        says("done"),
    ]
    compacted = compact_recording(recording(*history), window=WINDOW)
    assert compacted.view.summary is None
    assert compacted.view.kept_message_indices == tuple(range(7))
    assert compacted.view.cleared == {(2, "a"): PRUNE_PLACEHOLDER}
    assert [fact.in_view for fact in compacted.receipt.files_read.newest] == [True, True]
    assert not compacted.split


def test_the_receipt_is_computed_from_the_view(tmp_path: Path) -> None:
    compacted = compact_recording(read(tmp_path, "claude"), window=WINDOW)
    receipt, summary = compacted.receipt, compacted.view.summary
    assert summary is not None
    assert [fact.text for fact in receipt.files_read.newest] == [f"p_{n}.py" for n in range(9)]
    for fact in receipt.files_read.newest:
        assert fact.in_view == (fact.text in summary)
    assert receipt.figures.trigger == "manual"
    assert receipt.figures.cost_usd == 0.0


def test_the_same_recording_gives_the_same_view(tmp_path: Path) -> None:
    found = read(tmp_path, "pi")
    assert compact_recording(found, window=WINDOW) == compact_recording(found, window=WINDOW)


def test_the_summary_stands_in_its_message(tmp_path: Path) -> None:
    summary = compact_recording(read(tmp_path, "pi"), window=WINDOW).view.summary
    assert summary is not None
    empty = summary_message_text("")
    assert summary.startswith(empty.removesuffix("\n</summary>"))
    assert summary.endswith("\n</summary>")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (recording(prompt("one"), says("two")), "fewer than two turns"),
        (recording(says("no prompt at all")), "fewer than two turns"),
        (recording(prompt(words(9000)), says("two")), "no older step"),
        (recording(prompt("one"), says("two"), prompt("three"), says("four")), "fit what"),
    ],
)
def test_nothing_to_compact_says_why(found: Recording, reason: str) -> None:
    with pytest.raises(NothingToCompactError, match=reason) as refused:
        compact_recording(found, window=WINDOW)
    assert refused.value.code == "nothing_to_compact"


@pytest.mark.parametrize(
    ("model", "window"), [("no-such-model", None), ("no-such-model", 9000), (None, 0), (None, -1)]
)
def test_settings_that_cannot_be(model: str | None, window: int | None) -> None:
    with pytest.raises(InvalidSettingError):
        compact_recording(recording(prompt("one"), says("two")), model=model, window=window)


def test_a_recorded_model_that_no_table_knows_is_no_error(tmp_path: Path) -> None:
    content = claude_code()
    assert json.loads(content.splitlines()[1])["message"]["model"] == "claude-x"
    [found] = read_recordings(write(tmp_path, content))
    with pytest.raises(NothingToCompactError):
        compact_recording(found)  # an assumed window of 128,000 holds all of it


def test_the_window_comes_from_the_model() -> None:
    found = recording(*steps(40, tokens=2000))
    compacted = compact_recording(found, model="claude-sonnet-4-5")
    assert compacted.window_source.startswith("price table, anthropic:claude-sonnet-4-5")


def test_a_summary_may_be_larger_than_what_it_replaces() -> None:
    history = [prompt(words(30)), says("."), prompt(words(3000)), says("two")]
    receipt = compact_recording(recording(*history), window=WINDOW).receipt
    assert not receipt.reduced
    assert receipt.figures.tokens_after > receipt.figures.tokens_before
