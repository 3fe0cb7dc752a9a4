"""Parts of Google contents, which the Gemini formats share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart

from palimpsest.core.estimate import compact_json
from palimpsest.formats.content import as_list, as_record, as_text, content_of, joined
from palimpsest.formats.google_contents import part_content, part_field, response_payload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Content, Record
    from palimpsest.transcripts.history import Outcome

SNAPSHOT = "<state_snapshot>"
"""What the summary of a compaction begins with."""
INJECTED = ("<session_context>", "This is the Gemini CLI.", "This is the CLI.")
"""What the client's own first words in the user role begin with."""


def parts_of(value: Json) -> list[Json]:
    """The parts that a text, a part or a list of parts stands for."""
    if isinstance(value, list):
        return value
    return [] if value is None or value == "" else [value]


def text_of_part(part: Json) -> str:
    """The text of a part; empty for any other kind."""
    return part if isinstance(part, str) else as_text(as_record(part).get("text"))


def said(parts: Sequence[Json]) -> Content:
    """Parts in the user role as content."""
    return joined([p if isinstance(p, str) else part_content(as_record(p)) for p in parts])


def reply_part(part: Json, call_id: str) -> ModelResponsePart:
    """One part of a reply; ``call_id`` is for a call that has none."""
    fields = as_record(part)
    key, call = part_field(fields, "functionCall")
    if key:
        return ToolCallPart(
            tool_name=as_text(call.get("name")) or "unknown",
            args=as_record(call.get("args")),
            tool_call_id=as_text(call.get("id")) or call_id,
        )
    text = fields.get("text")
    if not isinstance(text, str):
        return TextPart(content=part if isinstance(part, str) else compact_json(part))
    signature = as_text(fields.get("thoughtSignature")) or None
    if fields.get("thought") is True:
        provider = "google" if signature else None
        return ThinkingPart(content=text, signature=signature, provider_name=provider)
    return TextPart(content=text)


def result_content(parts: Sequence[Json]) -> tuple[Content, Outcome]:
    """What the parts of one result say, media beside it included."""
    pieces: list[Json] = []
    failed = False
    for part in parts:
        key, response = part_field(as_record(part), "functionResponse")
        payload = as_record(response.get("response"))
        failed = failed or "error" in payload
        if key:
            said_there = response_payload(payload)[1]
            pieces.append(said_there if isinstance(said_there, str) else compact_json(said_there))
            pieces.extend(as_list(response.get("parts")))
        else:
            pieces.append(part)
    content = said(pieces) if pieces else content_of(None)
    return content, "failed" if failed else "success"


def cleared_response(part: Json, text: str) -> Json:
    """A result whose payload is replaced by a text."""
    fields = as_record(part)
    key, response = part_field(fields, "functionResponse")
    payload = "error" if "error" in as_record(response.get("response")) else "output"
    kept: Record = {name: value for name, value in response.items() if name != "parts"}
    return {**fields, key or "functionResponse": {**kept, "response": {payload: text}}}
