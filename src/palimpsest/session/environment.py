"""Clock and ids, handed in so that tests can freeze them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


class Environment(Protocol):
    """What a session takes from the world besides its store and its model."""

    def now(self) -> datetime:
        """Give the time, with its zone."""
        ...

    def now_ms(self) -> int:
        """Give the time in milliseconds since the epoch."""
        ...

    def new_id(self) -> str:
        """Give a new UUID."""
        ...


@dataclass(frozen=True, slots=True)
class SystemEnvironment:
    """The machine's own clock and random ids."""

    def now(self) -> datetime:
        """Give the time, with its zone."""
        return datetime.now(tz=UTC)

    def now_ms(self) -> int:
        """Give the time in milliseconds since the epoch."""
        return int(self.now().timestamp() * 1000)

    def new_id(self) -> str:
        """Give a random UUID."""
        return str(uuid.uuid4())
