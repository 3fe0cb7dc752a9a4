"""Images, audio, documents and unknown content of pydantic-ai messages: sizes and markers."""

from __future__ import annotations

import re
from typing import Literal

from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    CachePoint,
    FilePart,
    FileUrl,
    ImageUrl,
    TextContent,
    UploadedFile,
    VideoUrl,
)
from pydantic_core import to_json

from palimpsest.core.estimate import MEDIA_TOKENS, pdf_tokens, text_bytes, text_tokens
from palimpsest.core.excerpt import Marker

_PDF_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")


def is_media(item: object) -> bool:
    """Whether a content item is a file: named in excerpts, never quoted."""
    return isinstance(item, BinaryContent | FileUrl | UploadedFile)


def measure_item(item: object) -> tuple[int, int]:
    """Give tokens and bytes of one content item of a prompt or tool return."""
    match item:
        case str():
            return text_tokens(item), text_bytes(item)
        case TextContent():
            return text_tokens(item.content), text_bytes(item.content)
        case BinaryContent():
            return _binary_tokens(item), _base64_bytes(len(item.data))
        case FileUrl():
            return MEDIA_TOKENS, text_bytes(item.url)
        case UploadedFile():
            return MEDIA_TOKENS, text_bytes(item.file_id)
        case CachePoint():
            return 0, 0
        case _:
            return measure_opaque(item)


def measure_opaque(value: object) -> tuple[int, int]:
    """Measure something unknown by its JSON rendering, or by its ``repr`` where it has none."""
    if isinstance(value, FilePart):
        return measure_item(value.content)
    try:
        text = to_json(value, fallback=repr, bytes_mode="base64").decode()
    except ValueError:  # a lone surrogate, a cycle
        text = repr(value)
    return text_tokens(text), text_bytes(text)


def media_marker(item: object) -> Marker:
    """Name a file by kind, media type and size."""
    match item:
        case BinaryContent():
            return Marker(
                what=_media_kind(item.media_type), media_type=item.media_type, bytes=len(item.data)
            )
        case ImageUrl():
            return Marker(what="image", media_type="", bytes=0)
        case AudioUrl():
            return Marker(what="audio", media_type="", bytes=0)
        case VideoUrl():
            return Marker(what="video", media_type="", bytes=0)
        case _:
            return Marker(what="document", media_type="", bytes=0)


def _media_kind(media_type: str) -> Literal["image", "audio", "video", "document"]:
    match media_type.partition("/")[0]:
        case "image":
            return "image"
        case "audio":
            return "audio"
        case "video":
            return "video"
        case _:
            return "document"


def _binary_tokens(item: BinaryContent) -> int:
    if item.media_type == "application/pdf":
        pages = len(_PDF_PAGE.findall(item.data))
        return pdf_tokens(pages or None, len(item.data))
    if item.media_type.startswith("text/"):
        return text_tokens(item.data.decode("utf-8", "replace"))
    return MEDIA_TOKENS


def _base64_bytes(size: int) -> int:
    return 4 * -(-size // 3)
