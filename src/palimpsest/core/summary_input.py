"""The summariser's input: JSON documents of readable rows, in chunks where one does not fit."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from palimpsest.core.errors import InvalidSettingError
from palimpsest.core.estimate import text_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from palimpsest.core.excerpt import Excerpt, Json

MIN_DOCUMENT_TOKENS = 1024
# Room for the braces and names of a document and for "part", whatever the numbers.
_FRAME_TOKENS = 32
_MAX_NAME_CHARS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """One row of the conversation as the summariser reads it.

    Attributes:
        head: the row's short fields, ``role`` first, as JSON members without braces.
        key: name of the one long field; empty if there is none.
        body: value of the long field as JSON text.
        is_text: the body is a JSON string; otherwise it is split as the JSON text it is.
    """

    head: str
    key: str = ""
    body: str = ""
    is_text: bool = True

    @property
    def json(self) -> str:
        """The row as a JSON object."""
        return f"{{{self.head},{_dump(self.key)}:{self.body}}}" if self.key else f"{{{self.head}}}"


def summary_row(excerpt: Excerpt, *, kept: bool = False) -> SummaryRow:
    """Render one excerpt; a user message that stays in the view is marked with ``kept``."""
    match excerpt.kind:
        case "user_text":
            row = _text_row(excerpt.text, role="user", **({"kept": True} if kept else {}))
        case "injected_text":
            row = _text_row(excerpt.text, role="attached")
        case "assistant_text":
            row = _text_row(excerpt.text, role="assistant")
        case "feedback":
            row = _text_row(excerpt.text, role="framework")
        case "tool_call":
            row = SummaryRow(
                head=_members(role="assistant", call=excerpt.tool_name, id=excerpt.call_id),
                key="arguments",
                body=_dump(excerpt.arguments),
                is_text=isinstance(excerpt.arguments, str),
            )
        case "tool_result":
            row = _text_row(
                excerpt.text,
                role="tool",
                tool=excerpt.tool_name,
                id=excerpt.call_id,
                **({"error": True} if excerpt.is_error else {}),
            )
        case "marker":
            media_type, size = excerpt.media_type, excerpt.bytes
            row = SummaryRow(
                head=_members(role="marker", what=excerpt.what, media_type=media_type, bytes=size)
            )
        case _:
            assert_never(excerpt)
    return row


def summary_documents(
    rows: Iterable[SummaryRow], *, previous_summary: str, limit_tokens: int
) -> tuple[str, ...]:
    """Lay out ``rows`` in as few documents as fit one after another, each within the limit.

    One document is the whole input. Several are chunks in order, each with its ``part``; they are
    summarised by themselves and then merged by ``merge_documents``. Every row stands in exactly
    one chunk, except that a row larger than a chunk is split by characters into consecutive rows
    marked ``"piece": "2 of 5"``. A previous summary stands in the first document, or, when it
    would take more than half of the limit, as rows in front.

    Args:
        rows: the conversation, oldest first; at least one.
        previous_summary: text of the summary so far; empty if there is none.
        limit_tokens: what one document may cost by the estimate of ``text_tokens``, inclusive.

    Raises:
        InvalidSettingError: the limit is below 1,024 tokens.
    """
    _check(limit_tokens)
    all_rows = [*rows]
    whole = _document(previous_summary, "", [row.json for row in all_rows])
    if text_tokens(whole) <= limit_tokens:
        return (whole,)
    previous = previous_summary
    if previous and text_tokens(_dump(previous)) > limit_tokens // 2:
        all_rows.insert(0, _text_row(previous, role="previousSummary"))
        previous = ""
    room = limit_tokens - _FRAME_TOKENS
    first_room = room - text_tokens(_dump(previous)) if previous else room
    pieces = [piece for row in all_rows for piece in _pieces(row, min(room, first_room))]
    chunks = _pack(pieces, first_room, room)
    return tuple(
        _document(previous if number == 1 else "", f"{number} of {len(chunks)}", chunk)
        for number, chunk in enumerate(chunks, 1)
    )


def merge_documents(partial_summaries: Sequence[str], *, limit_tokens: int) -> tuple[str, ...]:
    """Lay out partial summaries in documents to be merged, each within the limit.

    Summarise each document and call again with the answers until one document comes back: its
    answer is the summary. Every round at least halves their number. Where not even two fit, each
    is cut at its end to its share, with a marker.

    Raises:
        InvalidSettingError: the limit is below 1,024 tokens.
    """
    _check(limit_tokens)
    room = limit_tokens - _FRAME_TOKENS
    texts = [_shortened(text, room // 2) for text in partial_summaries]
    groups = _pack([_dump(text) for text in texts], room, room)
    return tuple(f'{{"partialSummaries":[{",".join(group)}]}}' for group in groups)


def _check(limit_tokens: int) -> None:
    if limit_tokens < MIN_DOCUMENT_TOKENS:
        raise InvalidSettingError(
            "summary input limit", limit_tokens, f"at least {MIN_DOCUMENT_TOKENS} tokens"
        )


def _dump(value: Json) -> str:
    """Give compact JSON that can be encoded: a lone surrogate becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode("utf-8")


def _members(**fields: str | int) -> str:
    short = {
        name: value[:_MAX_NAME_CHARS] if isinstance(value, str) else value
        for name, value in fields.items()
    }
    return _dump({**short})[1:-1]


def _text_row(text: str, **head: str | int) -> SummaryRow:
    return SummaryRow(head=_members(**head), key="text", body=_dump(text))


def _document(previous_summary: str, part: str, rows: Sequence[str]) -> str:
    members = [
        *([f'"previousSummary":{_dump(previous_summary)}'] if previous_summary else []),
        *([f'"part":"{part}"'] if part else []),
        f'"conversation":[{",".join(rows)}]',
    ]
    return f"{{{','.join(members)}}}"


def _cost(item: str) -> int:
    """Tokens of an item with the comma behind it; a sum of costs never falls short."""
    return text_tokens(item + ",")


def _pack(items: Sequence[str], first_room: int, room: int) -> list[list[str]]:
    groups: list[list[str]] = []
    left = 0
    for item in items:
        cost = _cost(item)
        if not groups or cost > left:
            left = room if groups else first_room
            groups.append([])
        groups[-1].append(item)
        left -= cost
    return groups


def _pieces(row: SummaryRow, room: int) -> list[str]:
    """Give the row as JSON, in pieces that each fit ``room`` if it does not fit whole."""
    if _cost(row.json) <= room:
        return [row.json]
    text: str = json.loads(row.body) if row.is_text else row.body
    frame = replace(row, head=f'{row.head},"piece":"{len(text)} of {len(text)}"', body="")
    piece_room = room - _cost(frame.json) - 1
    parts = _split(text, piece_room)
    return [
        replace(row, head=f'{row.head},"piece":"{number} of {len(parts)}"', body=_dump(part)).json
        for number, part in enumerate(parts, 1)
    ]


def _split(text: str, room: int) -> list[str]:
    """Split ``text`` into the longest pieces whose JSON strings each cost at most ``room``."""
    parts: list[str] = []
    start = 0
    while start < len(text):
        size = _longest_prefix(text, start, room)
        parts.append(text[start : start + size])
        start += size
    return parts


def _longest_prefix(text: str, start: int, room: int) -> int:
    """Find how many characters from ``start`` fit ``room`` as a JSON string; at least one."""
    low, high = 1, min(len(text) - start, 4 * max(room, 1))
    while low < high:
        middle = (low + high + 1) // 2
        if text_tokens(_dump(text[start : start + middle])) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _shortened(text: str, room: int) -> str:
    if _cost(_dump(text)) <= room:
        return text
    marker = f"\n[{len(text):,} characters in all; the end is left out]"
    size = _longest_prefix(text, 0, room - _cost(_dump(marker)))
    return text[:size] + marker
