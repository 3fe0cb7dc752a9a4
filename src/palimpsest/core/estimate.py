"""Token estimates without a tokenizer: SPEC section 2, as plain functions.

All results are whole tokens. Every string is rounded up by itself, then added.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palimpsest.core.excerpt import Json

MESSAGE_TOKENS = 16
"""Envelope of one message as the provider counts messages; each tool return is one."""

MEDIA_TOKENS = 1200
"""Flat cost of an image or an audio clip, and of one PDF page."""

PDF_BYTES_PER_TOKEN = 50
"""Used for a PDF whose pages cannot be counted."""

_TWO_BYTE_LEADS = bytes(range(0xC2, 0xE0))
_NOT_ASCII = bytes(range(0x80, 0x100))
_NOT_TWO_BYTE_LEADS = bytes(byte for byte in range(0x100) if byte not in _TWO_BYTE_LEADS)


def text_tokens(text: str) -> int:
    """Estimate the tokens of a text.

    A quarter token for each ASCII code point, and half its UTF-8 bytes rounded up for every other
    one; the total is rounded up once. A lone surrogate costs 2 and never raises.
    """
    if text.isascii():
        return (len(text) + 3) // 4
    data = text.encode("utf-8", "surrogatepass")
    ascii_count = len(data.translate(None, _NOT_ASCII))
    two_byte_count = len(data.translate(None, _NOT_TWO_BYTE_LEADS))
    longer_count = len(text) - ascii_count - two_byte_count
    return (ascii_count + 3) // 4 + two_byte_count + 2 * longer_count


def text_bytes(text: str) -> int:
    """Count the UTF-8 bytes of a text; a lone surrogate counts 3."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def compact_json(value: Json) -> str:
    """Render JSON without spaces, keys in their own order; what UTF-8 cannot hold is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def tool_call_text(call_id: str, tool_name: str, arguments: Json) -> str:
    """Render a tool call as it is measured."""
    return compact_json({"id": call_id, "name": tool_name, "arguments": arguments})


def pdf_tokens(page_count: int | None, size_bytes: int) -> int:
    """Estimate a PDF by its pages, or by its size where pages cannot be counted."""
    if page_count is None:
        return -(-size_bytes // PDF_BYTES_PER_TOKEN)
    return MEDIA_TOKENS * page_count


def system_tokens(text: str) -> int:
    """Estimate the system text of a request; nothing if there is none."""
    return text_tokens(text) + MESSAGE_TOKENS if text else 0


def tools_tokens(tools: Sequence[Json]) -> int:
    """Estimate the tool declarations ({name, description, parameters}) of a request."""
    return text_tokens(compact_json(list(tools))) + MESSAGE_TOKENS if tools else 0
