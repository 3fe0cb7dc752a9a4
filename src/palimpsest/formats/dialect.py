"""What a message dialect must be able to do, so that a view can be written in it.

The engine works on pydantic-ai messages. A dialect reads the caller's messages as such ones, only
to measure them and to gather facts; what is sent are the caller's own messages, with the edits of
the view written into copies. Messages that the view does not edit are passed on as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar, assert_never, cast

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart

from palimpsest.core.errors import InvalidMessageError
from palimpsest.core.excerpt import Json
from palimpsest.core.summary import summary_message_text
from palimpsest.core.trimming import trimmed_text
from palimpsest.core.view import (
    REPAIR_TEXT,
    Cleared,
    Edit,
    FoldedRow,
    Hidden,
    MessageRow,
    RepairRow,
    Row,
    SummaryRow,
    Trimmed,
)
from palimpsest.formats.content import Record, as_record, block_content
from palimpsest.formats.pydantic_ai import AnyToolReturn, tool_return_text

MessageT = TypeVar("MessageT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """The caller's messages ``start <= index < stop``, which the engine counts as one."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """A list of messages that was found to be in order.

    Attributes:
        units: what the engine counts as messages; together they cover the list.
        read: gives a unit, by its number, as the engine measures it; its tool results stand in the
            order in which the unit has them.
    """

    units: tuple[Unit, ...]
    read: Callable[[int], ModelMessage]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownResult:
    """What a view shows of a tool result in place of its content.

    Attributes:
        text: placeholder, or head and tail.
        keeps_media: images and files of the result stay beside the text.
    """

    text: str
    keeps_media: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueBlock:
    """Stands among a message's parts for a block of unknown kind: measured and moved, not read."""

    block: Json
    part_kind: Literal["opaque"] = "opaque"


class Dialect(Protocol[MessageT]):
    """One way to write messages. Contract: nothing that is handed in is changed."""

    @property
    def name(self) -> str:
        """Its name in stored states and errors."""
        ...

    def scan(self, messages: Sequence[MessageT]) -> Scan:
        """Check a whole history and say what belongs together.

        Raises:
            InvalidMessageError: naming the message and what is wrong with it.
        """
        ...

    def identity(self, message: MessageT) -> Json:
        """Give what makes a message the same one in a later call, as JSON."""
        ...

    def with_results(
        self, unit: Sequence[MessageT], shown: Mapping[int, ShownResult | None]
    ) -> list[MessageT]:
        """Give a unit with some of its tool results edited, by their number in it; None hides."""
        ...

    def summary(self, text: str, replaced: Sequence[MessageT]) -> MessageT:
        """Give the user message that stands for the replaced messages."""
        ...

    def stand_in(self, unit: Sequence[MessageT], call: RepairRow, text: str) -> MessageT:
        """Give the result of a call, made in a unit, that has none."""
        ...

    def joined(self, made_up: MessageT, following: MessageT) -> MessageT | None:
        """Give one message for two, where the dialect wants that; None where both may stand."""
        ...


class CallBook:
    """Calls and results of a history while it is checked."""

    def __init__(self) -> None:
        self.tool_names: dict[str, str] = {}
        self._open: dict[str, int] = {}
        self._broken: dict[str, int] = {}
        self._answered: dict[str, int] = {}

    def call(self, index: int, call_id: Json, tool_name: Json, *, complete: bool = True) -> None:
        """Note a call.

        Args:
            index: of the message that makes it.
            call_id: as it stands there.
            tool_name: as it stands there.
            complete: the arguments do not break off; others are forgiven once there is a result.

        Raises:
            InvalidMessageError: it has no id or name, or its id stands for another open call.
        """
        if not isinstance(tool_name, str) or not tool_name:
            raise InvalidMessageError(index, "holds a tool call without a tool's name")
        if not isinstance(call_id, str) or not call_id:
            raise InvalidMessageError(index, f"holds a call of {tool_name!r} without an id")
        if call_id in self._open:
            earlier = self._open[call_id]
            raise InvalidMessageError(
                index, f"repeats the id {call_id!r} of a call in message {earlier} that is open"
            )
        self._open[call_id] = index
        self._answered.pop(call_id, None)
        self.tool_names[call_id] = tool_name
        if not complete:
            self._broken[call_id] = index

    def result(self, index: int, call_id: Json) -> None:
        """Note a result; one that nobody asked for is legal here, and hidden by the view.

        Raises:
            InvalidMessageError: it names no call, or one that was answered before.
        """
        if not isinstance(call_id, str) or not call_id:
            raise InvalidMessageError(index, "holds a tool result that names no call")
        if call_id in self._answered:
            earlier = self._answered[call_id]
            raise InvalidMessageError(
                index, f"answers the call {call_id!r}, which message {earlier} answered before"
            )
        if self._open.pop(call_id, None) is not None:
            self._answered[call_id] = index
            self._broken.pop(call_id, None)

    def close(self) -> None:
        """End the check.

        Raises:
            InvalidMessageError: a call without a result has arguments that break off.
        """
        for call_id, index in self._broken.items():
            name = self.tool_names[call_id]
            broken = f"holds a call of {name!r} whose arguments break off"
            raise InvalidMessageError(index, f"{broken}; hand it over once it is whole")


class Rendering(Generic[MessageT]):
    """Writes a view in a dialect."""

    def __init__(
        self, dialect: Dialect[MessageT], messages: Sequence[MessageT], units: Sequence[Unit]
    ) -> None:
        self._dialect = dialect
        self._messages = messages
        self._units = units
        self._shown: list[MessageT] = []
        self._last_made_up = False

    def write(self, rows: Iterable[Row], history: Sequence[ModelMessage]) -> list[MessageT]:
        """Give the messages of a view.

        Args:
            rows: the view's rows.
            history: the units as the engine measures them.
        """
        for row in rows:
            match row:
                case MessageRow(index=index, edits=edits):
                    self._add_unit(index, _shown_results(history[index], edits) if edits else {})
                case FoldedRow(index=index):
                    # What lasts are system messages, and those are nothing else.
                    self._add_unit(index, {})
                case SummaryRow(summarised_before=cut, text=text):
                    replaced = self._messages[: self._units[cut].start]
                    self._add_made_up(self._dialect.summary(summary_message_text(text), replaced))
                case RepairRow(index=index):
                    unit = self._messages_of(index)
                    self._add_made_up(self._dialect.stand_in(unit, row, REPAIR_TEXT))
                case _:
                    assert_never(row)
        return self._shown

    def _add_unit(self, index: int, results: Mapping[int, ShownResult | None]) -> None:
        messages = self._messages_of(index)
        if results:
            messages = self._dialect.with_results(messages, results)
        for message in messages:
            self._add(message)
            self._last_made_up = False

    def _messages_of(self, index: int) -> list[MessageT]:
        unit = self._units[index]
        return list(self._messages[unit.start : unit.stop])

    def _add_made_up(self, message: MessageT) -> None:
        self._add(message)
        self._last_made_up = True

    def _add(self, message: MessageT) -> None:
        if self._last_made_up:
            joined = self._dialect.joined(self._shown[-1], message)
            if joined is not None:
                self._shown[-1] = joined
                return
        self._shown.append(message)


def shown_content(content: Json, shown: ShownResult, *, text_type: str = "text") -> Json:
    """Give the content of a result as the view shows it: text, or text and the media beside it."""
    media: list[Json] = []
    if shown.keeps_media and isinstance(content, list):
        media = [block for block in content if not isinstance(block_content(block), str)]
    return [{"type": text_type, "text": shown.text}, *media] if media else shown.text


def checked_role(index: int, message: object, roles: Sequence[str]) -> tuple[Record, str]:
    """Give a message that is an object, and its role.

    Raises:
        InvalidMessageError: it is no object, or has no role of the dialect.
    """
    if not isinstance(message, dict):
        raise InvalidMessageError(index, f"is no object but {type(message).__name__}")
    fields = cast("Record", message)
    role = fields.get("role")
    if not isinstance(role, str) or role not in roles:
        # What is no text may be too deep, or too many digits, to be written out.
        said = repr(role) if isinstance(role, str | None) else f"of type {type(role).__name__}"
        raise InvalidMessageError(index, f"has the role {said}, not one of {', '.join(roles)}")
    return fields, role


def check_content(index: int, content: Json) -> None:
    """Check that content is text, or a list of blocks that each name their type.

    Raises:
        InvalidMessageError: it is neither.
    """
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise InvalidMessageError(index, "has content that is neither text nor a list of blocks")
    for number, block in enumerate(content):
        if not isinstance(as_record(block).get("type"), str):
            raise InvalidMessageError(index, f"has a content block, number {number}, without type")


def one_by_one(messages: Sequence[MessageT], read: Callable[[MessageT], ModelMessage]) -> Scan:
    """Give the scan of a history in which each message stands for itself."""
    units = tuple(Unit(start=index, stop=index + 1) for index in range(len(messages)))
    return Scan(units=units, read=lambda number: read(messages[number]))


def request_of(parts: Sequence[object]) -> ModelRequest:
    """Give a request of parts, opaque blocks among them."""
    return ModelRequest(parts=cast("list[object]", list(parts)))  # type: ignore[arg-type]


def reply_of(parts: Sequence[object]) -> ModelResponse:
    """Give a reply of parts, opaque blocks among them."""
    return ModelResponse(parts=cast("list[object]", list(parts)))  # type: ignore[arg-type]


def _shown_results(message: ModelMessage, edits: Iterable[Edit]) -> dict[int, ShownResult | None]:
    results: dict[int, ShownResult | None] = {}
    numbers = [at for at, part in enumerate(message.parts) if isinstance(part, ToolReturnPart)]
    for edit in edits:
        number = numbers.index(edit.part)
        match edit:
            case Hidden():
                results[number] = None
            case Cleared(placeholder=placeholder):
                results[number] = ShownResult(text=placeholder, keeps_media=False)
            case Trimmed(head_characters=head, tail_characters=tail):
                whole = tool_return_text(cast("AnyToolReturn", message.parts[edit.part]))
                text = trimmed_text(whole, head, tail)
                results[number] = ShownResult(text=text, keeps_media=True)
            case _:
                assert_never(edit)
    return results
