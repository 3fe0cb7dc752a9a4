"""Builds a recording's messages: links results to calls, groups the results of a step."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic_ai.messages import (
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.transcripts.jsonl import read_entries
from palimpsest.transcripts.recording import (
    Problem,
    RecordedCompaction,
    RecordedMessage,
    Recording,
    RecordingCounts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Content
    from palimpsest.transcripts.jsonl import Entry

Outcome: TypeAlias = Literal["success", "failed", "denied", "interrupted", "retried"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where something was read: the entry of the file, and its content block or None for all."""

    entry: int
    block: int | None = None


@dataclass(slots=True)
class _Slot:
    """A place in the history; ``origins`` of a request stand one a part, in the parts' order."""

    is_prompt: bool = False
    response: ModelResponse | None = None
    parts: list[ModelRequestPart] = field(default_factory=list[ModelRequestPart])
    origins: list[Origin] = field(default_factory=list[Origin])
    at: datetime | None = None


@dataclass(slots=True)
class _Call:
    call_id: str
    tool_name: str
    results: _Slot


@dataclass(frozen=True, slots=True)
class _Orphan:
    """A tool result; where its call is not known yet it stands as text in its own slot."""

    slot: _Slot
    content: Content
    origin: Origin
    at: datetime
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class _Pending:
    """A compaction whose place is known only when the history is complete."""

    record: RecordedCompaction
    slots_before: int
    first_kept_entry: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A recording and, beside each of its messages, where its pieces were read."""

    recording: Recording
    origins: list[list[Origin]]


def named_apart(found: Sequence[Built]) -> Sequence[Built]:
    """Give the sessions of one file distinct ids: one that repeats gets ``~2``, ``~3``, …."""
    names = set[str]()
    times = Counter[str]()
    for built in found:
        name = recorded = built.recording.session_id
        while name in names:
            times[recorded] += 1
            name = f"{recorded}~{times[recorded] + 1}"
        names.add(name)
        built.recording.session_id = name
    return found


def read_lines(path: Path) -> tuple[list[Entry], HistoryBuilder]:
    """The objects of a line file of one session, and the builder of its history.

    Raises:
        OSError: the file cannot be read.
    """
    problems = list[Problem]()
    entries = list(read_entries(path, problems))
    builder = HistoryBuilder(path, [entry.line for entry in entries], has_lines=True)
    builder.problems.extend(problems)
    return entries, builder


class HistoryBuilder:
    """Takes records in order and makes messages of them.

    All results of one reply become one request right behind it, however late they were recorded;
    ids that occur twice get a suffix on both sides; a result without a call stays as text.
    """

    def __init__(self, path: Path, lines: Sequence[int], *, has_lines: bool) -> None:
        self._path = path
        self._lines = lines
        self._has_lines = has_lines
        self._slots = list[_Slot]()
        self._unanswered = dict[str, deque[_Call]]()
        self._used_ids = set[str]()
        self._id_uses = Counter[str]()
        self._orphans = dict[str, deque[_Orphan]]()
        self._pending = list[_Pending]()
        self._set_aside = Counter[str]()
        self._system = list[str]()
        self.problems = list[Problem]()

    def problem(self, entry: int, what: str, kind: Literal["lost", "repaired"]) -> None:
        """Report something odd about an entry."""
        line = self._lines[entry] if self._has_lines else None
        self.problems.append(Problem(path=str(self._path), line=line, what=what, kind=kind))

    def set_aside(self, reason: str, records: int = 1) -> None:
        """Count records that are no part of the history."""
        if records:
            self._set_aside[reason] += records

    def system(self, text: str) -> None:
        """Take a record of system text that is no part of the history."""
        self._system.append(text)
        self.set_aside("system")

    def take_leading_system(self, entry: int, text: str) -> bool:
        """Take a record of system text in front of all others; False where others stand before."""
        if len(self._system) < entry:
            return False
        self.system(text)
        return True

    def user(self, content: Content, origins: list[Origin], at: datetime, *, typed: bool) -> None:
        """Text in the user role: a prompt the person typed, or injected."""
        part = UserPromptPart(content=content, timestamp=at)
        self._slots.append(_Slot(is_prompt=typed, parts=[part], origins=origins, at=at))

    def reply(self, response: ModelResponse, origins: list[Origin]) -> None:
        """A reply of the model; calls with an id that was used before are renamed."""
        self._slots.append(_Slot(response=response, origins=origins))
        results = _Slot()
        for part in response.parts:
            if isinstance(part, ToolCallPart):
                self._register(part, results, origins[0].entry)
        self._slots.append(results)

    def _register(self, part: ToolCallPart, results: _Slot, entry: int) -> None:
        recorded = part.tool_call_id
        part.tool_call_id = self._unique(recorded)
        if part.tool_call_id != recorded:
            what = f"The call id {recorded!r} occurs again; this one became {part.tool_call_id!r}."
            self.problem(entry, what, "repaired")
        call = _Call(part.tool_call_id, part.tool_name, results)
        if early := self._orphans.get(recorded):
            self._adopt(call, early.popleft())
        else:
            self._unanswered.setdefault(recorded, deque()).append(call)

    def _unique(self, recorded: str) -> str:
        base = recorded or "call"
        candidate = base
        while candidate in self._used_ids:
            self._id_uses[base] += 1
            candidate = f"{base}~{self._id_uses[base] + 1}"
        self._used_ids.add(candidate)
        return candidate

    def _adopt(self, call: _Call, early: _Orphan) -> None:
        """Move a result that was recorded before its call behind the call."""
        early.slot.parts, early.slot.origins = [], []
        self._answer(call, early)

    def _answer(self, call: _Call, result: _Orphan) -> None:
        part = ToolReturnPart(
            tool_name=call.tool_name,
            content=result.content,
            tool_call_id=call.call_id,
            timestamp=result.at,
            outcome=result.outcome,
        )
        call.results.parts.append(part)
        call.results.origins.append(result.origin)
        call.results.at = result.at

    def result(
        self, call_id: str, content: Content, origin: Origin, at: datetime, outcome: Outcome
    ) -> None:
        """The result of a tool call, linked by id."""
        slot = _Slot()
        result = _Orphan(slot, content, origin, at, outcome)
        if calls := self._unanswered.get(call_id):
            self._answer(calls.popleft(), result)
            return
        slot.parts.append(UserPromptPart(content=content, timestamp=at))
        slot.origins.append(origin)
        slot.at = at
        self._slots.append(slot)
        self._orphans.setdefault(call_id, deque()).append(result)

    def compaction(self, record: RecordedCompaction, first_kept_entry: int | None = None) -> None:
        """A compaction the recording agent made here; its indices are filled in at the end."""
        self._pending.append(_Pending(record, len(self._slots), first_kept_entry))

    def build(
        self,
        *,
        format: str,
        session_id: str,
        counts: RecordingCounts,
        system: str = "",
        tools: list[Json] | None = None,
        model: str | None = None,
    ) -> Built:
        """The finished recording; ``system`` stands behind the system text that was taken."""
        self._report_orphans()
        filled = [slot for slot in self._slots if slot.response is not None or slot.parts]
        messages = [self._message(slot) for slot in filled]
        names = Counter(
            slot.response.model_name
            for slot in filled
            if slot.response and slot.response.model_name
        )
        recording = Recording(
            path=self._path,
            format=format,
            session_id=session_id,
            model=names.most_common(1)[0][0] if names else model,
            system="\n\n".join(text for text in (*self._system, system) if text),
            tools=tools or [],
            messages=messages,
            compactions=self._placed_compactions(filled),
            set_aside=dict(sorted(self._set_aside.items())),
            problems=self.problems,
            counts=counts,
        )
        return Built(recording=recording, origins=[slot.origins for slot in filled])

    def _report_orphans(self) -> None:
        for call_id, orphans in self._orphans.items():
            for orphan in orphans:
                what = f"The result for {call_id!r} has no call of its own; it was kept as text."
                self.problem(orphan.origin.entry, what, "repaired")

    def _message(self, slot: _Slot) -> RecordedMessage:
        lines = sorted({self._lines[origin.entry] for origin in slot.origins})
        message = slot.response or ModelRequest(parts=slot.parts, timestamp=slot.at)
        return RecordedMessage(message=message, is_prompt=slot.is_prompt, records=tuple(lines))

    def _placed_compactions(self, filled: list[_Slot]) -> list[RecordedCompaction]:
        is_filled = [slot.response is not None or bool(slot.parts) for slot in self._slots]
        before = list(accumulate(is_filled, initial=0))
        starts = [min(origin.entry for origin in slot.origins) for slot in filled]
        return [_placed(p, before[p.slots_before], starts) for p in self._pending]


def _placed(pending: _Pending, index: int, starts: Sequence[int]) -> RecordedCompaction:
    kept = pending.first_kept_entry
    first = index
    if kept is not None:
        first = next((at for at in range(index) if starts[at] >= kept), index)
    return replace(pending.record, message_index=index, first_kept_message_index=first)
