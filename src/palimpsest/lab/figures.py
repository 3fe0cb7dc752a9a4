"""The figures of a policy as people read them: one list for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from palimpsest.lab.results import PolicyResult, Totals

Number = Callable[[int], str]

NO_FIGURE = "–"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of a policy.

    Attributes:
        name: a few words.
        meaning: one sentence.
        show: renders it, given the policy, the policy that keeps all, and how to write a number.
    """

    name: str
    meaning: str
    show: Callable[[PolicyResult, PolicyResult, Number], str]

    def whole(self, result: PolicyResult, baseline: PolicyResult) -> str:
        """Render it with every digit."""
        return self.show(result, baseline, whole)


def whole(number: int) -> str:
    """Write every digit: ``1,234,567``."""
    return f"{number:,}"


def short(number: int) -> str:
    """Write at most four digits: ``987``, ``12.3k``, ``1.2M``."""
    if number < 1000:
        return str(number)
    value = float(number)
    for unit in ("k", "M", "G"):
        value /= 1000
        if value < 999.95 or unit == "G":
            return f"{value:,.1f}{unit}"
    raise AssertionError(number)


def percent(share: float) -> str:
    """Write a share with the digits that tell something: ``0.03 %``, ``3.5 %``, ``35 %``."""
    value = share * 100
    for digits, least in ((0, 9.95), (1, 0.995)):
        if value >= least:
            return f"{value:.{digits}f} %"
    return f"{value:.2f} %" if value else "0 %"


def usd(cost: float | None) -> str:
    """Write an amount of money, or a dash where it is not known."""
    if cost is None:
        return NO_FIGURE
    return f"${cost:,.4f}" if 0 < cost < 0.1 else f"${cost:,.2f}"


def _share(result: PolicyResult, baseline: PolicyResult) -> str:
    if not baseline.input_tokens:
        return NO_FIGURE
    return percent(result.input_tokens / baseline.input_tokens)


def _of(part: int, whole_number: int, number: Number) -> str:
    return f"{number(part)} / {number(whole_number)}" if whole_number else NO_FIGURE


FIGURES = (
    Figure(
        name="requests",
        meaning="Model requests; the same for every policy, as the recording answers them all.",
        show=lambda result, _, number: number(result.requests),
    ),
    Figure(
        name="input tokens",
        meaning="Tokens sent in all requests together.",
        show=lambda result, _, number: number(result.input_tokens),
    ),
    Figure(
        name="of keep all",
        meaning="The same as a share of what sending everything comes to.",
        show=lambda result, baseline, _: _share(result, baseline),
    ),
    Figure(
        name="largest request",
        meaning="Tokens of the largest request.",
        show=lambda result, _, number: number(result.peak_tokens),
    ),
    Figure(
        name="cache reads",
        meaning="Input that a request shares, from the start, with the request before it.",
        show=lambda result, _, number: number(result.cache_read_tokens),
    ),
    Figure(
        name="cache writes",
        meaning="The rest of the input: what is new, and what follows a change and is sent anew.",
        show=lambda result, _, number: number(result.cache_write_tokens),
    ),
    Figure(
        name="cost",
        meaning="Cache reads and writes and the recorded answers at the model's listed prices.",
        show=lambda result, _, __: usd(result.cost_usd),
    ),
    Figure(
        name="prunings",
        meaning="Requests before which tool outputs were cleared or trimmed.",
        show=lambda result, _, number: number(result.prunings),
    ),
    Figure(
        name="compactions",
        meaning="Times that a summary replaced older messages.",
        show=lambda result, _, number: number(result.compactions),
    ),
    Figure(
        name="prefix breaks",
        meaning="Requests in which something that was already sent had changed.",
        show=lambda result, _, number: number(result.prefix_breaks),
    ),
    Figure(
        name="too large",
        meaning="Requests that do not fit the window, after the answer and a safety margin.",
        show=lambda result, _, number: number(result.over_window),
    ),
    Figure(
        name="blind steps",
        meaning=(
            "Steps with tool calls that use an identifier which then stood only in what was out "
            "of view, of all steps with calls."
        ),
        show=lambda result, _, number: _of(result.blind_steps, result.steps_with_calls, number),
    ),
    Figure(
        name="need held",
        meaning=(
            "Identifiers of the replaced part that the next 40 calls used: how many of them the "
            "summary holds. Presence is not use."
        ),
        show=lambda result, _, number: _of(result.need.held, result.need.needed, number),
    ),
)


def baseline_of(policies: list[PolicyResult]) -> PolicyResult:
    """Give the policy that all others are measured against: the first, which keeps everything."""
    return policies[0]


def headline(totals: Totals, number: Number) -> list[str]:
    """Say in two or three sentences what compaction would have done."""
    policies = list(totals.policies.values())
    everything, ours = baseline_of(policies), totals.policies["palimpsest"]
    over = f"; {_count(everything.over_window, 'request', number)} would not fit the window"
    sentences = [
        f"{_count(totals.sessions, 'session', number)}, "
        f"{_count(everything.requests, 'request', number)}. Sent whole, they come to "
        f"{number(everything.input_tokens)} input tokens"
        f"{over if everything.over_window else ''}."
    ]
    if not ours.prunings and not ours.compactions:
        sentences.append(
            "Palimpsest would change nothing: there is too little to clear, and nothing comes "
            "near the window."
        )
        return sentences
    cost = ""
    if ours.cost_usd is not None:
        known = "" if totals.priced_sessions == totals.sessions else ", where prices are known"
        cost = (
            f" and costs at best {usd(ours.cost_usd)} instead of {usd(everything.cost_usd)}{known}"
        )
    sentences.append(
        f"Palimpsest sends {_share(ours, everything)} of that{cost}, with "
        f"{_count(ours.prunings, 'pruning', number)} and "
        f"{_count(ours.compactions, 'compaction', number)}"
        f"{_still_over(ours, everything, number)}."
    )
    sentences.append(
        f"{number(ours.blind_steps)} of {_count(ours.steps_with_calls, 'step', number)} with tool "
        f"calls {'uses' if ours.blind_steps == 1 else 'use'} something that is then out of view."
    )
    return sentences


def _still_over(ours: PolicyResult, everything: PolicyResult, number: Number) -> str:
    if not everything.over_window:
        return ""
    if not ours.over_window:
        return ", and every request fits"
    return f"; {_count(ours.over_window, 'request', number)} still would not fit"


def _count(amount: int, noun: str, number: Number) -> str:
    return f"{number(amount)} {noun}{'' if amount == 1 else 's'}"
