"""A history by its turns, with compactions where they happened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from pydantic_ai.messages import ModelMessage, ModelResponse

from palimpsest.core.receipt import Receipt
from palimpsest.core.records import Checkpoint
from palimpsest.formats.prompts import starts_turn
from palimpsest.lab.plain import one_line
from palimpsest.session.listing import ListedSession
from palimpsest.session.prompt_words import first_words, prompt_words


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """One turn.

    Attributes:
        number: from 1.
        start: index of its prompt.
        stop: index behind its last message.
        words: the prompt on one line.
        in_view: the model still sees it word for word.
    """

    number: int
    start: int
    stop: int
    words: str
    steps: int
    calls: int
    in_view: bool
    kind: Literal["turn"] = "turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRow:
    """A compaction, where it happened.

    Attributes:
        active: it decides what the model sees now.
        tokens: before and after; None where no receipt tells.
    """

    checkpoint: str
    timestamp: int
    active: bool
    tokens: tuple[int, int] | None
    kind: Literal["compaction"] = "compaction"


HistoryRow: TypeAlias = TurnRow | CompactionRow


def turn_rows(messages: Sequence[ModelMessage], *, cut: int = 0) -> list[TurnRow]:
    """Give every turn; messages in front of the first prompt belong to none."""
    starts = [index for index, message in enumerate(messages) if starts_turn(message)]
    bounds = pairwise([*starts, len(messages)])
    return [
        _turn(messages, number, start, stop, in_view=start >= cut)
        for number, (start, stop) in enumerate(bounds, start=1)
    ]


def history_rows(
    messages: Sequence[ModelMessage],
    compactions: Iterable[Checkpoint],
    *,
    active: Checkpoint | None,
    receipt_of: Callable[[str], Receipt | None],
) -> tuple[HistoryRow, ...]:
    """Give turns and compactions in the order in which they happened."""
    cut = 0 if active is None else active.first_kept_message_index
    rows: list[tuple[int, int, HistoryRow]] = [
        (turn.start, 1, turn) for turn in turn_rows(messages, cut=cut)
    ]
    for checkpoint in compactions:
        receipt = receipt_of(checkpoint.id)
        figures = None if receipt is None else receipt.figures
        row = CompactionRow(
            checkpoint=checkpoint.id,
            timestamp=checkpoint.timestamp,
            active=active is not None and checkpoint.id == active.id,
            tokens=None if figures is None else (figures.tokens_before, figures.tokens_after),
        )
        rows.append((checkpoint.history_message_count, 0, row))
    return tuple(row for _, _, row in sorted(rows, key=lambda item: item[:2]))


TITLE_CHARACTERS = 60


def session_title(listed: ListedSession) -> str:
    """Give a session's title, or the beginning of its first prompt; reads no more than that."""
    title = one_line(listed.header.title) or one_line(first_words(listed.path)[:500])
    if len(title) > TITLE_CHARACTERS:
        title = title[: TITLE_CHARACTERS - 1] + "…"
    return title or "(no words)"


def _turn(
    messages: Sequence[ModelMessage], number: int, start: int, stop: int, *, in_view: bool
) -> TurnRow:
    replies = [m for m in messages[start:stop] if isinstance(m, ModelResponse)]
    return TurnRow(
        number=number,
        start=start,
        stop=stop,
        words=one_line(prompt_words(messages[start])[:2_000]),
        steps=len(replies),
        calls=sum(len(reply.tool_calls) for reply in replies),
        in_view=in_view,
    )
