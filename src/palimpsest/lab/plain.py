"""Recorded text made harmless for a terminal and a page."""

from __future__ import annotations

import unicodedata

_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(text: str) -> str:
    """Make recorded text harmless to show: no control, no bidirectional override.

    Line breaks and tabs stay.
    """
    return "".join(
        "\ufffd" if unicodedata.category(c) in {"Cc", "Cs"} and c not in "\n\t" else c
        for c in text.replace("\r\n", "\n")
        if c not in _DIRECTIONS
    )


def one_line(text: str) -> str:
    """Make recorded text harmless and put it on one line."""
    return " ".join(plain(text).split())
