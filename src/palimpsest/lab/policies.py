"""The policies that a replay plays side by side, each over its own growing view.

A policy is asked before every request what it changes; the walk around it counts. What two
requests have in common is said in tokens of the earlier one, for that is what a provider's prompt
cache would serve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from palimpsest.core.budget import NOTHING, Budget, Measure
from palimpsest.core.estimate import text_bytes, text_tokens
from palimpsest.core.outline import MessageOutline, Outline, Part, Position
from palimpsest.core.placeholder import PRUNE_PLACEHOLDER
from palimpsest.core.records import ViewState
from palimpsest.core.view import View
from palimpsest.lab.fit import Fit
from palimpsest.lab.measured import Measured

_PLACEHOLDER = Measure(tokens=text_tokens(PRUNE_PLACEHOLDER), bytes=text_bytes(PRUNE_PLACEHOLDER))


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedCompaction:
    """One compaction that a policy made.

    Attributes:
        request: which request it preceded, 0-based.
        first_kept_message_index: the cut.
        history_message_count: messages the history had then.
        tokens_before: the whole request before it.
        tokens_after: the whole request after it.
        summary: what replaced the messages before the cut.
    """

    request: int
    first_kept_message_index: int
    history_message_count: int
    tokens_before: int
    tokens_after: int
    summary: str


@dataclass(slots=True)
class Change:
    """What a policy did before one request.

    Attributes:
        prefix: size of the part of the view that is still sent as in the request before; None
            when everything that was sent is.
        prunings: times that tool outputs were cleared or trimmed.
        compactions: summaries that replaced messages.
    """

    prefix: Measure | None = None
    prunings: int = 0
    compactions: list[SimulatedCompaction] = field(default_factory=list["SimulatedCompaction"])

    def keep_only(self, prefix: Measure) -> None:
        """Note that what stands behind ``prefix`` changed."""
        if self.prefix is None or prefix.tokens < self.prefix.tokens:
            self.prefix = prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all policies of one recording share.

    Attributes:
        measured: the recording.
        fit: how its estimates are corrected.
        budget: limits of a request.
    """

    measured: Measured
    fit: Fit
    budget: Budget

    def request_tokens(self, view: Measure) -> int:
        """Give the tokens of a whole request, corrected."""
        return self.fit.fixed_tokens + self.fit.calibration.scale(view.tokens)

    def request(self, view: Measure) -> Measure:
        """Give the size of a whole request, corrected."""
        size = view.bytes + self.measured.fixed.bytes
        return Measure(tokens=self.request_tokens(view), bytes=size)


class Run(Protocol):
    """One policy playing one recording. Messages are added oldest first."""

    def add(self, message: MessageOutline) -> None:
        """Take in the next message of the history."""
        ...

    def before_request(self, request: int) -> Change:
        """Change the view as the policy would before this request."""
        ...

    def measure(self) -> Measure:
        """Give the size of the view as it now stands."""
        ...

    def shows(self, position: Position) -> bool:
        """Whether the part stands in the view, whole."""
        ...

    def summary(self) -> str:
        """Give the summary that stands in the view, or an empty text."""
        ...


class KeepAll:
    """Everything is sent, always."""

    def __init__(self, setting: Setting) -> None:
        del setting
        self._outline = Outline()
        self._view = View(self._outline, ViewState())

    def add(self, message: MessageOutline) -> None:
        """Take in the next message."""
        self._outline.append(message)

    def before_request(self, request: int) -> Change:
        """Change nothing."""
        del request
        return Change()

    def measure(self) -> Measure:
        """Give the size of the whole history."""
        return self._view.measure()

    def shows(self, position: Position) -> bool:
        """Everything is shown."""
        del position
        return True

    def summary(self) -> str:
        """There is none."""
        return ""


class KeepNewestResults:
    """All tool results but the newest few are cleared, judged anew before each request.

    With a trigger it begins once the history, uncleared, reaches that many tokens; then its window
    slides with every request, as stateless context editing does.
    """

    def __init__(self, setting: Setting, *, keep: int, trigger_tokens: int = 0) -> None:
        self._setting = setting
        self._keep = keep
        self._trigger_tokens = trigger_tokens
        self._outline = Outline()
        self._whole = View(self._outline, ViewState())
        self._cleared = 0
        self._saved = NOTHING
        self._clearing = -1
        self._saved_before = NOTHING

    def add(self, message: MessageOutline) -> None:
        """Take in the next message."""
        self._outline.append(message)

    def before_request(self, request: int) -> Change:
        """Clear what slid out of the window."""
        del request
        change = Change()
        if self._setting.request_tokens(self._whole.measure()) < self._trigger_tokens:
            return change
        outputs = self._outline.outputs
        for position in outputs[self._cleared : max(self._cleared, len(outputs) - self._keep)]:
            self._clear(position, change)
            self._cleared += 1
        return change

    def _clear(self, position: Position, change: Change) -> None:
        part = self._outline.part(position)
        content = part.content
        if content is None or not _shrinks(part):
            return
        if position.message != self._clearing:
            self._clearing, self._saved_before = position.message, self._saved
        before = self._whole.measure_before(position.message)
        change.keep_only(_minus(before, self._saved_before))
        change.prunings = 1
        self._saved += Measure(
            tokens=content.tokens - _PLACEHOLDER.tokens,
            bytes=content.bytes - _PLACEHOLDER.bytes,
        )

    def measure(self) -> Measure:
        """Give the size of the view."""
        return _minus(self._whole.measure(), self._saved)

    def shows(self, position: Position) -> bool:
        """Whether the part is no cleared output."""
        outputs = self._outline.outputs
        if self._cleared == 0 or position > outputs[self._cleared - 1]:
            return True
        return not _shrinks(self._outline.part(position))

    def summary(self) -> str:
        """There is none."""
        return ""


def _shrinks(part: Part) -> bool:
    """Whether a placeholder may stand for the part, and is smaller."""
    content = part.content
    return content is not None and part.clearable and content.tokens > _PLACEHOLDER.tokens


def _minus(left: Measure, right: Measure) -> Measure:
    return Measure(tokens=left.tokens - right.tokens, bytes=left.bytes - right.bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A policy by name.

    Attributes:
        name: stable, for ``--json``.
        label: for people.
        start: begins a run over one recording.
    """

    name: str
    label: str
    start: Callable[[Setting], Run]
