"""Contents of the Google Gemini API, as callers keep them: fields in camelCase or snake_case.

Calls need no id there. Results answer the calls of the content before them, by id or else by name
and order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from palimpsest.core.errors import InvalidMessageError
from palimpsest.core.estimate import compact_json
from palimpsest.core.excerpt import Json
from palimpsest.core.view import RepairRow
from palimpsest.formats.content import Record, as_list, as_record, as_text, image, joined
from palimpsest.formats.dialect import (
    CallBook,
    OpaqueBlock,
    Scan,
    ShownResult,
    Unit,
    checked_role,
    reply_of,
    request_of,
)

_ROLES = ("user", "model", "function", "system")
_PAYLOADS = ("result", "output", "error")
"""Fields of a response that hold all of it, as the API suggests them."""


class GoogleContents:
    """Contents of the Google Gemini API."""

    name = "google-contents"

    def scan(self, messages: Sequence[Record]) -> Scan:
        """Check contents, and give each call and result the id that it has or stands for."""
        ids = _pair(messages)
        units = tuple(Unit(start=index, stop=index + 1) for index in range(len(messages)))
        return Scan(units=units, read=lambda number: _read(messages[number], ids[number]))

    def identity(self, message: Record) -> Json:
        """Everything."""
        return message

    def with_results(
        self, unit: Sequence[Record], shown: Mapping[int, ShownResult | None]
    ) -> list[Record]:
        """Edit results in their parts."""
        [message] = unit
        parts: list[Json] = []
        number = 0
        for part in as_list(message.get("parts")):
            key, response = part_field(as_record(part), "functionResponse")
            if not key:
                parts.append(part)
                continue
            result = shown.get(number)
            if result is not None:
                parts.append({**as_record(part), key: _shown_response(response, result)})
            elif number not in shown:
                parts.append(part)
            number += 1
        return [{**message, "parts": parts}] if parts else []

    def summary(self, text: str, replaced: Sequence[Record]) -> Record:
        """Give a user content."""
        del replaced
        return {"role": "user", "parts": [{"text": text}]}

    def stand_in(self, unit: Sequence[Record], call: RepairRow, text: str) -> Record:
        """Give a content with a response, written as the call is."""
        keys = [part_field(as_record(part), "functionCall") for part in as_list(unit[0]["parts"])]
        key = next(key for key, made in keys if key and made.get("name") == call.tool_name)
        known = any(made.get("id") == call.call_id for _, made in keys)
        response: Record = {"name": call.tool_name, "response": {"error": text}}
        field = "function_response" if key == "function_call" else "functionResponse"
        part: Record = {field: {"id": call.call_id, **response} if known else response}
        return {"role": "user", "parts": [part]}

    def joined(self, made_up: Record, following: Record) -> Record | None:
        """Roles alternate, and responses stand in front of whatever else a content says."""
        if following.get("role") == "model":
            return None
        own, other = as_list(made_up.get("parts")), as_list(following.get("parts"))
        first = [*other, *own] if _is_response(own[0]) else [*own, *other]
        first.sort(key=lambda part: not _is_response(part))
        return {**following, "parts": first}


def part_field(part: Record, name: str) -> tuple[str, Record]:
    """Give the key under which a field stands, empty where it does not, and its value."""
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    for key in (name, snake):
        if isinstance(part.get(key), dict):
            return key, as_record(part[key])
    return "", {}


def _is_response(part: Json) -> bool:
    return bool(part_field(as_record(part), "functionResponse")[0])


def _pair(messages: Sequence[Record]) -> list[list[str]]:
    """Give the ids of each content's calls and responses, in their order.

    Raises:
        InvalidMessageError: a content is not in order.
    """
    book = CallBook()
    ids: list[list[str]] = []
    asked: list[tuple[str, str]] = []
    for index, message in enumerate(messages):
        fields, role = checked_role(index, message, _ROLES)
        parts = fields.get("parts")
        if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
            raise InvalidMessageError(index, "has parts that are no list of objects")
        found: list[str] = []
        calls: list[tuple[str, str]] = []
        for number, part in enumerate(map(as_record, parts)):
            if role == "model" and (call := part_field(part, "functionCall"))[0]:
                call_id = as_text(call[1].get("id")) or f"{index}/{number}"
                book.call(index, call_id, call[1].get("name"))
                calls.append((call_id, as_text(call[1].get("name"))))
                found.append(call_id)
            elif role != "model" and (response := part_field(part, "functionResponse"))[0]:
                found.append(_answered(asked, response[1]) or f"{index}/{number}")
                book.result(index, found[-1])
        ids.append(found)
        asked = calls if role == "model" else asked
    return ids


def _answered(asked: list[tuple[str, str]], response: Record) -> str:
    """Give the id of the call that a response answers, and strike the call out."""
    if named := as_text(response.get("id")):
        return named
    name = as_text(response.get("name"))
    found = next((call for call in asked if call[1] == name), None)
    if found is None:
        return ""
    asked.remove(found)
    return found[0]


def _read(message: Record, ids: Sequence[str]) -> ModelMessage:
    parts = [as_record(part) for part in as_list(message.get("parts"))]
    left = iter(ids)
    if message.get("role") == "model":
        return reply_of([_reply_part(part, left) for part in parts])
    results: list[object] = []
    said: list[UserContent] = []
    for part in parts:
        key, response = part_field(part, "functionResponse")
        if not key:
            said.append(part_content(part))
            continue
        result = ToolReturnPart[object](
            tool_name=as_text(response.get("name")) or "unknown",
            content=response_payload(as_record(response.get("response")))[1],
            tool_call_id=next(left),
            outcome="failed" if "error" in as_record(response.get("response")) else "success",
        )
        results.append(result)
    if message.get("role") == "system":
        return ModelRequest(parts=[SystemPromptPart(str(joined(said)))])
    return request_of([*results, UserPromptPart(content=joined(said))] if said else results)


def _reply_part(part: Record, ids: object) -> object:
    key, call = part_field(part, "functionCall")
    if key:
        arguments = call.get("args")
        return ToolCallPart(
            tool_name=as_text(call.get("name")),
            args=as_record(arguments),
            tool_call_id=next(ids),  # type: ignore[call-overload]
        )
    text = part.get("text")
    if not isinstance(text, str):
        return OpaqueBlock(block=part)
    signature = part.get("thoughtSignature", part.get("thought_signature"))
    if part.get("thought") is True:
        return ThinkingPart(content=text, signature=as_text(signature) or None)
    return TextPart(content=text)


def part_content(part: Record) -> UserContent:
    """The content of a part in the user role; one of an unknown kind as JSON text."""
    text = part.get("text")
    if isinstance(text, str):
        return text
    _, data = part_field(part, "inlineData")
    media: BinaryContent | None = None
    if data:
        media = image(data.get("data"), data.get("mimeType", data.get("mime_type")))
    return media or compact_json(part)


def response_payload(response: Record) -> tuple[str, Json]:
    """Give the field that holds all of a response, and what it holds."""
    if len(response) == 1:
        [(key, value)] = response.items()
        if key in _PAYLOADS and isinstance(value, str):
            return key, value
    return "result", response


def _shown_response(response: Record, shown: ShownResult) -> Record:
    key, _ = response_payload(as_record(response.get("response")))
    kept = {name: value for name, value in response.items() if name != "parts" or shown.keeps_media}
    return {**kept, "response": {key: shown.text}}
