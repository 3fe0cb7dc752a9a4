"""The engine's central idea: measure once, plan on numbers.

An outline is all that the core knows of a history. A format adapter turns each message into a
``MessageOutline`` exactly once; from then on every question is answered from running sums, so its
cost does not grow with the session.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """All that has to be known of the messages before a cut to go on without them.

    Attributes:
        count: how many messages: the cut.
        turns: how many of them start a turn.
        steps: how many of them start a step.
        prompt: the one that starts the turn which the cut splits, or None.
        lasting: those with parts that stay in effect, ascending.
    """

    count: int
    turns: int = 0
    steps: int = 0
    prompt: int | None = None
    lasting: tuple[int, ...] = ()

    @property
    def shown(self) -> tuple[int, ...]:
        """The messages that a view cut here may show parts of, ascending."""
        return tuple(sorted({*self.lasting, *(() if self.prompt is None else (self.prompt,))}))


NO_PREFIX = Prefix(count=0)


class Outline:
    """The measured history, append-only. All indices are 0-based, all ranges half-open.

    It may begin behind a cut: of the messages before ``first`` it then knows what a view cut there
    or later needs, and nothing else may be asked of them.

    Attributes:
        first: the first message that is known for certain; 0 unless it begins behind a cut.
        prompts: messages that start a turn, ascending.
        turn_starts: prompts at which the view may be cut, ascending: all but those that would
            tear a call and its result apart.
        replies: every reply, ascending; each starts a step.
        step_starts: replies at which a turn may be split, ascending, under the same rule.
        outputs: tool returns, ascending.
        lasting: parts that stay in effect when summarised, ascending.
        orphans: tool returns that answer no open call, ascending.
        late: tool returns behind a later turn or step than their call's, with its message.
    """

    def __init__(
        self,
        messages: Sequence[MessageOutline] = (),
        *,
        prefix: Prefix = NO_PREFIX,
        shown: Mapping[int, MessageOutline] | None = None,
    ) -> None:
        """Measure a history, or go on behind a prefix of it.

        Args:
            messages: those behind the prefix, oldest first.
            prefix: what is known of the messages before them.
            shown: those that ``prefix.shown`` names, by index.
        """
        self.first = prefix.count
        self.prompts: list[int] = [] if prefix.prompt is None else [prefix.prompt]
        self.turn_starts: list[int] = []
        self.replies: list[int] = []
        self.step_starts: list[int] = []
        self.outputs: list[Position] = []
        self.lasting: list[Position] = []
        self.orphans: list[Position] = []
        self.late: list[tuple[Position, int]] = []
        self._earlier = dict(shown or {})
        self._earlier_turns = prefix.turns - len(self.prompts)
        self._earlier_steps = prefix.steps
        for index in prefix.lasting:
            parts = enumerate(self._earlier[index].parts)
            self.lasting += [Position(index, number) for number, part in parts if part.lasting]
        self._messages: list[MessageOutline] = []
        self._tokens = [0]
        self._bytes = [0]
        self._open_calls: dict[str, list[Position]] = {}
        for message in messages:
            self.append(message)

    def append(self, message: MessageOutline) -> None:
        """Add the next message; costs its parts only."""
        index = len(self)
        answers = any(part.kind in {"tool_return", "feedback"} for part in message.parts)
        if message.starts_turn and not message.is_reply and not answers:
            self.prompts.append(index)
            self.turn_starts.append(index)
        if message.is_reply:
            self.replies.append(index)
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
            self._open_calls.setdefault(part.call_id, []).append(position)
        elif part.kind == "tool_return":
            self.outputs.append(position)
            self._answer(position, part.call_id)

    def _answer(self, position: Position, call_id: str) -> None:
        calls = self._open_calls.get(call_id)
        if not calls:
            self.orphans.append(position)
            return
        call = calls.pop(0)
        if not calls:
            del self._open_calls[call_id]
        tears_turn = _forbid_after(self.turn_starts, call.message)
        tears_step = _forbid_after(self.step_starts, call.message)
        if tears_turn or tears_step:
            self.late.append((position, call.message))

    def behind(self, cut: int) -> Outline:
        """Give the outline of the same history that begins behind a cut; costs what is behind."""
        prefix = self.prefix(cut)
        shown = {index: self[index] for index in prefix.shown}
        return Outline(self._messages[cut - self.first :], prefix=prefix, shown=shown)

    def prefix(self, cut: int) -> Prefix:
        """Give what has to be known of the messages before a cut, which is not before ``first``."""
        prompt = self.prompt_of(cut)
        return Prefix(
            count=cut,
            turns=self.turns_before(cut),
            steps=self.steps_before(cut),
            prompt=None if prompt == cut else prompt,
            lasting=tuple(sorted({at.message for at in self.lasting if at.message < cut})),
        )

    def __len__(self) -> int:
        return self.first + len(self._messages)

    def __getitem__(self, index: int) -> MessageOutline:
        return self._earlier[index] if index < self.first else self._messages[index - self.first]

    def part(self, position: Position) -> Part:
        """Give the part at a position."""
        return self[position.message].parts[position.part]

    def measure_of(self, index: int) -> Measure:
        """Give the size of one message."""
        parts = self[index].parts
        return Measure(
            tokens=self[index].envelope_tokens + sum(part.tokens for part in parts),
            bytes=sum(part.bytes for part in parts),
        )

    def measure_between(self, start: int, stop: int) -> Measure:
        """Give the size of the messages ``start <= index < stop``; none is before ``first``."""
        start, stop = start - self.first, stop - self.first
        return Measure(
            tokens=self._tokens[stop] - self._tokens[start],
            bytes=self._bytes[stop] - self._bytes[start],
        )

    @property
    def turns(self) -> int:
        """How many turns there are."""
        return self._earlier_turns + len(self.prompts)

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return self._earlier_steps + len(self.replies)

    def turns_before(self, index: int) -> int:
        """Count the turns that start before ``index``, which is not before ``first``."""
        return self._earlier_turns + bisect_left(self.prompts, index)

    def steps_before(self, index: int) -> int:
        """Count the steps that start before ``index``, which is not before ``first``."""
        return self._earlier_steps + bisect_left(self.replies, index)

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
        return sorted(call for calls in self._open_calls.values() for call in calls)


def _forbid_after(cuts: list[int], message: int) -> bool:
    """Remove the cuts that would part the call in ``message`` from the result just added."""
    count = len(cuts)
    while cuts and cuts[-1] > message:
        cuts.pop()
    return len(cuts) < count
