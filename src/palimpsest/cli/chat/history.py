"""``/history``: turns in full ink where the model sees them, pale where they were written over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, assert_never

from pydantic_ai.messages import ModelMessage
from rich.text import Text

from palimpsest.cli.chat.blocks import Block, OutputBlock, PromptBlock, ProseBlock, ToolBlock
from palimpsest.cli.turns import CompactionRow, HistoryRow, TurnRow
from palimpsest.cli.words import call_words, short_tokens, when
from palimpsest.core.estimate import compact_json
from palimpsest.core.excerpt import Excerpt, ToolResult
from palimpsest.core.wording import count
from palimpsest.formats.prompts import starts_turn
from palimpsest.session.prompt_words import excerpts_of


def history_lines(rows: Iterable[HistoryRow], *, columns: int) -> Iterator[Text]:
    """Yield a line a turn and a rule a compaction."""
    rows = tuple(rows)
    if not rows:
        yield Text("Nothing was said yet.", style="dim")
        return
    for row in rows:
        match row:
            case TurnRow():
                yield _turn(row, columns)
            case CompactionRow():
                yield _compaction(row, columns)
            case _:
                assert_never(row)
    if any(row.kind == "turn" and not row.in_view for row in rows):
        text = "Pale turns are summarised for the model and whole here: /history N shows one."
        yield Text(text, style="dim")


def _turn(row: TurnRow, columns: int) -> Text:
    calls = f" · {count(row.calls, 'call')}" if row.calls else ""
    tail = f"  {count(row.steps, 'step')}{calls}"
    head = f"{row.number:>4}  "
    words = Text(row.words or "(no words)")
    words.truncate(max(8, columns - len(head) - len(tail)), overflow="ellipsis")
    line = Text.assemble((head, "bold"), words, (tail, "dim"))
    if not row.in_view:
        line.stylize("dim")
    return line


def _compaction(row: CompactionRow, columns: int) -> Text:
    tokens = ""
    if row.tokens is not None:
        tokens = f" · {short_tokens(row.tokens[0])} → {short_tokens(row.tokens[1])}"
    active = " · active" if row.active else ""
    label = f"──── compacted {when(row.timestamp)}{tokens} · {row.checkpoint[:8]}{active} "
    line = Text(label, style="green" if row.active else "dim")
    line.append("─" * max(0, min(columns, 96) - line.cell_len))
    line.truncate(max(1, columns), overflow="ellipsis")
    return line


def message_blocks(messages: Sequence[ModelMessage], *, full: bool) -> list[Block]:
    """Give messages as blocks; ``full`` shows tool results whole, else each is one line."""
    rows = [row for message in messages for row in _rows(message)]
    results = {row.call_id: row for row in rows if isinstance(row, ToolResult)}
    return [block for row in rows for block in _blocks(row, results, full=full)]


def _rows(message: ModelMessage) -> list[Excerpt]:
    rows = excerpts_of(message)
    if not starts_turn(message):
        return rows
    return [row for row in rows if row.kind != "injected_text"]


def _blocks(row: Excerpt, results: dict[str, ToolResult], *, full: bool) -> Iterator[Block]:
    match row.kind:
        case "user_text":
            yield PromptBlock(text=row.text, full=full)
        case "assistant_text":
            yield ProseBlock(markdown=row.text)
        case "tool_call":
            result = results.get(row.call_id)
            text = "" if result is None else result.text
            arguments = row.arguments
            yield ToolBlock(
                call=call_words(
                    row.tool_name,
                    arguments if isinstance(arguments, str) else compact_json(arguments),
                ),
                tokens=-(-len(text) // 4),
                outcome=_outcome(result),
            )
            if full and text:
                yield OutputBlock(text=text)
        case "marker" if row.what not in {"thinking", "opaque"}:
            yield OutputBlock(text=f"[{row.what} {row.media_type} · {row.bytes:,} bytes]")
        case _:
            return


def _outcome(result: ToolResult | None) -> Literal["success", "failed", "interrupted"]:
    if result is None:
        return "interrupted"
    return "failed" if result.is_error else "success"
