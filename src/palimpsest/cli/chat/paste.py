"""Large pastes stand in the input as one short marker, and are whole again when it is sent."""

from __future__ import annotations

import re

FOLDED_FROM_CHARACTERS = 2_000
FOLDED_FROM_LINES = 12

_MARKER = re.compile(r"\[pasted #(\d+): [^\]]*\]")


class Pastes:
    """The large pastes of one run of the program, numbered from 1."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def fold(self, text: str) -> str:
        """Give what stands in the input for a paste: itself, or a marker where it is large."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + 1
        if len(text) < FOLDED_FROM_CHARACTERS and lines < FOLDED_FROM_LINES:
            return text
        self._texts.append(text)
        return f"[pasted #{len(self._texts)}: {lines:,} lines, {len(text):,} characters]"

    def unfold(self, text: str) -> str:
        """Put the pastes back in the place of their markers."""
        return _MARKER.sub(lambda found: self._text(found[1], found[0]), text)

    def _text(self, number: str, marker: str) -> str:
        index = int(number[:9]) - 1
        return self._texts[index] if 0 <= index < len(self._texts) else marker


def clean(text: str) -> str:
    """Make typed text valid Unicode: bytes that were no UTF-8 become replacement characters."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
