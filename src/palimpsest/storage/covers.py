"""What a checkpoint covers: the SHA-256 of the stored message lines before its cut."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Protocol, Self

from palimpsest.core.records import Checkpoint


class _Running(Protocol):
    def update(self, data: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...
    def copy(self) -> Self: ...


class PrefixHash:
    """The hash over the first message lines of a history, newlines included; a value.

    Attributes:
        count: how many lines it is over.
    """

    def __init__(self) -> None:
        self.count = 0
        self._running: _Running = sha256()

    def after(self, lines: Iterable[bytes]) -> PrefixHash:
        """Give the hash once these lines follow."""
        longer = PrefixHash()
        longer._running, longer.count = self._running.copy(), self.count
        for line in lines:
            longer._running.update(line)
            longer.count += 1
        return longer

    @property
    def digest(self) -> str:
        """The hash so far, hexadecimal."""
        return self._running.hexdigest()


def changed_originals(checkpoint: Checkpoint) -> str:
    """Say that the messages under a checkpoint are not those it was made of."""
    return (
        f"the {checkpoint.first_kept_message_index} messages before checkpoint {checkpoint.id} "
        "are not those that it was made of"
    )
