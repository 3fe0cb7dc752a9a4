"""The correction of estimates, by hand."""

from __future__ import annotations

import pytest
from pydantic_ai.messages import ModelMessage

from palimpsest.core.view import summary_measure
from palimpsest.lab.fit import Fit, fit
from palimpsest.lab.measured import measure
from palimpsest.transcripts.recording import RecordedCompaction, Recording
from tests.lab.recordings import MESSAGE, calls, prompt, recording, results, says, words


def fit_of(recorded: Recording) -> Fit:
    return fit(measure(recorded), recorded.compactions)


def test_without_counts_nothing_is_corrected() -> None:
    found = fit_of(recording(prompt(words(10)), says("ok"), system=words(50)))
    assert (found.fixed_tokens, found.calibration.ratio, found.requests_counted) == (66, 1.0, 0)
    assert (found.raw_error, found.calibrated_error, found.calibrated_error_p95) == (None,) * 3


def test_the_fixed_share_comes_from_the_first_count_and_the_ratio_from_the_rest() -> None:
    # Estimates: 100, then 100 + 100 + 800 = 1000. Counts: 5000 more, and twice the growth.
    found = fit_of(
        recording(
            prompt(words(100 - MESSAGE)),
            says(words(100 - MESSAGE), counted=5100),
            prompt(words(800 - MESSAGE)),
            says("ok", counted=5000 + 1900),
        )
    )
    assert (found.fixed_tokens, found.requests_counted) == (5000, 2)
    assert found.calibration.ratio == 1.9
    assert found.raw_error == pytest.approx((0 + 900 / 6900) / 2)
    assert found.calibrated_error == pytest.approx(abs(5100 + 1.9 * 900 - 6900) / 6900, abs=1e-3)


def test_a_count_below_the_estimate_leaves_no_fixed_share() -> None:
    assert fit_of(recording(prompt(words(984)), says("ok", counted=500))).fixed_tokens == 0


def test_a_reply_of_another_model_is_no_sample() -> None:
    # Another model has other tools and counts other tokens; its reply says nothing of this one's.
    history: list[ModelMessage] = [
        prompt(words(84)),
        says(words(84), counted=1100, model="large"),
        prompt(words(84)),
        says(words(84), counted=1300, model="large"),
        prompt(words(84)),
        says("ok", counted=20, model="small"),
    ]
    found = fit_of(recording(*history, model="large"))
    assert found == fit_of(recording(*history[:4], model="large"))
    assert found.requests_counted == 2
    assert found.calibrated_error_p95 == 0


_SUMMARY = RecordedCompaction(
    kind="summary", message_index=4, first_kept_message_index=3, summary=words(40)
)
_CLEARING = RecordedCompaction(kind="clearing", message_index=4, cleared_call_ids=("c0",))


@pytest.mark.parametrize(
    ("compaction", "saved"),
    [
        # The prompt, the call of 16 tokens and the result with its name and id go, the summary
        # in its frame comes.
        (
            _SUMMARY,
            3 * MESSAGE + 84 + 16 + (1000 + 2) - summary_measure(words(40)).tokens,
        ),
        (_CLEARING, 1000 - 9),
    ],
    ids=["summary", "clearing"],
)
def test_the_recorded_context_follows_its_own_compactions(
    compaction: RecordedCompaction, saved: int
) -> None:
    def recorded(compactions: list[RecordedCompaction]) -> Recording:
        return recording(
            prompt(words(84)),
            calls(("c0", "src/app_1.py"), counted=100),
            results(("c0", words(1000))),
            says(words(84)),
            prompt(words(84)),
            says("ok", counted=4000),
            compactions=compactions,
        )

    plain, compacted = fit_of(recorded([])), fit_of(recorded([compaction]))
    assert plain.raw_error is not None
    assert compacted.raw_error is not None
    # The error is the median of two requests, of which the first is exact.
    assert (compacted.raw_error - plain.raw_error) * 2 * 4000 == pytest.approx(saved)
    # A request behind a compaction is not compared with one before it.
    assert plain.calibrated_error is not None
    assert compacted.calibrated_error is None
