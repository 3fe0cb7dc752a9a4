"""A history of which only the newest messages are held; earlier ones are read when looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import overload

from pydantic_ai.messages import ModelMessage

Originals = Callable[[int, int], Sequence[ModelMessage]]
"""Reads the stored messages ``start <= index < stop``; blocks."""

CHUNK = 64
"""Messages read at a time where many are looked at one after another."""


class History(Sequence[ModelMessage]):
    """Every message, originals, oldest first. Looking at one that is not held reads it, and blocks.

    Attributes:
        first: messages from here on are held.
        is_stored: all of them can be read again, so none need be held.
    """

    def __init__(
        self,
        messages: Iterable[ModelMessage] = (),
        *,
        first: int = 0,
        shown: Mapping[int, ModelMessage] | None = None,
        originals: Originals | None = None,
    ) -> None:
        """Take a history up.

        Args:
            messages: those from ``first`` on.
            first: index of the first of them.
            shown: earlier ones that are held too, by index.
            originals: reads what is not held.
        """
        self.first = first
        self._held = list(messages)
        self._shown = dict(shown or {})
        self._originals = originals

    @property
    def is_stored(self) -> bool:
        """Whether there is a store to read originals from."""
        return self._originals is not None

    def __len__(self) -> int:
        return self.first + len(self._held)

    @overload
    def __getitem__(self, index: int) -> ModelMessage: ...
    @overload
    def __getitem__(self, index: slice) -> list[ModelMessage]: ...
    def __getitem__(self, index: int | slice) -> ModelMessage | list[ModelMessage]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return [self[number] for number in range(start, stop, step)]
            return self._between(start, stop)
        number = range(len(self))[index]
        if number in self._shown:
            return self._shown[number]
        return self._between(number, number + 1)[0]

    def __iter__(self) -> Iterator[ModelMessage]:
        return self.read(0, len(self))

    def read(self, start: int, stop: int) -> Iterator[ModelMessage]:
        """Yield the messages ``start <= index < stop``, reading a chunk at a time."""
        for begin in range(start, stop, CHUNK):
            yield from self._between(begin, min(stop, begin + CHUNK))

    def _between(self, start: int, stop: int) -> list[ModelMessage]:
        held = self._held[max(0, start - self.first) : max(0, stop - self.first)]
        if start >= min(stop, self.first) or self._originals is None:
            return held
        return [*self._originals(start, min(stop, self.first)), *held]

    def append(self, message: ModelMessage) -> None:
        """Add the next message."""
        self._held.append(message)

    def holding(self, first: int, shown: Iterable[int] = ()) -> History:
        """Give the same history with other messages held.

        Args:
            first: the messages from here on.
            shown: earlier ones to hold, too.
        """
        return History(
            self[first:],
            first=first,
            shown={index: self[index] for index in shown},
            originals=self._originals,
        )
