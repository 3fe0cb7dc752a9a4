"""pydantic-ai histories, as ``ModelMessagesTypeAdapter`` writes them."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, cast

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryFeedbackPart,
    SystemPromptPart,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.core.estimate import compact_json
from palimpsest.formats.content import EPOCH, as_list, as_record, as_text, as_time, content_of
from palimpsest.formats.media import is_media
from palimpsest.formats.pydantic_ai import tool_return_text
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin
from palimpsest.transcripts.recording import RecordingCounts
from palimpsest.transcripts.view import Writing, kept_content

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic_ai.messages import UserContent

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Content, Record
    from palimpsest.transcripts.view import KeptRecord

FORMAT = "pydantic-ai"

_RESULTS = frozenset({"tool-return", "retry-prompt"})
_NO_TIME = EPOCH.isoformat()
_DEFAULTS: Record = {"timestamp": _NO_TIME, "tool_call_id": ""}
"""For what a part may leave out: the library would make up another value at each reading."""


def read(path: Path, document: Json) -> list[Built]:
    """The one session of a list of messages, or of an object around it."""
    messages = as_list(as_record(document).get("messages", document))
    builder = HistoryBuilder(path, range(len(messages)), has_lines=False)
    system = list[str]()
    for index, item in enumerate(messages):
        message = as_record(item)
        if message.get("kind") == "response":
            builder.reply(_reply(message), [Origin(index)])
        else:
            _add_request(builder, index, message, system)
    instructions = [as_text(as_record(item).get("instructions")) for item in messages]
    newest = next((text for text in reversed(instructions) if text), "")
    return [
        builder.build(
            format=FORMAT,
            session_id=path.stem,
            counts=counts(messages),
            system="\n\n".join(text for text in (*system, newest) if text),
        )
    ]


def _validated(message: Record) -> ModelMessage | None:
    """The message as the installed library reads it; None where it refuses."""
    known: Record = {"timestamp": _NO_TIME} if message.get("kind") == "response" else {}
    parts: list[Json] = [
        {**_DEFAULTS, **part} if isinstance(part, dict) else part
        for part in as_list(message.get("parts"))
    ]
    settled: Record = {**known, **message, "parts": parts}
    try:
        [found] = ModelMessagesTypeAdapter.validate_json(f"[{compact_json(settled)}]")
    except ValidationError:
        return None
    return found


def _reply(message: Record) -> ModelResponse:
    """A reply; a part that the installed library does not know becomes its JSON text."""
    whole = _validated(message)
    if isinstance(whole, ModelResponse):
        return whole
    parts = [_reply_of({"kind": "response", "parts": [p]}) for p in as_list(message.get("parts"))]
    frame = _reply_of({**message, "parts": []})
    frame.parts = [part for reply in parts for part in reply.parts]
    return frame


def _reply_of(message: Record) -> ModelResponse:
    found = _validated(message)
    if isinstance(found, ModelResponse):
        return found
    parts = [TextPart(content=compact_json(part)) for part in as_list(message.get("parts"))]
    at = as_time(message.get("timestamp"))
    name = as_text(message.get("model_name")) or None
    return ModelResponse(parts=parts, timestamp=at, model_name=name)


def _add_request(builder: HistoryBuilder, index: int, message: Record, system: list[str]) -> None:
    """Leading system text, results to their calls, the rest as prompts or injected text."""
    raw = as_list(message.get("parts"))
    typed = not any(as_text(as_record(part).get("part_kind")) in _RESULTS for part in raw)
    at = as_time(message.get("timestamp"))
    parts = [_part(item) for item in raw]
    leading = leading_system(parts) if index == 0 else []
    system += leading
    for number, (item, part) in enumerate(zip(raw, parts, strict=True)):
        if number < len(leading):
            continue
        origin = Origin(index, number)
        if part is not None:
            add_part(builder, part, origin, typed=typed)
        elif as_record(item).get("part_kind") == "user-prompt":
            # Content of a kind that the installed library does not know.
            said = content_of(as_record(item).get("content"))
            builder.user(said, [origin], at, typed=typed)
        else:
            builder.user(compact_json(item), [origin], at, typed=False)
    if len(leading) == len(raw):
        builder.set_aside("system" if raw else "message without parts")


def _part(item: Json) -> ModelRequestPart | None:
    """A part of a request as the installed library reads it; None where it refuses."""
    found = _validated({"kind": "request", "parts": [item]})
    return found.parts[0] if isinstance(found, ModelRequest) else None


def leading_system(parts: Sequence[ModelRequestPart | None]) -> list[str]:
    """The text of the system parts that a request begins with."""
    leading = takewhile(lambda part: isinstance(part, SystemPromptPart), parts)
    return [part.content for part in leading if isinstance(part, SystemPromptPart)]


def add_part(
    builder: HistoryBuilder, part: ModelRequestPart, origin: Origin, *, typed: bool
) -> None:
    """Add a part of a request that is no leading system text.

    Args:
        builder: takes it.
        part: the part.
        origin: where it stands.
        typed: if it is text in the user role, the person typed it.
    """
    match part:
        case UserPromptPart(content=content, timestamp=time):
            said = content if isinstance(content, str) else list(content)
            builder.user(said, [origin], time, typed=typed)
        case ToolReturnPart():
            _add_result(builder, cast("ToolReturnPart[object]", part), origin)
        case SystemPromptPart(content=text, timestamp=time):
            builder.user(text, [origin], time, typed=False)
        case RetryFeedbackPart():
            builder.user(part.model_response(), [origin], part.timestamp, typed=False)
        case _:
            message = ModelMessagesTypeAdapter.dump_python(
                [ModelRequest(parts=[part])], mode="json"
            )
            builder.user(compact_json(message[0]["parts"][0]), [origin], EPOCH, typed=False)


def _add_result(builder: HistoryBuilder, part: ToolReturnPart[object], origin: Origin) -> None:
    """Text and media stay what they are, any other value becomes the text that a model sees."""
    value = part.content
    content: Content
    if isinstance(value, str):
        content = value
    elif isinstance(value, list) and any(map(is_media, cast("list[object]", value))):
        items = cast("list[object]", value)
        content = [cast("UserContent", item) if _is_content(item) else repr(item) for item in items]
    else:
        content = tool_return_text(part)
    builder.result(part.tool_call_id, content, origin, part.timestamp, part.outcome)


def _is_content(item: object) -> bool:
    return isinstance(item, str) or is_media(item)


def counts(messages: Sequence[Json]) -> RecordingCounts:
    """Every element of the list counts as a message."""
    records = [as_record(message) for message in messages]
    parts = [as_record(part) for record in records for part in as_list(record.get("parts"))]
    kinds = [as_text(part.get("part_kind")) for part in parts]
    pieces = [as_record(piece) for part in parts for piece in as_list(part.get("content"))]
    return RecordingCounts(
        messages=len(messages),
        calls=kinds.count("tool-call"),
        results=kinds.count("tool-return"),
        images=sum(
            piece.get("kind") == "image-url" or as_text(piece.get("media_type")).startswith("image")
            for piece in pieces
        ),
        interrupted=sum(record.get("state") == "interrupted" for record in records),
    )


def _summary(text: str, replaced: Sequence[Json]) -> list[Json]:
    """A request with the system text of the one that the conversation began with."""
    system = system_parts(replaced[0] if replaced else None)
    return [{"kind": "request", "parts": [*system, {"part_kind": "user-prompt", "content": text}]}]


def system_parts(message: Json) -> list[Json]:
    """The parts of a raw request that are system text."""
    return [part for part in as_list(as_record(message).get("parts")) if _is_system(part)]


def _is_system(part: Json) -> bool:
    return as_record(part).get("part_kind") == "system-prompt"


def _shown(record: Record, kept: KeptRecord) -> Json:
    if not isinstance(record.get("parts"), list) or record.get("kind") == "response":
        return record
    system = {n for n, part in enumerate(as_list(record["parts"])) if _is_system(part)}
    blocks = None if kept.blocks is None else kept.blocks | system
    return {**record, "parts": kept_content(record["parts"], replace(kept, blocks=blocks))}


def _leads(record: Record) -> bool:
    parts = as_list(record.get("parts"))
    return bool(parts) and all(map(_is_system, parts))


WRITING = Writing(summary=_summary, shown=_shown, leads=_leads)
