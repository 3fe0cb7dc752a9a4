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
            and all(map(_same, known[:joint], messages[:joint]))
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
        for index in range(joint + 1, len(messages)):
            message = messages[index]
            before = messages[index - 1] if index else None
            pieces.append(_pieces_of(message, before))
            new += _split(message, pieces[-1])
        return Taken(received=tuple(messages), pieces=tuple(pieces)), new


def _pieces_of(message: ModelMessage, before: ModelMessage | None) -> tuple[int, ...]:
    """Part results from the prompt behind them, where another run than theirs brought it.

    What a tool attaches to its result stands there, too; it belongs to the run of its call.
    """
    behind = 0
    for part in reversed(message.parts):
        if part.part_kind != "user-prompt":
            break
        behind += 1
    results = len(message.parts) - behind
    is_other_run = before is not None and before.run_id not in {None, message.run_id}
    if is_other_run and behind and any(map(answers, message.parts[:results])):
        return (results, behind)
    return (len(message.parts),)


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


def joined(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Join requests that follow each other, as pydantic-ai does before a model sees them."""
    found: list[ModelMessage] = []
    for message in messages:
        last = found[-1] if found else None
        if isinstance(message, ModelRequest) and isinstance(last, ModelRequest):
            parts = sorted([*last.parts, *message.parts], key=lambda part: not answers(part))
            found[-1] = replace(last, parts=parts)
        else:
            found.append(message)
    return found


def _same(message: ModelMessage, earlier: ModelMessage) -> bool:
    """Whether two messages say the same; run and time of one that was joined are made anew."""
    alike = message.kind == earlier.kind
    return message is earlier or (alike and list(message.parts) == list(earlier.parts))


def _begins_with(message: ModelMessage, earlier: ModelMessage) -> bool:
    if _same(message, earlier):
        return True
    both = isinstance(message, ModelRequest) and isinstance(earlier, ModelRequest)
    return both and list(message.parts[: len(earlier.parts)]) == list(earlier.parts)


def _digests(messages: Sequence[ModelMessage]) -> tuple[str, ...]:
    dumped = ModelMessagesTypeAdapter.dump_python([*messages], mode="json")
    return digests_of([cast("Json", sent_fields(message)) for message in dumped])
