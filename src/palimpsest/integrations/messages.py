"""Plain lists of message objects, in and out: OpenAI Chat, Anthropic, OpenAI Responses, Google.

Two lines in any loop: ``compacted = await compact_messages(messages, model=…, state=state)``, then
send ``compacted.messages`` and keep ``compacted.state``. ``run_sync`` is for code without a loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from anyio.from_thread import start_blocking_portal
from pydantic_ai.models import Model

from palimpsest.core.errors import InvalidSettingError
from palimpsest.formats.anthropic_messages import PROVIDER, AnthropicMessages
from palimpsest.formats.content import Record, as_list, as_record, as_text
from palimpsest.formats.dialect import Dialect
from palimpsest.formats.google_contents import GoogleContents
from palimpsest.formats.openai_chat import OpenAIChat
from palimpsest.formats.openai_responses import OpenAIResponses
from palimpsest.integrations.compactor import (
    CompactedMessages,
    Compactor,
    CompactorSettings,
    Overhead,
)
from palimpsest.models.limits import NO_CHOICES, LimitChoices
from palimpsest.models.state import CompactionState
from palimpsest.models.summarizer import Summarizer

_T = TypeVar("_T")

Messages = Sequence[Mapping[str, Any]]

DIALECTS: Mapping[str, Dialect[Record]] = {
    dialect.name: dialect
    for dialect in (OpenAIChat(), AnthropicMessages(), OpenAIResponses(), GoogleContents())
}
"""By name, as ``dialect=`` takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marks:
    """What only one dialect has: fields of messages, types of content blocks."""

    fields: frozenset[str] = frozenset()
    blocks: frozenset[str] = frozenset()


_MARKS: Mapping[str, _Marks] = {
    OpenAIChat.name: _Marks(
        fields=frozenset({"tool_calls", "tool_call_id", "function_call"}),
        blocks=frozenset({"image_url"}),
    ),
    AnthropicMessages.name: _Marks(
        blocks=frozenset(
            {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"}
            | {"server_tool_use", "mcp_tool_use"}
        ),
    ),
    OpenAIResponses.name: _Marks(
        fields=frozenset({"type"}),
        blocks=frozenset({"input_text", "output_text", "input_image", "input_file"}),
    ),
    GoogleContents.name: _Marks(fields=frozenset({"parts"})),
}


async def compact_messages(
    messages: Messages,
    *,
    model: str | Model | None = None,
    limits: LimitChoices = NO_CHOICES,
    summarizer: Summarizer | None = None,
    state: CompactionState | None = None,
    system: object = None,
    tools: Sequence[Mapping[str, Any]] = (),
    dialect: str = "",
) -> CompactedMessages[dict[str, Any]]:
    """Give the messages to send in place of a history, compacted where it comes under pressure.

    The dialect is seen from the messages, and where they are plain text from the name of an
    Anthropic model; out comes the same one. ``message_compactor`` has more to
    choose from.

    Args:
        messages: the whole history, oldest first; never changed.
        model: its name says how much fits; None assumes 128,000 tokens.
        limits: window, largest answer and bytes, where the caller knows better.
        summarizer: None summarises without a model.
        state: of the newest call for this history; None begins.
        system: system text that is sent beside the messages.
        tools: declarations that are sent.
        dialect: one of ``DIALECTS``, where it should not be seen from the messages.

    Raises:
        InvalidSettingError: there is no dialect of that name.
        InvalidMessageError: a message cannot be read, and why.
        ForeignStateError: the state belongs to another history, and where they differ.
        MessagesDoNotFitError: the request does not fit and nothing made it fit; it holds the
            state with what was done.
    """
    settings = CompactorSettings(model=model, limits=limits, summarizer=summarizer)
    overhead = Overhead(system=cast("Any", system), tools=tools)
    compactor = message_compactor(messages, settings=settings, dialect=dialect)
    return await compactor.compact(_records(messages), state=state, overhead=overhead)


def prune_messages(
    messages: Messages,
    *,
    model: str | Model | None = None,
    limits: LimitChoices = NO_CHOICES,
    state: CompactionState | None = None,
    dialect: str = "",
) -> CompactedMessages[dict[str, Any]]:
    """Give the messages to send in place of a history, with old tool outputs cleared.

    Args:
        messages: the whole history, oldest first; never changed.
        model: its name says how large the window is, and so what is old.
        limits: window, where the caller knows better.
        state: of the newest call for this history; None begins.
        dialect: one of ``DIALECTS``, where it should not be seen from the messages.

    Raises:
        InvalidSettingError: there is no dialect of that name.
        InvalidMessageError: a message cannot be read, and why.
        ForeignStateError: the state belongs to another history, and where they differ.
    """
    settings = CompactorSettings(model=model, limits=limits)
    compactor = message_compactor(messages, settings=settings, dialect=dialect)
    return compactor.prune(_records(messages), state=state)


def message_compactor(
    messages: Messages = (), *, settings: CompactorSettings, dialect: str = ""
) -> Compactor[dict[str, Any]]:
    """Give a compactor for messages like these.

    Args:
        messages: by which the dialect is seen, where none is named.
        settings: choices that stay the same from call to call.
        dialect: one of ``DIALECTS``.

    Raises:
        InvalidSettingError: there is no dialect of that name.
    """
    if dialect and dialect not in DIALECTS:
        raise InvalidSettingError("dialect", dialect, f"one of {', '.join(DIALECTS)}")
    return Compactor(DIALECTS[dialect or detect_dialect(messages, model=settings.model)], settings)


def detect_dialect(messages: Messages, *, model: str | Model | None = None) -> str:
    """Name the dialect of messages; where several would do, it is the model's.

    Args:
        messages: the history, oldest first.
        model: that is asked, by name or itself. One of Anthropic's (``claude-…``,
            ``anthropic:…``) is taken to be asked in its own dialect, any other in ``openai-chat``.
    """
    for message in _records(messages):
        for name, marks in _MARKS.items():
            if marks.fields & as_record(message).keys():
                return name
        for block in map(as_record, as_list(as_record(message).get("content"))):
            for name, marks in _MARKS.items():
                if as_text(block.get("type")) in marks.blocks:
                    return name
    return AnthropicMessages.name if _is_anthropic(model) else OpenAIChat.name


def _is_anthropic(model: str | Model | None) -> bool:
    if isinstance(model, Model):
        return model.system == PROVIDER
    return (model or "").startswith((f"{PROVIDER}:", "claude"))


def run_sync(work: Coroutine[Any, Any, _T]) -> _T:
    """Run one of these coroutines from code that has no event loop, and wait for it.

    Inside a running loop, as in a notebook, it runs in a thread of its own meanwhile.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)

    async def run() -> _T:
        return await work

    with start_blocking_portal() as portal:
        return portal.call(run)


def _records(messages: Messages) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", list(messages))
