"""The engine's central idea: measure once, plan on numbers.

An outline is all that the core knows of a history. A format adapter turns each message into a
``MessageOutline`` exactly once; from then on every question is answered from running sums, so its
cost does not grow with the session.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple, TypeAlias

from palimpsest.core.budget import Measure

PartKind: TypeAlias = Literal[
    "system",
    "user",
    "text",
    "thinking",
    "tool_call",
    "tool_return",
    "feedback",
    "media",
    "opaque",
]


class Position(NamedTuple):
    """A part of a message of the history; both indices 0-based."""

    message: int
    part: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Size of the model-visible text of a tool return, without name, id and envelope.

    Attributes:
        characters: code points; pruning sizes are ``characters // 4``.
        tokens: estimate of SPEC section 2.
        bytes: UTF-8 bytes.
    """

    characters: int
    tokens: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What the core knows of one part.

    Attributes:
        kind: what the part is.
        tokens: estimate of the whole part, with the message envelope where the part is a message
            of its own for the provider (each tool return, prompt and system text).
        bytes: rendered UTF-8 bytes plus base64 of media.
        content: size of a tool return's text; None for every other kind.
        tool_name: of tool calls and returns, else empty.
        call_id: of tool calls and returns, else empty.
        is_error: the tool return reports no success.
        clearable: the view may show a placeholder in its place.
        lasting: stays in effect when its prefix is summarised, so the view folds it into its head
            (system texts, instructions, loaded capabilities, revealed tools).
    """

    kind: PartKind
    tokens: int
    bytes: int = 0
    content: Content | None = None
    tool_name: str = ""
    call_id: str = ""
    is_error: bool = False
    clearable: bool = False
    lasting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageOutline:
    """What the core knows of one message.

    Attributes:
        parts: in the message's own order.
        envelope_tokens: cost of the message besides its parts (a reply is one provider message).
        is_reply: the model wrote it; a reply starts a step.
        starts_turn: it is the person's prompt. Ignored where the message also carries a tool
            return or feedback: such a message never starts a turn.
    """

    parts: tuple[Part, ...]
    envelope_tokens: int = 0
    is_reply: bool = False
    starts_turn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """All that a cut leaves to be known of the messages before it.

    Attributes:
        count: how many messages.
        turns: how many of them start a turn.
        steps: how many of them start a step.
        prompt: the newest of those that start a turn, or None.
        lasting: messages with parts that stay in effect, ascending.
    """

    count: int
    turns: int
    steps: int
    prompt: int | None
    lasting: tuple[int, ...]

    @property
    def known(self) -> tuple[int, ...]:
        """Messages that a view after the cut may show parts of, ascending."""
        return tuple(sorted({*self.lasting, *(() if self.prompt is None else (self.prompt,))}))


_UNKNOWN = MessageOutline(parts=())


class Outline:
    """The measured history, append-only. All indices are 0-based, all ranges half-open.

    Attributes:
        prompts: messages that start a turn, ascending.
        turn_starts: prompts at which the view may be cut, ascending: all but those that would
            tear a call and its result apart.
        step_starts: replies at which a turn may be split, ascending, under the same rule.
        outputs: tool returns, ascending.
        lasting: parts that stay in effect when summarised, ascending.
        orphans: tool returns that answer no open call, ascending.
        messages_measured: how many messages were ever measured; a preflight adds only new ones.
        first: messages before this one are known as far as a view cut there needs them.
    """

    def __init__(self, messages: Sequence[MessageOutline] = ()) -> None:
        self.prompts: list[int] = []
        self.turn_starts: list[int] = []
        self.step_starts: list[int] = []
        self.outputs: list[Position] = []
        self.lasting: list[Position] = []
        self.orphans: list[Position] = []
        self.first = 0
        self.messages_measured = 0
        self._earlier_turns = 0
        self._earlier_steps = 0
        self._messages: list[MessageOutline] = []
        self._tokens = [0]
        self._bytes = [0]
        self._open_calls: dict[str, Position] = {}
        for message in messages:
            self.append(message)

    @classmethod
    def following(cls, prefix: Prefix, known: Mapping[int, MessageOutline]) -> Outline:
        """Start behind a prefix whose messages are not measured again.

        Args:
            prefix: what its cut left to be known.
            known: those of its messages that ``prefix.known`` names.
        """
        outline = cls()
        outline.first = prefix.count
        outline.messages_measured = len(known)
        outline._earlier_steps = prefix.steps
        if prefix.prompt is not None:
            outline.prompts.append(prefix.prompt)
            outline._earlier_turns = prefix.turns - 1
        outline._messages = [_UNKNOWN] * prefix.count
        tokens, sizes = [0] * (prefix.count + 1), [0] * (prefix.count + 1)
        for index, message in known.items():
            outline._messages[index] = message
            tokens[index + 1] = message.envelope_tokens + sum(p.tokens for p in message.parts)
            sizes[index + 1] = sum(part.bytes for part in message.parts)
        outline._tokens, outline._bytes = list(accumulate(tokens)), list(accumulate(sizes))
        for index in prefix.lasting:
            parts = enumerate(outline._messages[index].parts)
            outline.lasting += [Position(index, n) for n, part in parts if part.lasting]
        return outline

    def prefix(self, count: int) -> Prefix:
        """Give what a cut before message ``count`` leaves to be known; not one before ``first``."""
        return Prefix(
            count=count,
            turns=self.turns_before(count),
            steps=self.steps_before(count),
            prompt=self.prompt_of(count - 1),
            lasting=tuple(sorted({at.message for at in self.lasting if at.message < count})),
        )

    def append(self, message: MessageOutline) -> None:
        """Add the next message; costs its parts only."""
        index = len(self._messages)
        self.messages_measured += 1
        answers = any(part.kind in {"tool_return", "feedback"} for part in message.parts)
        if message.starts_turn and not message.is_reply and not answers:
            self.prompts.append(index)
            self.turn_starts.append(index)
        if message.is_reply:
            self.step_starts.append(index)
        tokens, size_bytes = message.envelope_tokens, 0
        for part_index, part in enumerate(message.parts):
            tokens += part.tokens
            size_bytes += part.bytes
            self._note(Position(index, part_index), part)
        self._messages.append(message)
        self._tokens.append(self._tokens[-1] + tokens)
        self._bytes.append(self._bytes[-1] + size_bytes)

    def _note(self, position: Position, part: Part) -> None:
        if part.lasting:
            self.lasting.append(position)
        if part.kind == "tool_call":
            self._open_calls[part.call_id] = position
        elif part.kind == "tool_return":
            self.outputs.append(position)
            call = self._open_calls.pop(part.call_id, None)
            if call is None:
                self.orphans.append(position)
            else:
                _forbid_after(self.turn_starts, call.message)
                _forbid_after(self.step_starts, call.message)

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, index: int) -> MessageOutline:
        return self._messages[index]

    def part(self, position: Position) -> Part:
        """Give the part at a position."""
        return self._messages[position.message].parts[position.part]

    def measure_between(self, start: int, stop: int) -> Measure:
        """Give the size of the messages ``start <= index < stop``."""
        return Measure(
            tokens=self._tokens[stop] - self._tokens[start],
            bytes=self._bytes[stop] - self._bytes[start],
        )

    def turns_before(self, index: int) -> int:
        """Count the turns that start before ``index``."""
        return self._earlier_turns + bisect_left(self.prompts, index)

    def steps_before(self, index: int) -> int:
        """Count the steps that start before ``index``."""
        return self._earlier_steps + bisect_left(self.step_starts, index)

    def prompt_of(self, index: int) -> int | None:
        """Give the prompt of the turn that holds message ``index``; None before the first."""
        count = bisect_right(self.prompts, index)
        return self.prompts[count - 1] if count else None

    @property
    def has_open_calls(self) -> bool:
        """Whether any call has no result yet."""
        return bool(self._open_calls)

    def unanswered(self) -> Sequence[Position]:
        """Give the calls that have no result yet, oldest first."""
        return sorted(self._open_calls.values())


def _forbid_after(cuts: list[int], message: int) -> None:
    """Remove the cuts that would part the call in ``message`` from the result just added."""
    while cuts and cuts[-1] > message:
        cuts.pop()
