"""A history of which only the newest messages are held; earlier ones are read when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import overload

from pydantic_ai.messages import ModelMessage

Originals = Callable[[int, int], Sequence[ModelMessage]]
"""Reads the stored messages ``start <= index < stop``; blocks."""

CHUNK = 256
"""Messages read at a time where many are looked at one after another."""

_MOST_REMEMBERED = 64


class History(Sequence[ModelMessage]):
    """Every message, originals, oldest first.

    Args:
        messages: those from ``first`` on.
        first: index of the first of them.
        originals: reads those before; without it all are held for ever.
    """

    def __init__(
        self,
        messages: Iterable[ModelMessage] = (),
        *,
        first: int = 0,
        originals: Originals | None = None,
    ) -> None:
        self._held = list(messages)
        self._first = first
        self._originals = originals
        self._remembered: dict[int, ModelMessage] = {}

    def __len__(self) -> int:
        return self._first + len(self._held)

    @overload
    def __getitem__(self, index: int) -> ModelMessage: ...
    @overload
    def __getitem__(self, index: slice) -> list[ModelMessage]: ...
    def __getitem__(self, index: int | slice) -> ModelMessage | list[ModelMessage]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return [self[number] for number in range(start, stop, step)]
            return self._between(start, max(start, stop))
        number = range(len(self))[index]
        if number >= self._first:
            return self._held[number - self._first]
        if number not in self._remembered:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[number] = self._between(number, number + 1)[0]
        return self._remembered[number]

    def __iter__(self) -> Iterator[ModelMessage]:
        for start in range(0, len(self), CHUNK):
            yield from self[start : start + CHUNK]

    def _between(self, start: int, stop: int) -> list[ModelMessage]:
        held = self._held[max(0, start - self._first) : max(0, stop - self._first)]
        if start >= self._first or self._originals is None:
            return held
        return [*self._originals(start, min(stop, self._first)), *held]

    def append(self, message: ModelMessage) -> None:
        """Add the next message."""
        self._held.append(message)

    def snapshot(self) -> History:
        """Give the history as it stands; costs what is held, and reads nothing."""
        return History(self._held, first=self._first, originals=self._originals)

    def forget_before(self, index: int) -> None:
        """Hold the messages before ``index`` no longer; they must be stored."""
        if self._originals is not None and index > self._first:
            del self._held[: index - self._first]
            self._first = index

    def hold_from(self, index: int) -> None:
        """Hold the messages from ``index`` on."""
        if index < self._first:
            self._held = self._between(index, len(self))
            self._first = index
