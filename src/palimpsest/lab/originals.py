"""Whether a session's file still holds every message as it was when it was new."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from pydantic_ai.messages import ModelMessage

from palimpsest.session.doctor import examine, export_messages
from palimpsest.storage.framing import encode_message


class Originals:
    """Remembers the SHA-256 of messages, of which the history may only ever get more."""

    def __init__(self) -> None:
        self._hashes: list[bytes] = []

    def __len__(self) -> int:
        return len(self._hashes)

    def remember(self, history: Sequence[ModelMessage]) -> None:
        """Hash the messages that are new since the last call."""
        self._hashes += map(_hash, history[len(self) :])

    def count_intact(self, session_file: Path) -> int:
        """Count the messages that the file has at their place as they were; 0 if it is broken.

        Raises:
            SessionNotFoundError: there is no such file.
            OSError: it cannot be read.
        """
        if not examine(session_file).is_healthy:
            return 0
        stored = map(_hash, export_messages(session_file))
        return sum(ours == theirs for ours, theirs in zip(self._hashes, stored, strict=False))


def _hash(message: ModelMessage) -> bytes:
    return sha256(encode_message(message)).digest()
