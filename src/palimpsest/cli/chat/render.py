"""Blocks and what is alive, as rich renderables; pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from rich.console import Group, RenderableType
from rich.text import Text

from palimpsest.cli.chat.blocks import (
    Block,
    CompactedBlock,
    ContextBlock,
    HelpBlock,
    HistoryBlock,
    NoticeBlock,
    OutputBlock,
    PromptBlock,
    ProseBlock,
    ReceiptBlock,
    Tone,
    ToolBlock,
)
from palimpsest.cli.chat.context import context_lines
from palimpsest.cli.chat.help import help_lines
from palimpsest.cli.chat.history import history_lines
from palimpsest.cli.chat.markdown import TerminalMarkdown
from palimpsest.cli.chat.screen import Compacting, Screen
from palimpsest.cli.receipt import receipt_lines
from palimpsest.cli.words import call_words, seconds, short_tokens
from palimpsest.core.receipt import Receipt
from palimpsest.core.wording import count
from palimpsest.lab.plain import one_line, plain

_TONES: dict[Tone, str] = {"plain": "dim", "good": "", "warning": "yellow", "error": "red"}
_MARKS: dict[Tone, str] = {"plain": "·", "good": "●", "warning": "!", "error": "×"}

_OUTCOMES = {"failed": "failed", "denied": "not allowed", "interrupted": "interrupted"}

QUEUED_SHOWN = 3
"""Queued prompts that are shown; the rest are counted."""


MOST_LINES = 12
"""Lines of a prompt that are shown as it is sent; all of it stands in the history."""


def gap_between(before: Block | None, after: Block) -> bool:
    """Whether an empty line stands between two blocks.

    One does around prose and tables and before prompts; what a command says follows it directly.
    """
    if before is None or (isinstance(before, PromptBlock) and before.is_command):
        return False
    folded = {"tool", "notice", "compacted"}
    return before.kind not in folded or after.kind not in folded


def render_block(block: Block, *, columns: int) -> RenderableType:
    """Give a block for a terminal of so many columns."""
    match block:
        case PromptBlock():
            return _prompt(block)
        case ToolBlock():
            return _tool(block, columns)
        case CompactedBlock():
            return _compacted(block.receipt)
        case NoticeBlock():
            mark = Text(f"{_MARKS[block.tone]} ", style=_TONES[block.tone])
            return mark.append(plain(block.text), style=_TONES[block.tone])
        case OutputBlock():
            return Text(plain(block.text), style="dim")
        case ProseBlock():
            return TerminalMarkdown(plain(block.markdown))
        case ContextBlock():
            return Group(*context_lines(block, columns=columns))
        case HistoryBlock():
            return Group(*history_lines(block.rows, columns=columns))
        case ReceiptBlock():
            return Group(*receipt_lines(block.receipt, columns=columns))
        case HelpBlock():
            return Group(*help_lines(columns=columns))
        case _:
            assert_never(block)


def render_live(screen: Screen, *, now_ms: int, columns: int, rows: int) -> Iterator[Text]:
    """Yield the lines below what is printed, prose that is being written left out."""
    if screen.compacting is not None:
        yield _clipped(_compacting(screen.compacting, now_ms), columns)
        if now_ms - screen.compacting.started_at >= LONG_MS:
            hint = "  Long histories can take a few minutes. Your work is saved."
            yield _clipped(Text(hint, style="dim"), columns)
    elif screen.operation is not None and not screen.approvals:
        yield from _working(screen, now_ms, columns, rows)
    for request in screen.approvals[:1]:
        call = call_words(request.tool_name, request.arguments)
        yield Text.assemble(("? ", "bold yellow"), (call, "bold"))
        more = len(screen.approvals) - 1
        behind = f"  ({more} more behind it)" if more else ""
        yield Text(f"  allow?  y yes · s yes, for this session · n no{behind}", style="yellow")
    yield from _queue(screen, columns)


LONG_MS = 15_000
"""After so long a compaction says that it may take longer."""


def _working(screen: Screen, now_ms: int, columns: int, rows: int) -> Iterator[Text]:
    if screen.tools:
        most = max(1, rows - 2)
        for tool in screen.tools[-most:]:
            text = f"◌ {tool.call} · {seconds(now_ms - tool.started_at)}"
            yield _clipped(Text(text, style="dim"), columns)
    else:
        elapsed = seconds(now_ms - screen.started_at)
        doing = "writing" if screen.replying else "working"
        text = f"◌ {doing} · {elapsed}  (/abort or Ctrl+C to stop)"
        yield _clipped(Text(text, style="dim"), columns)


def _queue(screen: Screen, columns: int) -> Iterator[Text]:
    state = "waits" if screen.held else "queued"
    for text in screen.queue[:QUEUED_SHOWN]:
        yield _clipped(Text(f"  {state}: {one_line(text[:500])}", style="dim italic"), columns)
    more = len(screen.queue) - QUEUED_SHOWN
    if more > 0:
        yield Text(f"  … and {more} more", style="dim italic")


def _prompt(block: PromptBlock) -> Text:
    style = "dim" if block.is_command else "bold"
    lines = block.text.splitlines() or [""]
    shown = lines if block.full or len(lines) <= MOST_LINES else lines[:MOST_LINES]
    text = Text("\n").join(
        Text.assemble(("› " if number == 0 else "  ", "bold blue"), (plain(line), style))
        for number, line in enumerate(shown)
    )
    left = len(lines) - len(shown)
    return text.append(f"\n  … {count(left, 'more line')}", style="dim") if left else text


def _tool(block: ToolBlock, columns: int) -> Text:
    said = _OUTCOMES.get(block.outcome, "")
    tail = f"  {short_tokens(block.tokens)}" + (f" · {said}" if said else "")
    style = "red" if block.outcome == "failed" else "yellow" if said else "green"
    line = Text.assemble(("● ", style), block.call)
    line.truncate(max(8, columns - len(tail)), overflow="ellipsis")
    room = min(columns, 72) - len(tail)
    line.pad_right(max(0, room - line.cell_len))
    return line.append(tail, style="dim")


def _compacted(receipt: Receipt) -> Text:
    figures = receipt.figures
    if figures.trigger == "manual" and not receipt.reduced:
        verb, style = "compacted, but it did not reduce the request:", "yellow"
    else:
        verb, style = "compacted", "green"
    kept = count(figures.turns_kept, "turn")
    return Text.assemble(
        ("● ", style),
        f"{verb} {short_tokens(figures.tokens_before)} → {short_tokens(figures.tokens_after)}",
        (f" · kept {kept} · {figures.turns_summarised} in /history · /restore to undo", "dim"),
    )


def _compacting(compacting: Compacting, now_ms: int) -> Text:
    elapsed = seconds(now_ms - compacting.started_at)
    part = f" · part {compacting.call} of {compacting.calls}" if compacting.calls > 1 else ""
    return Text.assemble(
        ("◌ ", "yellow"),
        f"compacting {short_tokens(compacting.tokens)} tokens · {elapsed}{part}",
        ("  (/abort to cancel)", "dim"),
    )


def _clipped(line: Text, columns: int) -> Text:
    line.truncate(max(1, columns), overflow="ellipsis")
    line.no_wrap = True
    return line
