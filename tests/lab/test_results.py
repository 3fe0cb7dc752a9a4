"""Sums over sessions, and the words around the figures."""

from __future__ import annotations

import json

import pytest

from palimpsest.lab.figures import FIGURES, headline, percent, short, usd, whole
from palimpsest.lab.plain import plain
from palimpsest.lab.replay import ReplaySettings, replay
from palimpsest.lab.results import Totals, as_object
from tests.lab.recordings import prompt, recording, says, steps, words


def test_totals_add_up_and_know_whose_price_is_known() -> None:
    priced = replay(recording(*steps(8, tokens=900)), ReplaySettings(model="claude-sonnet-4-5"))
    unknown = replay(recording(prompt(words(10)), says("ok")))
    totals = Totals()
    for session in (unknown, priced, unknown):
        totals.add(session)
    assert (totals.sessions, totals.priced_sessions) == (3, 1)
    for trace in priced.traces:
        total, small = totals.policies[trace.result.policy], unknown.traces[0].result
        assert total.input_tokens == trace.result.input_tokens + 2 * small.input_tokens
        assert total.peak_tokens == trace.result.peak_tokens
        assert total.cost_usd == trace.result.cost_usd
        assert total.need.needed == trace.result.need.needed
    assert json.loads(json.dumps(totals.to_json()))["policies"][0]["requests"] == 11 + 2
    assert json.loads(json.dumps(as_object(priced)))["traces"][0]["result"]["policy"] == "keep-all"


def test_sums_of_unknown_prices_are_unknown() -> None:
    totals = Totals()
    for _ in range(2):
        totals.add(replay(recording(prompt("one"), says("two"))))
    assert {result.cost_usd for result in totals.policies.values()} == {None}


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (999_949, "999.9k"), (999_950, "1.0M"),
     (131_607_485, "131.6M"), (5 * 10**12, "5,000.0G")],
)  # fmt: skip
def test_short_numbers(value: int, text: str) -> None:
    assert short(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.0003, "0.03 %"), (0.00995, "1.0 %"), (0.035, "3.5 %"), (0.0996, "10 %"),
     (1, "100 %"), (3.25, "325 %")],
)  # fmt: skip
def test_percent(share: float, text: str) -> None:
    assert percent(share) == text


def test_money() -> None:
    texts = [usd(None), usd(0), usd(0.0123), usd(0.1), usd(1234.5)]
    assert texts == ["–", "$0.00", "$0.0123", "$0.10", "$1,234.50"]


def test_recorded_text_cannot_steer_a_terminal_or_turn_a_line_around() -> None:
    assert (
        plain("a\x1b[2Jb\x9bc\x00\r\nd\te\u202ef\ud800") == "a\ufffd[2Jb\ufffdc\ufffd\nd\tef\ufffd"
    )


def test_a_session_without_requests_has_figures() -> None:
    results = [trace.result for trace in replay(recording(prompt("one"))).traces]
    shown = [figure.whole(results[1], results[0]) for figure in FIGURES]
    assert shown == ["0", "0", "–", "0", "0", "0", "–", "0", "0", "0", "0", "–", "–"]


def _headline(*sizes: tuple[int, int]) -> str:
    totals = Totals()
    for count, window in sizes:
        history = steps(count, tokens=500, turn_every=20)
        settings = ReplaySettings(window=window, model="claude-sonnet-4-5" if window else None)
        totals.add(replay(recording(*history), settings))
    return " ".join(headline(totals, whole))


def test_the_headline_says_when_there_is_nothing_to_do() -> None:
    text = _headline((2, 128_000))
    assert text.startswith("1 session, 4 requests. Sent whole, they come to ")
    assert "would change nothing" in text
    assert "not fit" not in text


def test_the_headline_says_what_would_be_done() -> None:
    text = _headline((60, 16_000), (60, 16_000))
    assert text.startswith("2 sessions, 128 requests.")
    assert "requests would not fit the window. Palimpsest sends " in text
    assert " and costs at best $" in text
    assert ", and every request fits. " in text
    assert " of 120 steps with tool calls use" in text


def test_the_headline_says_what_still_does_not_fit_and_whose_prices_are_known() -> None:
    totals = Totals()
    hopeless = [prompt(words(20_000)), says("no"), *steps(60, tokens=500, turn_every=20)]
    totals.add(replay(recording(*hopeless), ReplaySettings(window=16_000)))
    totals.add(replay(recording(*steps(2, tokens=5)), ReplaySettings(model="claude-sonnet-4-5")))
    text = " ".join(headline(totals, whole))
    assert " still would not fit" in text
    assert ", where prices are known" in text
