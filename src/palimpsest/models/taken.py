"""What an agent handed over, and how it was taken in.

pydantic-ai joins requests that follow each other before a model sees them: a prompt behind the
result of an output tool becomes one message with it. What comes later is a message of its own for
the engine, so that a turn starts where the person spoke.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest

from palimpsest.core.errors import ForeignStateError
from palimpsest.core.excerpt import Json
from palimpsest.formats.pydantic_ai import answers
from palimpsest.models.seen import sent_fields
from palimpsest.models.state import CompactionState, digests_of

DIALECT = "pydantic-ai"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The messages of the newest request.

    Attributes:
        received: as the agent handed them over.
        pieces: of each, how many parts stand in each of the messages that it was taken in as.
    """

    received: tuple[ModelMessage, ...] = ()
    pieces: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def up(cls, state: CompactionState, messages: Sequence[ModelMessage]) -> Taken:
        """Take up the messages that a state was made with.

        Raises:
            ForeignStateError: they are others.
        """
        if state.dialect not in {"", DIALECT}:
            raise ForeignStateError(None, f"it was made with {state.dialect} messages")
        pairs = zip(messages, state.pieces, strict=False)
        received = tuple(_first_parts(message, sum(counts)) for message, counts in pairs)
        state.check(_digests(received))
        return cls(received=received, pieces=state.pieces)

    def digests(self) -> tuple[str, ...]:
        """Give the digest of each message, by what a provider is sent of it."""
        return _digests(self.received)

    def stored(self) -> list[ModelMessage]:
        """Give the messages as they were taken in."""
        return [
            _without_instructions(piece)
            for message, counts in zip(self.received, self.pieces, strict=True)
            for piece in _split(message, counts)
        ]

    def continues(self, messages: Sequence[ModelMessage]) -> bool:
        """Whether the messages begin with these."""
        known = self.received
        if not known:
            return True
        joint = len(known) - 1
        return (
            len(messages) > joint
            and all(
                one is two or one == two
                for one, two in zip(known[:joint], messages[:joint], strict=True)
            )
            and _begins_with(messages[joint], known[joint])
        )

    def with_new(self, messages: Sequence[ModelMessage]) -> tuple[Taken, list[ModelMessage]]:
        """Give what is taken once these messages are, and what is new in them.

        Args:
            messages: of the next request; they go on with these.
        """
        pieces = list(self.pieces)
        new: list[ModelMessage] = []
        joint = len(self.received) - 1
        if self.received:
            last, grown = self.received[joint], messages[joint]
            if len(grown.parts) > len(last.parts):
                counts = (*pieces[joint], len(grown.parts) - len(last.parts))
                pieces[joint] = counts
                new.append(_split(grown, counts)[-1])
        # Only the newest request of a new run can hold its prompt behind results of an earlier one.
        begins = bool(self.received) and messages[-1].run_id != self.received[-1].run_id
        for message in messages[joint + 1 :]:
            apart = _prompt_apart(message) if begins and message is messages[-1] else None
            pieces.append(apart or (len(message.parts),))
            new += _split(message, pieces[-1])
        return Taken(received=tuple(messages), pieces=tuple(pieces)), new


def _prompt_apart(message: ModelMessage) -> tuple[int, int] | None:
    """Give where to part results from the prompt behind them; None where there are not both."""
    behind = 0
    for part in reversed(message.parts):
        if part.part_kind != "user-prompt":
            break
        behind += 1
    before = len(message.parts) - behind
    both = behind and any(map(answers, message.parts[:before]))
    return (before, behind) if both else None


def _split(message: ModelMessage, counts: Sequence[int]) -> list[ModelMessage]:
    if len(counts) == 1 or not isinstance(message, ModelRequest):
        return [message]
    pieces: list[ModelMessage] = []
    start = 0
    for count in counts:
        pieces.append(replace(message, parts=list(message.parts[start : start + count])))
        start += count
    return pieces


def _first_parts(message: ModelMessage, count: int) -> ModelMessage:
    if len(message.parts) <= count or not isinstance(message, ModelRequest):
        return message
    return replace(message, parts=list(message.parts[:count]))


def _without_instructions(message: ModelMessage) -> ModelMessage:
    return replace(message, instructions=None) if isinstance(message, ModelRequest) else message


def _begins_with(message: ModelMessage, earlier: ModelMessage) -> bool:
    if message is earlier or message == earlier:
        return True
    both = isinstance(message, ModelRequest) and isinstance(earlier, ModelRequest)
    return both and list(message.parts[: len(earlier.parts)]) == list(earlier.parts)


def _digests(messages: Sequence[ModelMessage]) -> tuple[str, ...]:
    dumped = ModelMessagesTypeAdapter.dump_python([*messages], mode="json")
    return digests_of([cast("Json", sent_fields(message)) for message in dumped])
