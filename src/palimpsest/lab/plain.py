"""Recorded text made harmless for a terminal and a page."""

from __future__ import annotations

import unicodedata


def plain(text: str) -> str:
    """Make recorded text harmless to show: no control, no bidirectional override.

    Line breaks and tabs stay.
    """
    return "".join(
        "\ufffd" if unicodedata.category(c) in {"Cc", "Cs"} and c not in "\n\t" else c
        for c in text.replace("\r\n", "\n")
        if not ("\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069")
    )


def one_line(text: str) -> str:
    """Make recorded text harmless and put it on one line."""
    return " ".join(plain(text).split())
