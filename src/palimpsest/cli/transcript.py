"""A session as Markdown for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from palimpsest.cli.words import call_words, when
from palimpsest.core.estimate import compact_json
from palimpsest.formats.prompts import starts_turn
from palimpsest.lab.plain import one_line, plain
from palimpsest.session.prompt_words import excerpts_of

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from palimpsest.core.excerpt import Excerpt
    from palimpsest.storage.header import SessionHeader

_TICKS = re.compile(r"`{3,}")


def transcript(header: SessionHeader | None, messages: Sequence[ModelMessage]) -> Iterator[str]:
    """Yield a heading a turn, prose as it was written, calls and results in fences."""
    if header is not None:
        yield f"# {one_line(header.title) or 'Session ' + header.id}\n\n"
        yield f"{when(header.created)} · {one_line(header.model)} · `{one_line(header.cwd)}`\n\n"
    turn = 0
    for message in messages:
        if starts_turn(message):
            turn += 1
            yield f"## {turn}\n\n"
        for row in excerpts_of(message):
            yield from _row(row)


def _row(row: Excerpt) -> Iterator[str]:
    match row.kind:
        case "user_text":
            quoted = "\n".join(f"> {line}".rstrip() for line in plain(row.text).splitlines())
            yield f"{quoted}\n\n"
        case "assistant_text":
            yield f"{plain(row.text).strip()}\n\n"
        case "tool_call":
            arguments = row.arguments
            words = arguments if isinstance(arguments, str) else compact_json(arguments)
            yield f"`{call_words(row.tool_name, words).replace('`', chr(39))}`\n\n"
        case "tool_result" | "feedback" | "injected_text":
            yield _fenced(row.text)
        case "marker":
            yield f"*[{row.what} {row.media_type}, {row.bytes:,} bytes]*\n\n"


def _fenced(text: str) -> str:
    """Put text in a fence that is longer than any in it."""
    longest = max((len(found) for found in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{plain(text).rstrip()}\n{fence}\n\n"
