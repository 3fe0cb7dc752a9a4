"""A receipt for people: what was kept, what stands only in the originals."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape

from palimpsest.core.receipt import Facts, Receipt
from palimpsest.lab.compact import CompactedRecording

MOST_LINES = 6
"""Facts of one sort that are printed; the rest are counted."""


def print_receipt(compacted: CompactedRecording, *, to_stderr: bool) -> None:
    """Print what one compaction did."""
    console = Console(stderr=to_stderr, highlight=False, soft_wrap=True)
    for line in receipt_lines(compacted.receipt):
        console.print(line)
    if compacted.split:
        console.print("The newest turn itself was cut after a step; its prompt stays verbatim.")
    console.print(f"[dim]window {compacted.window:,} ({escape(compacted.window_source)})[/dim]")


def receipt_lines(receipt: Receipt) -> Iterator[str]:
    """Yield the lines of a receipt, as rich markup."""
    figures = receipt.figures
    yield (
        f"[bold]{figures.tokens_before:,} → {figures.tokens_after:,} tokens[/bold] · "
        f"{_count(figures.turns_summarised, 'turn')} and "
        f"{_count(figures.steps_summarised, 'step')} summarised · "
        f"{_count(figures.turns_kept, 'turn')} and {_count(figures.steps_kept, 'step')} kept · "
        f"{_count(figures.outputs_cleared, 'output')} cleared"
    )
    if not receipt.reduced:
        yield "This compaction did not reduce the request."
    for warning in figures.warnings:
        yield f"Warning: {escape(warning)}"
    yield from _facts("Files changed", receipt.files_changed)
    yield from _facts("Files read", receipt.files_read)
    yield from _facts("Commands", receipt.commands)
    yield from _facts("Open errors", receipt.open_errors)
    yield from _facts("Your rules, found by pattern", receipt.user_rules)
    identifiers = receipt.identifiers
    yield (
        f"Identifiers: {identifiers.in_view:,} of {identifiers.total:,} stand in the view, "
        "the others in the originals."
    )


def _facts(title: str, facts: Facts) -> Iterator[str]:
    if not facts.total:
        return
    yield f"{title}: {facts.in_view:,} of {facts.total:,} stand in the view"
    for fact in facts.newest[: -MOST_LINES - 1 : -1]:
        mark = "●" if fact.in_view else "○"
        detail = f"  [dim]{escape(_one_line(fact.detail))}[/dim]" if fact.detail else ""
        yield f"  {mark} {escape(_one_line(fact.text))}{detail}"
    if facts.total > MOST_LINES:
        yield f"  … {facts.total - MOST_LINES:,} more"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else f"{line[:119]}…"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
