"""The ledger: exact facts folded from history without a model.

The fold is incremental: what was added once is never read again, and a snapshot is a value.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from palimpsest.core.atoms import string_leaves
from palimpsest.core.call_facts import CallFacts, FileAction, LineRange, Todo, call_facts
from palimpsest.core.identifiers import Identifier, IdentifierWeights
from palimpsest.core.result_facts import ExitCode, ResultFacts, result_facts
from palimpsest.core.rules import user_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from palimpsest.core.excerpt import Excerpt, ToolCall, ToolResult

MAX_RECENT_PROSE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFact:
    """A file that was read or changed by a call that succeeded.

    Attributes:
        path: as the agent wrote it; two spellings of one file are two facts.
        lines: merged and ascending; empty when the whole file was meant or no lines were named.
        message_index: the newest message with such a result.
        times: how many calls.
    """

    path: str
    action: FileAction
    lines: tuple[LineRange, ...]
    message_index: int
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFact:
    """A shell command with the outcome of its newest run.

    Attributes:
        command: in one line, without a leading ``cd`` and a trailing ``| tail``.
        exit_code: of the newest run; ``unknown`` where the result names none.
        failed: the newest run failed (see ``ResultFacts.failed``).
        test_line: the closing line of the newest run's tests; empty if none was seen.
        message_index: the message that holds the newest result.
        times: how many results.
    """

    command: str
    exit_code: ExitCode
    failed: bool
    test_line: str
    message_index: int
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorFact:
    """An open error: the last failing result of a (tool, target) with no later success."""

    tool_name: str
    target: str
    error: str
    message_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Words of the user or the model, verbatim."""

    text: str
    message_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Exact facts of a prefix of history; tuples are oldest first unless said otherwise.

    Attributes:
        files: by their newest result.
        commands: by their newest result; those with a ``test_line`` are the test runs.
        open_errors: by their message.
        todos: the newest task list, in the agent's order; empty if it keeps none.
        user_words: every prompt the person typed.
        user_rules: sentences of theirs that look like rules, found by pattern.
        prose: the newest texts of the model, at most 8.
        identifiers: heaviest first.
    """

    files: tuple[FileFact, ...] = ()
    commands: tuple[CommandFact, ...] = ()
    open_errors: tuple[ErrorFact, ...] = ()
    todos: tuple[Todo, ...] = ()
    user_words: tuple[Quote, ...] = ()
    user_rules: tuple[Quote, ...] = ()
    prose: tuple[Quote, ...] = ()
    identifiers: tuple[Identifier, ...] = ()


@dataclass(slots=True)
class _FileUse:
    """What the calls on one file come to so far; ``whole`` once one named no lines."""

    lines: list[LineRange] = field(default_factory=list["LineRange"])
    whole: bool = False
    message_index: int = 0
    times: int = 0

    def add(self, message_index: int, lines: tuple[LineRange, ...]) -> None:
        """Note one more call."""
        self.whole = self.whole or not lines
        for item in lines:
            add_lines(self.lines, item)
        self.message_index = message_index
        self.times += 1


@dataclass(slots=True)
class LedgerBuilder:
    """Folds excerpts into a ledger, message by message, oldest first."""

    _files: dict[tuple[FileAction, str], _FileUse] = field(
        default_factory=dict[tuple["FileAction", str], "_FileUse"]
    )
    _commands: dict[str, CommandFact] = field(default_factory=dict[str, "CommandFact"])
    _errors: dict[tuple[str, str], ErrorFact] = field(
        default_factory=dict[tuple[str, str], "ErrorFact"]
    )
    _todos: tuple[Todo, ...] = ()
    _user_words: list[Quote] = field(default_factory=list["Quote"])
    _user_rules: list[Quote] = field(default_factory=list["Quote"])
    _prose: deque[Quote] = field(default_factory=lambda: deque[Quote](maxlen=MAX_RECENT_PROSE))
    _identifiers: IdentifierWeights = field(default_factory=IdentifierWeights)
    _open_calls: dict[str, CallFacts] = field(default_factory=dict[str, "CallFacts"])

    def add(self, message_index: int, excerpts: Iterable[Excerpt]) -> None:
        """Fold the excerpts of one message; indexes must not descend."""
        for excerpt in excerpts:
            match excerpt.kind:
                case "user_text":
                    self._add_user_text(message_index, excerpt.text)
                case "assistant_text":
                    if excerpt.text.strip():
                        self._prose.append(Quote(text=excerpt.text, message_index=message_index))
                    self._identifiers.add("prose", [excerpt.text])
                case "tool_call":
                    self._add_call(excerpt)
                case "tool_result":
                    self._add_result(message_index, excerpt)
                case "injected_text" | "feedback":
                    self._identifiers.add("result", [excerpt.text])
                case "marker":
                    pass
                case _:
                    assert_never(excerpt)

    def snapshot(self) -> Ledger:
        """Give what was folded so far; later additions do not change it."""
        return Ledger(
            files=tuple(
                FileFact(
                    path=path,
                    action=action,
                    lines=() if use.whole else tuple(use.lines),
                    message_index=use.message_index,
                    times=use.times,
                )
                for (action, path), use in self._files.items()
            ),
            commands=tuple(self._commands.values()),
            open_errors=tuple(self._errors.values()),
            todos=self._todos,
            user_words=tuple(self._user_words),
            user_rules=tuple(self._user_rules),
            prose=tuple(self._prose),
            identifiers=self._identifiers.heaviest(),
        )

    def _add_user_text(self, message_index: int, text: str) -> None:
        self._user_words.append(Quote(text=text, message_index=message_index))
        self._user_rules += [
            Quote(text=rule, message_index=message_index) for rule in user_rules(text)
        ]
        self._identifiers.add("user", [text])

    def _add_call(self, call: ToolCall) -> None:
        self._open_calls[call.call_id] = call_facts(call)
        self._identifiers.add("call", string_leaves(call.arguments))

    def _add_result(self, message_index: int, result: ToolResult) -> None:
        self._identifiers.add("result", [result.text])
        call = self._open_calls.pop(result.call_id, None)
        if call is None:
            return
        facts = result_facts(call, result)
        self._note_error(message_index, result.tool_name, call, facts)
        if call.command:
            self._note_command(message_index, call, facts)
        if not facts.failed:
            self._note_files(message_index, call)
            if call.kind == "plan":
                self._todos = call.todos

    def _note_error(
        self, message_index: int, tool_name: str, call: CallFacts, facts: ResultFacts
    ) -> None:
        key = (tool_name, call.target)
        self._errors.pop(key, None)
        if facts.failed:
            self._errors[key] = ErrorFact(
                tool_name=tool_name,
                target=call.target,
                error=facts.error,
                message_index=message_index,
            )

    def _note_command(self, message_index: int, call: CallFacts, facts: ResultFacts) -> None:
        earlier = self._commands.pop(call.target, None)
        self._commands[call.target] = CommandFact(
            command=call.target,
            exit_code=facts.exit_code,
            failed=facts.failed,
            test_line=facts.test_line,
            message_index=message_index,
            times=1 if earlier is None else earlier.times + 1,
        )

    def _note_files(self, message_index: int, call: CallFacts) -> None:
        for touch in call.touches:
            use = self._files.pop((touch.action, touch.path), None) or _FileUse()
            self._files[touch.action, touch.path] = use
            use.add(message_index, touch.lines)


def add_lines(merged: list[LineRange], new: LineRange) -> None:
    """Add a range to ascending ones of which none touches another; what touches becomes one.

    Besides the list's own insertion the cost grows with the logarithm of its length.
    """
    start = bisect_left(merged, float(new.first - 1), key=_end)
    stop = bisect_right(merged, _end(new) + 1, key=lambda item: item.first)
    if touched := merged[start:stop]:
        last = max(_end(new), _end(touched[-1]))
        first = min(new.first, touched[0].first)
        new = LineRange(first=first, last=None if last == math.inf else int(last))
    merged[start:stop] = [new]


def _end(item: LineRange) -> float:
    return math.inf if item.last is None else item.last
