"""The bottom bar: model, project, context meter, cost; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.text import Text

from palimpsest.cli.words import short_tokens
from palimpsest.session.state import BudgetState, SessionState
from palimpsest.storage.totals import Totals

BAR_CELLS = 10

AMBER, RED = 0.7, 0.9
"""Shares of the window from which the meter is amber, and red."""


def status_line(state: SessionState, *, cwd: Path, home: Path, columns: int) -> Text:
    """Give the bar; what finds no room is left out, the meter last."""
    meter = _meter(state.context_budget, with_bar=True)
    model = Text(short_model(state.model))
    project = Text(short_path(cwd, home))
    cost = Text(cost_words(state.totals))
    for segments in (
        (model, project, meter, cost),
        (model, meter, cost),
        (model, meter),
        (meter,),
    ):
        line = _joined([segment for segment in segments if segment])
        if line.cell_len <= columns:
            return line
    short = _meter(state.context_budget, with_bar=False)
    short.truncate(max(1, columns), overflow="ellipsis")
    return short


def _joined(segments: Sequence[Text]) -> Text:
    line = Text()
    for number, segment in enumerate(segments):
        line.append(" · " if number else "", style="dim").append_text(segment)
    return line


def short_model(name: str) -> str:
    """Give a model's name without its provider and address."""
    bare = name.partition(":")[2] or name
    return bare.partition("@")[0].rpartition("/")[2] or bare


def short_path(path: Path, home: Path) -> str:
    """Give a folder with ``~`` for the home folder."""
    if path == home:
        return "~"
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def cost_words(totals: Totals) -> str:
    """Give the cost so far; empty where no price is known, ``+`` where one was missing."""
    priced = totals.requests + totals.summaries - totals.unpriced
    if priced <= 0:
        return ""
    return f"${totals.cost_usd:.2f}" + ("+" if totals.unpriced else "")


def _meter(found: BudgetState, *, with_bar: bool) -> Text:
    share = found.share
    style = "red" if share >= RED else "yellow" if share >= AMBER else ""
    about = "" if found.calibrated else "≈"
    words = f"{about}{round(100 * share)} % of {short_tokens(found.budget.window)}"
    if not with_bar:
        return Text(words, style=style)
    return Text.assemble(("".join(_bar(share)), style), " ", (words, style))


def _bar(share: float) -> Iterator[str]:
    filled = min(BAR_CELLS, round(BAR_CELLS * share))
    yield "▓" * filled
    yield "░" * (BAR_CELLS - filled)
