"""Reading a page of a stored session without opening it, which would read all that is live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic_ai.messages import ModelMessage

from palimpsest.core.errors import SessionNotFoundError
from palimpsest.core.records import ViewState, fold_records
from palimpsest.storage.files import Files
from palimpsest.storage.framing import MalformedError, decode_message
from palimpsest.storage.layout import Layout, Source, read_trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Consecutive messages of a history.

    Attributes:
        messages: originals, oldest first.
        first: index in the history of the first of them.
        total: messages of the whole history.
        state: what all records add up to.
    """

    messages: Sequence[ModelMessage]
    first: int
    total: int
    state: ViewState


def page_bounds(total: int, *, before: int | None, limit: int) -> tuple[int, int]:
    """Give start (inclusive) and stop (exclusive) of the page before an index; None is the end."""
    stop = total if before is None else min(before, total)
    return max(0, stop - limit), stop


def peek(path: Path, *, before: int | None, limit: int) -> Page | None:
    """Read a page of a session file; takes no lock, and costs the page and what line 1 says.

    None where the file does not vouch for itself, or holds another session than it is named for:
    only opening it tells what is in it.

    Args:
        path: the file; another process may be working on it.
        before: the page ends before this index; None is the end.
        limit: messages at most.

    Raises:
        SessionNotFoundError: there is no such file.
        OSError: it cannot be read.
    """
    try:
        source = Source(Files(), path)
    except FileNotFoundError:
        raise SessionNotFoundError(str(path)) from None
    with source:
        layout = read_trusted(source)
        if layout is None or layout.header.id != path.stem:
            return None
        start, stop = page_bounds(layout.message_count, before=before, limit=limit)
        try:
            messages = _messages(source, layout, start, stop)
            if len(messages) < stop - start:  # a digest may lie about how many lines it covers
                return None
            return Page(
                messages=messages,
                first=start,
                total=layout.message_count,
                state=fold_records(stored.record for stored in layout.records),
            )
        except (MalformedError, KeyError):  # a restore may name a checkpoint that is not there
            return None


def _messages(source: Source, layout: Layout, start: int, stop: int) -> list[ModelMessage]:
    return [
        decode_message(line)
        for segment in layout.covering(start, stop)
        for index, line in enumerate(source.lines(segment.start, segment.stop), segment.first)
        if start <= index < stop
    ]
