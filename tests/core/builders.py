"""Outlines built from sizes, for tests that plan on numbers."""

from __future__ import annotations

from collections.abc import Iterable

from palimpsest.core.outline import Content, MessageOutline, Outline, Part, Prefix
from palimpsest.core.records import Checkpoint


def prompt(tokens: int, *, bytes: int = 0, lasting: bool = False) -> MessageOutline:
    """A person's prompt of so many tokens."""
    parts = [Part(kind="user", tokens=tokens, bytes=bytes)]
    if lasting:
        parts.insert(0, Part(kind="system", tokens=7, lasting=True))
    return MessageOutline(parts=tuple(parts), starts_turn=True)


def injected(tokens: int) -> MessageOutline:
    """User-role text that nobody typed."""
    return MessageOutline(parts=(Part(kind="user", tokens=tokens),))


def reply(tokens: int, calls: Iterable[str] = (), *, call_tokens: int = 0) -> MessageOutline:
    """A model reply with calls of the given ids."""
    parts = [Part(kind="text", tokens=tokens)]
    parts += [
        Part(kind="tool_call", tokens=call_tokens, tool_name="read", call_id=call) for call in calls
    ]
    return MessageOutline(parts=tuple(parts), is_reply=True)


def output(call: str, tokens: int, *, tool: str = "read", error: bool = False) -> Part:
    """A tool return whose text has ``tokens`` tokens in ASCII."""
    return Part(
        kind="tool_return",
        tokens=tokens,
        bytes=4 * tokens,
        content=Content(characters=4 * tokens, tokens=tokens, bytes=4 * tokens),
        tool_name=tool,
        call_id=call,
        is_error=error,
        clearable=True,
    )


def results(*parts: Part) -> MessageOutline:
    """The results of one step."""
    return MessageOutline(parts=parts)


def step(call: str, tokens: int) -> list[MessageOutline]:
    """A reply with one call, and its result."""
    return [reply(0, [call]), results(output(call, tokens))]


def uuid(number: int) -> str:
    """A UUID for tests."""
    return f"00000000-0000-4000-8000-{number:012d}"


def checkpoint(
    cut: int,
    *,
    number: int = 1,
    base: str | None = None,
    count: int | None = None,
    split: bool = False,
    summary: str = "s",
    prefix: Prefix | None = None,
) -> Checkpoint:
    """A checkpoint with the given cut."""
    return Checkpoint(
        id=uuid(number),
        base=base,
        first_kept_message_index=cut,
        history_message_count=cut + 1 if count is None else count,
        summary=summary,
        timestamp=number,
        provider="p",
        model="m",
        split=split,
        prefix=prefix,
    )


def outline_of(messages: Iterable[MessageOutline]) -> Outline:
    """An outline of the given messages."""
    return Outline(list(messages))
