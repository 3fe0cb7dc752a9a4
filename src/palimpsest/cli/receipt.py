"""A receipt for people: what was kept, what stands only in the originals."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from palimpsest.core.receipt import CompactionFigures, Fact, Facts, Receipt
from palimpsest.lab.compact import CompactedRecording
from palimpsest.lab.plain import one_line

MOST_LINES = 6
"""Facts of one sort that are printed; the rest are counted."""

DETAIL_COLUMNS = 28
"""Columns that the detail of a fact takes at most."""


def print_receipt(compacted: CompactedRecording, *, to_stderr: bool) -> None:
    """Print what one compaction did, a fact a line, as wide as the terminal."""
    console = Console(stderr=to_stderr, highlight=False)
    size, *details = receipt_lines(compacted.receipt, columns=console.width)
    for line in (size, *_limits(compacted), *details):
        console.print(line)
    if compacted.split:
        console.print("The newest turn itself was cut after a step; its prompt stays verbatim.")
    window = f"Window: {compacted.window:,} ({one_line(compacted.window_source)})."
    console.print(Text(window, style="dim"))


def _limits(compacted: CompactedRecording) -> Iterator[Text]:
    """Yield what a compaction cannot change, and whether its result fits."""
    if fixed := compacted.fixed_tokens:
        yield Text(
            f"Of these about {fixed:,} are system text and tools, which compaction cannot shrink."
        )
    if compacted.receipt.figures.tokens_after > compacted.largest_tokens:
        largest = f"{compacted.largest_tokens:,} tokens do, beside an answer"
        yield Text(f"This does not fit the window: at most {largest}.", style="bold")


def receipt_lines(receipt: Receipt, *, columns: int) -> Iterator[Text]:
    """Yield the lines of a receipt; facts are shortened to ``columns``, sentences are not."""
    figures = receipt.figures
    yield Text(f"{figures.tokens_before:,} → {figures.tokens_after:,} tokens", style="bold")
    yield Text(" · ".join(_counts(figures)))
    if not receipt.reduced:
        yield Text("This compaction did not reduce the request.")
    for warning in figures.warnings:
        yield Text(f"Warning: {one_line(warning)}")
    for title, facts in (
        ("Files changed", receipt.files_changed),
        ("Files read", receipt.files_read),
        ("Commands", receipt.commands),
        ("Open errors", receipt.open_errors),
        ("Your rules, found by pattern", receipt.user_rules),
    ):
        yield from _facts(title, facts, columns)
    identifiers = receipt.identifiers
    yield Text(f"Identifiers: {identifiers.in_view:,} of {identifiers.total:,} stand in the view.")
    yield Text("● stands in the view word for word, ○ only in the original recording.", style="dim")


def _counts(figures: CompactionFigures) -> Iterator[str]:
    turns, steps = figures.turns_summarised, figures.steps_summarised
    yield f"{_count(turns, 'turn')} and {_count(steps, 'step')} summarised"
    yield f"{_count(figures.turns_kept, 'turn')} and {_count(figures.steps_kept, 'step')} kept"
    yield f"{_count(figures.outputs_cleared, 'output')} cleared"


def _facts(title: str, facts: Facts, columns: int) -> Iterator[Text]:
    if not facts.total:
        return
    yield Text(f"{title}: {facts.in_view:,} of {facts.total:,} stand in the view")
    for fact in facts.newest[: -MOST_LINES - 1 : -1]:
        yield _fact(fact, columns)
    if facts.total > MOST_LINES:
        yield Text(f"  … {facts.total - MOST_LINES:,} more")


def _fact(fact: Fact, columns: int) -> Text:
    detail = Text(one_line(fact.detail), style="dim")
    detail.truncate(DETAIL_COLUMNS, overflow="ellipsis")
    room = columns - 4 - (detail.cell_len + 2 if detail else 0)
    text = Text(one_line(fact.text))
    text.truncate(max(1, room), overflow="ellipsis")
    line = Text("  ● " if fact.in_view else "  ○ ", no_wrap=True, overflow="ellipsis")
    line.append_text(text)
    return line.append("  ").append_text(detail) if detail else line


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
