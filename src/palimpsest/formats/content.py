"""Reading values of any shape: a recording may hold anything where something was expected."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from pydantic_ai.messages import BinaryContent, ImageUrl, UserContent

from palimpsest.core.estimate import compact_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from palimpsest.core.excerpt import Json

Record: TypeAlias = "dict[str, Json]"
Content: TypeAlias = "str | list[UserContent]"

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Of what has no time of its own, so that the same input gives the same messages."""

_MILLISECONDS_FROM = 1e11


def as_record(value: Json) -> Record:
    """The object itself, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """The list itself, or an empty one for anything else."""
    return value if isinstance(value, list) else []


_LARGEST_COUNT = 2**53
"""Beyond this a JSON number is no exact count."""


def as_text(value: Json) -> str:
    """The string itself, or an empty one for anything else."""
    return value if isinstance(value, str) else ""


def as_count(value: Json) -> int:
    """A whole number ≥ 0; 0 for anything that is none, or too large to count anything."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _LARGEST_COUNT else 0


def as_time(value: Json) -> datetime:
    """ISO text, or seconds or milliseconds since 1970; the epoch for anything else."""
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if value > _MILLISECONDS_FROM else value
            return datetime.fromtimestamp(seconds, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return EPOCH
    return EPOCH


def as_arguments(value: Json) -> str | dict[str, Json]:
    """Tool arguments: an object as it is; JSON text of an object parsed; other text raw."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        return {} if value is None else compact_json(value)
    try:
        parsed: Json = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, dict) else value


def image(data: Json, media_type: Json) -> BinaryContent | None:
    """Base64 media, or None where the data does not decode."""
    try:
        decoded = base64.b64decode(as_text(data), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not decoded:
        return None
    return BinaryContent(data=decoded, media_type=as_text(media_type) or "application/octet-stream")


def data_url(url: str) -> BinaryContent | None:
    """The content of a base64 ``data:`` URL, or None for any other URL."""
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        return None
    return image(data, head.removeprefix("data:").removesuffix(";base64"))


def linked_image(url: str) -> UserContent | None:
    """An image behind a URL: its data where the URL holds them, else its address."""
    if url.startswith(("http://", "https://")):
        return ImageUrl(url=url)
    return data_url(url)


def block_content(block: Json) -> UserContent:
    """One content block of any known dialect; an unknown one as its JSON text."""
    if isinstance(block, str):
        return block
    fields = as_record(block)
    found: UserContent | None = None
    match fields.get("type"):
        case "text" | "input_text" | "output_text" if isinstance(fields.get("text"), str):
            found = as_text(fields.get("text"))
        case "image" | "document" if isinstance(fields.get("source"), dict):
            source = as_record(fields.get("source"))
            if source.get("type") == "url" and fields.get("type") == "image":
                found = linked_image(as_text(source.get("url")))
            else:
                found = image(source.get("data"), source.get("media_type"))
        case "image":
            found = image(fields.get("data"), fields.get("mimeType"))
        case "image_url":
            found = linked_image(as_text(as_record(fields.get("image_url")).get("url")))
        case "input_image" if fields.get("image_url"):
            found = linked_image(as_text(fields.get("image_url")))
        case "input_audio":
            audio = as_record(fields.get("input_audio"))
            found = image(audio.get("data"), f"audio/{as_text(audio.get('format')) or 'wav'}")
        case "input_file" if fields.get("file_data"):
            found = data_url(as_text(fields.get("file_data")))
        case "file" if isinstance(fields.get("content"), str):
            found = f"{as_text(fields.get('path'))}\n{as_text(fields.get('content'))}"
        case _:
            pass
    return compact_json(block) if found is None else found


def content_of(value: Json) -> Content:
    """Message content: text where there is only text, else the list of its pieces."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return joined([block_content(block) for block in value])
    return "" if value is None else compact_json(value)


def joined(pieces: Sequence[UserContent]) -> Content:
    """One string where all pieces are text (a line break between them), else the list."""
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "\n".join(texts) if len(texts) == len(pieces) else list(pieces)


def text_of(value: Json) -> str:
    """The text of message content; media and unknown blocks as JSON."""
    content = content_of(value)
    if isinstance(content, str):
        return content
    return "\n".join(piece for piece in content if isinstance(piece, str))


def image_count(value: Json) -> int:
    """Image blocks directly in a content list."""
    return sum(
        as_text(as_record(block).get("type")) in {"image", "image_url"} for block in as_list(value)
    )


def without_cache_marks(value: Json) -> Json:
    """The value without ``cache_control`` at any depth: callers move these marks as they go on."""
    if isinstance(value, dict):
        return {
            key: without_cache_marks(item) for key, item in value.items() if key != "cache_control"
        }
    return [without_cache_marks(item) for item in value] if isinstance(value, list) else value


def is_plain_text(message: Json) -> bool:
    """Whether a message says nothing but text, so that it could be of several dialects."""
    fields = as_record(message)
    if fields.keys() != {"role", "content"}:
        return False
    content = fields["content"]
    return isinstance(content, str) or (
        isinstance(content, list) and all(map(_is_text_block, content))
    )


def _is_text_block(block: Json) -> bool:
    match block:
        case {"type": "text", "text": str(), **rest}:
            return rest.keys() <= {"cache_control"}
        case _:
            return False


def with_plain_text(message: Record) -> Record:
    """The message, its content as text where one text block is all: a mark needs a block."""
    match message.get("content"):
        case [{"type": "text", "text": str(text), **rest}] if rest.keys() <= {"cache_control"}:
            return {**message, "content": text}
        case _:
            return message
