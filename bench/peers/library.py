"""What the benchmark asks of a library: take messages in, make a request fit, say what it did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from peers.histories import Item

SUMMARY = "The agent reads handlers one after another; all is fine so far. " * 12
"""What the stub of a summariser answers, for every library."""


class Library(Protocol):
    """One way of using a library, over one conversation."""

    def take(self, items: Sequence[Item]) -> None:
        """Put new messages behind the conversation, in the library's own shape; not timed."""
        ...

    async def manage(self) -> None:
        """Do what the library does before a request; this is what is timed."""
        ...

    def sent(self) -> list[str]:
        """What would be sent now, one text a message; not timed."""
        ...

    def declared(self) -> int:
        """Changes of the context so far that a program can see: events, records, marks, spans."""
        ...

    def held(self) -> list[str]:
        """Texts of tool results that the conversation, or the library's own store, still holds."""
        ...


MakeLibrary = Callable[[int], Library]
"""Makes one for a window of so many tokens."""
