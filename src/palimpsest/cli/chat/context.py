"""``/context``: what fills the window, as a bar and a table; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from palimpsest.cli.chat.blocks import ContextBlock
from palimpsest.cli.words import short_tokens
from palimpsest.core.wording import count
from palimpsest.session.breakdown import ContextBreakdown

WIDEST_BAR = 72


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One part of the window, with a shape of its own: colour alone says nothing."""

    name: str
    shape: str
    style: str
    tokens: int
    note: str = ""


def context_lines(block: ContextBlock, *, columns: int) -> Iterator[Text]:
    """Yield the lines of a breakdown."""
    found = block.breakdown
    window = found.budget.window
    about = "" if block.calibrated else "≈ "
    share = round(100 * found.total / window)
    yield Text.assemble(
        ("Context  ", "bold"),
        f"{about}{found.total:,} of {window:,} tokens · {share} %",
    )
    yield Text(f"Window: {block.window_source}", style="dim")
    parts = _parts(found)
    yield _bar(parts, window, width=min(columns, WIDEST_BAR))
    for part in parts:
        yield _row(part, window)
    if found.total > found.budget.largest_fitting:
        over = found.total - found.budget.largest_fitting
        text = f"The next request is {over:,} tokens too large; it is compacted before it is sent."
        yield Text(text, style="red")
    if not found.system and not found.tools:
        text = "System text and tools are counted with the first request."
        yield Text(text, style="dim")


def _parts(found: ContextBreakdown) -> list[_Part]:
    cleared = ""
    if found.outputs_cleared:
        outputs = count(found.outputs_cleared, "output")
        cleared = f"{outputs}, {short_tokens(found.cleared_away)} taken out"
    safety = found.budget.safety
    return [
        _Part(name="system", shape="■", style="blue", tokens=found.system),
        _Part(name="tools", shape="◆", style="cyan", tokens=found.tools),
        _Part(name="skills", shape="▲", style="magenta", tokens=found.skills),
        _Part(name="summary", shape="≡", style="green", tokens=found.summary),
        _Part(
            name="kept turns",
            shape="▪",
            style="bold",
            tokens=found.turns,
            note=count(found.turns_kept, "turn"),
        ),
        _Part(name="cleared outputs", shape="░", style="dim", tokens=found.cleared, note=cleared),
        _Part(name="free", shape="·", style="dim", tokens=found.free),
        _Part(
            name="reserve",
            shape="▒",
            style="yellow",
            tokens=found.budget.reserved_output,
            note="held back for the answer",
        ),
        _Part(
            name="safety",
            shape="▓",
            style="red",
            tokens=safety,
            note="held back for what estimates miss",
        ),
    ]


def _row(part: _Part, window: int) -> Text:
    share = f"{100 * part.tokens / window:.1f} %"
    row = Text.assemble((part.shape, part.style), f" {part.name:<16}{part.tokens:>10,}{share:>9}")
    return row.append(f"  {part.note}", style="dim") if part.note else row


def _bar(parts: Sequence[_Part], window: int, *, width: int) -> Text:
    """Draw the parts in proportion; a part that is there at all gets a cell."""
    whole = max(window, sum(part.tokens for part in parts))
    cells = [max(1, round(width * part.tokens / whole)) if part.tokens else 0 for part in parts]
    while sum(cells) > width:
        cells[cells.index(max(cells))] -= 1
    bar = Text()
    for part, number in zip(parts, cells, strict=True):
        bar.append(part.shape * number, style=part.style)
    return bar
