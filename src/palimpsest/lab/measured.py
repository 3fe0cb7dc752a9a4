"""A recording, measured and indexed once; every policy is then played on the same numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, assert_never

from pydantic_ai.messages import ModelMessage, ModelResponse

from palimpsest.core.atoms import count_atoms, string_leaves
from palimpsest.core.budget import Measure
from palimpsest.core.estimate import system_tokens, text_bytes, tools_tokens
from palimpsest.core.excerpt import Excerpt
from palimpsest.core.outline import MessageOutline, Position
from palimpsest.formats.pydantic_ai import outline, part_excerpts
from palimpsest.transcripts.recording import Recording


class Occurrence(NamedTuple):
    """Where an atom stands; ``is_result`` says that a clearing can take it out of view."""

    position: Position
    is_result: bool
    is_supplied: bool
    """A person or a tool wrote it, not the agent."""


@dataclass(slots=True)
class AtomIndex:
    """Every place of every atom, in the order of the recording."""

    places: dict[str, list[Occurrence]] = field(default_factory=dict[str, list[Occurrence]])
    typed: dict[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])
    """Atoms in the arguments of the calls of each reply that makes calls, by message index."""

    def add(self, position: Position, excerpts: Iterable[Excerpt]) -> None:
        """Index the excerpts of one part; positions must ascend."""
        for excerpt in excerpts:
            atoms = _atoms(excerpt)
            is_result = excerpt.kind == "tool_result"
            is_supplied = excerpt.kind not in {"assistant_text", "tool_call"}
            for atom in atoms:
                self.places.setdefault(atom, []).append(
                    Occurrence(position, is_result, is_supplied)
                )
            if excerpt.kind == "tool_call":
                message = position.message
                self.typed[message] = self.typed.get(message, frozenset()) | atoms.keys()

    def before(self, atom: str, message: int) -> Sequence[Occurrence]:
        """Give the places of an atom in the messages before ``message``, oldest first."""
        places = self.places.get(atom, [])
        count = bisect_left(places, Position(message, 0), key=lambda place: place.position)
        return places[:count]


def _atoms(excerpt: Excerpt) -> Mapping[str, int]:
    match excerpt.kind:
        case "user_text" | "injected_text" | "assistant_text" | "tool_result" | "feedback":
            return count_atoms(excerpt.text)
        case "tool_call":
            return count_atoms("\n".join(string_leaves(excerpt.arguments)))
        case "marker":
            return {}
        case _:
            assert_never(excerpt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What the provider counted for the reply at a message index."""

    input_tokens: int
    output_tokens: int


@dataclass(slots=True, kw_only=True)
class Measured:
    """A recording as numbers, with the texts that summaries are made of.

    Attributes:
        messages: the whole history in the native dialect.
        outlines: one a message, in the same order.
        excerpts: one list a message, in the same order.
        atoms: where identifiers stand.
        fixed: system text and tools that the recording holds; often nothing.
        fixed_atoms: atoms of that text, which no policy can take out of view.
        replies: message indices of the requests' replies, ascending.
        output_tokens: size of each reply, by message index: the provider's count where known.
        reported: the provider's counts by message index, where the recording has them. Only of
            the model that answered most often: another one counts other tokens.
    """

    messages: list[ModelMessage]
    outlines: list[MessageOutline]
    excerpts: list[list[Excerpt]]
    atoms: AtomIndex
    fixed: Measure
    fixed_atoms: frozenset[str]
    replies: list[int]
    output_tokens: dict[int, int]
    reported: dict[int, Reported]


def measure(recording: Recording) -> Measured:
    """Measure and index a recording."""
    atoms = AtomIndex()
    measured = Measured(
        messages=[recorded.message for recorded in recording.messages],
        outlines=[],
        excerpts=[],
        atoms=atoms,
        fixed=Measure(
            tokens=system_tokens(recording.system) + tools_tokens(recording.tools),
            bytes=text_bytes(recording.system),
        ),
        fixed_atoms=frozenset(count_atoms(recording.system)),
        replies=[],
        output_tokens={},
        reported={},
    )
    for index, recorded in enumerate(recording.messages):
        message = recorded.message
        measured.outlines.append(outline(message, is_prompt=recorded.is_prompt))
        rows: list[Excerpt] = []
        for part, part_rows in enumerate(part_excerpts(message, is_prompt=recorded.is_prompt)):
            atoms.add(Position(index, part), part_rows)
            rows += part_rows
        measured.excerpts.append(rows)
        if isinstance(message, ModelResponse):
            _note_reply(measured, index, message, recording.model)
    return measured


def _note_reply(measured: Measured, index: int, message: ModelResponse, model: str | None) -> None:
    measured.replies.append(index)
    usage = message.usage
    estimate = sum(part.tokens for part in measured.outlines[index].parts)
    measured.output_tokens[index] = usage.output_tokens or estimate
    is_known = usage.input_tokens > 0 and message.state == "complete"
    if is_known and message.model_name in {None, model}:
        measured.reported[index] = Reported(
            input_tokens=usage.input_tokens, output_tokens=usage.output_tokens
        )
