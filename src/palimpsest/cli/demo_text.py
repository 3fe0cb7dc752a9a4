"""The demo for people at a terminal: each call with the meter, each record as it is made."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.text import Text

from palimpsest.core.receipt import CompactionFigures, Receipt
from palimpsest.lab.figures import short
from palimpsest.lab.live import Played
from palimpsest.lab.plain import one_line
from palimpsest.models.engine_events import (
    CompactionEnd,
    CompactionStart,
    ContextBudget,
    Pruned,
)
from palimpsest.session.events import (
    MessageEnd,
    MessageStart,
    MessageUpdate,
    SessionEvent,
    ToolEnd,
    ToolStart,
)
from palimpsest.session.state import BudgetState

WIDEST = 100
"""Columns used at most: further right the eye loses the line."""

BAR_CELLS = 10
METER_COLUMNS = BAR_CELLS + 9

VERBS: Mapping[str, tuple[str, str]] = {
    "read_file": ("read", "path"),
    "write_file": ("write", "path"),
    "edit_file": ("edit", "path"),
    "search_files": ("search", "pattern"),
    "run_command": ("run", "command"),
}
"""By tool: what the line says, and the argument that it shows."""

_INTERPRETER = re.compile(r"^\S*python\S* -B ")


class DemoScreen:
    """Prints a session as it happens; nothing is drawn over, so a pipe gets the same lines."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._columns = min(self._console.width, WIDEST)
        self._calls: dict[str, str] = {}
        self._done: list[tuple[str, int]] = []
        self._said: list[str] = []

    def open(self, window: int) -> None:
        """Say what is to be seen."""
        self._print(
            f"A scripted agent mends a small shop's till in a window of {window:,} tokens. Its "
            "words were written beforehand; tools, sizes, prunings and compactions are real. "
            "Behind each call stands the size of its result, then the window's share that is full."
        )

    def prompt(self, text: str) -> None:
        """Show a prompt."""
        self._console.print()
        self._print(f"› {text}", style="bold")

    def event(self, event: SessionEvent, meter: BudgetState) -> None:
        """Show an event."""
        match event:
            case ToolStart():
                self._calls[event.call_id] = _label(event)
            case ToolEnd():
                self._done.append((self._calls.pop(event.call_id), event.characters))
            case ContextBudget() | CompactionStart():
                self._show_calls(meter)
            case Pruned():
                self._print(
                    f"◌ {_count(event.outputs, 'old tool output')} cleared from the view · "
                    f"{short(event.tokens_reclaimed)} tokens · whole in the file",
                    style="dim",
                )
            case CompactionEnd(receipt=Receipt() as receipt):
                self._print(f"◆ {_compacted(receipt.figures)}", style="magenta")
            case CompactionEnd():
                self._print(f"◌ not compacted: {event.error}", style="yellow")
            case MessageStart(role="assistant"):
                self._said.clear()
            case MessageUpdate(channel="text"):
                self._said.append(event.delta)
            case MessageEnd() if self._said:
                self._print("".join(self._said), indent=2)
                self._said.clear()
            case _:
                pass

    def close(self, played: Played) -> None:
        """Show the check of the originals, and the totals."""
        whole = played.intact == played.messages
        self._console.print(f"\n{'─' * self._columns}")
        self._print(
            f"{'Every original is still there' if whole else 'ORIGINALS ARE MISSING'}: "
            f"{played.intact} of {played.messages} messages in the session's file have the "
            "SHA-256 that they had when they were new.",
            style="bold green" if whole else "bold red",
        )
        windows = played.original_tokens / played.window
        self._print(
            f"{short(played.original_tokens)} tokens of originals, {windows:.1f} windows · "
            f"{_count(played.compactions, 'compaction')} · "
            f"{_count(played.outputs_cleared, 'output')} cleared · no model call for a summary"
        )
        self._print(
            f"{played.requests} requests, the largest {short(played.largest_request)} of "
            f"{short(played.most_that_fits)} that fit · {short(played.sent_tokens)} tokens sent; "
            f"whole they would have been {short(played.whole_tokens)}, and {played.whole_over} "
            "would not have fit"
        )

    def kept(self, project: Path, session_file: Path) -> None:
        """Say where everything was kept; paths stay on one line each, to be copied."""
        self._console.print(f"\nThe project: {project}", soft_wrap=True)
        self._console.print(f"The session: {session_file}", soft_wrap=True)

    def _show_calls(self, meter: BudgetState) -> None:
        for place, (label, characters) in enumerate(self._done, 1):
            size = f"{short(characters // 4):>7}"
            room = self._columns - METER_COLUMNS - len(size) - 4
            line = Text("● ")
            line.append(_fitted(label, room))
            line.append(size, style="dim")
            if place == len(self._done):
                line.append("  ").append_text(_bar(meter))
            self._console.print(line, no_wrap=True)
        self._done.clear()

    def _print(self, text: str, *, style: str = "", indent: int = 0) -> None:
        for line in Text(text, style=style).wrap(self._console, self._columns - indent):
            line.rstrip()
            line.pad_left(indent)
            self._console.print(line)


def _label(event: ToolStart) -> str:
    verb, key = VERBS.get(event.tool_name, (event.tool_name, ""))
    arguments = cast("dict[str, object]", json.loads(event.arguments))
    return f"{verb} {_INTERPRETER.sub('python ', one_line(str(arguments.get(key, ''))))}"


def _fitted(label: str, columns: int) -> Text:
    text = Text(label)
    text.truncate(columns, overflow="ellipsis", pad=True)
    return text


def _bar(meter: BudgetState) -> Text:
    share = meter.share
    full = min(BAR_CELLS, round(share * BAR_CELLS))
    style = "red" if share >= 0.9 else "yellow" if share >= 0.7 else "green"
    about = " " if meter.calibrated else "≈"
    return Text(f"{'▓' * full}{'░' * (BAR_CELLS - full)} {about}{100 * share:3.0f} %", style=style)


def _compacted(figures: CompactionFigures) -> str:
    return (
        f"compacted {short(figures.tokens_before)} → {short(figures.tokens_after)} tokens · "
        f"{_count(figures.turns_summarised, 'turn')} summarised, {figures.turns_kept} kept · "
        f"{figures.duration_ms} ms"
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
