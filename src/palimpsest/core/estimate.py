"""How many tokens a text costs, estimated without a tokenizer."""

from __future__ import annotations

_NOT_ASCII = bytes(range(0x80, 0x100))
_NOT_TWO_BYTE_LEAD = bytes(byte for byte in range(0x100) if not 0xC0 <= byte < 0xE0)


def text_tokens(text: str) -> int:
    """Estimate the tokens of ``text``: a quarter for ASCII, half its UTF-8 bytes for the rest.

    Every code point above 0x7F costs its UTF-8 bytes halved and rounded up; the total is rounded
    up once. A lone surrogate costs 2. Never less for a longer text, and never more for a whole
    than for its parts.
    """
    if text.isascii():
        return (len(text) + 3) // 4
    data = text.encode("utf-8", "surrogatepass")
    ascii_points = len(data.translate(None, _NOT_ASCII))
    two_byte_points = len(data.translate(None, _NOT_TWO_BYTE_LEAD))
    longer_points = len(text) - ascii_points - two_byte_points
    return (ascii_points + 3) // 4 + two_byte_points + 2 * longer_points
