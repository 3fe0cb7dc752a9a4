"""Everything Palimpsest raises.

::

    PalimpsestError
    ├─ UsageError                     you asked for something that cannot be
    │  ├─ InvalidSettingError         a number or name outside what is allowed
    │  ├─ UnknownFormatError          no reader of that name
    │  ├─ NotARecordingError          the file is no recording of a known format
    │  ├─ SeveralSessionsError        the file holds several sessions; one must be named
    │  ├─ UnwritableOutputError       the output cannot stand where it should
    │  └─ WouldOverwriteError         the output would replace a file
    ├─ RefusalError                   not now; nothing was changed
    │  ├─ NothingToCompactError       the planner finds no cut
    │  └─ ContextBudgetExceededError  the request does not fit, and nothing made it fit
    └─ FailureError                   something broke; what was saved stays
       ├─ InvalidRecordError          a checkpoint, clearing, trim or restore record is not valid
       ├─ SummaryRejectedError        a generated summary cannot be used
       └─ WorkerLostError             a process that shared the work ended by itself

Every class has a stable ``code``, which HTTP bodies and ``--json`` output carry, and an
``exit_status`` for the command line. Attributes hold the facts; ``str()`` renders the sentence.
Arguments are positional-capable so that every error pickles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from palimpsest.core.budget import Budget


class PalimpsestError(Exception):
    """Root of all errors raised by Palimpsest."""

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 1


class UsageError(PalimpsestError):
    """The caller asked for something that cannot be; asking again unchanged fails again."""

    code = "usage"
    exit_status = 2


class InvalidSettingError(UsageError):
    """A setting is outside what is allowed."""

    code = "invalid_setting"

    def __init__(self, name: str, value: object, expected: str) -> None:
        super().__init__(name, value, expected)
        self.name = name
        self.value = value
        self.expected = expected

    def __str__(self) -> str:
        return f"{self.name} must be {self.expected}, not {self.value!r}."


class UnknownFormatError(UsageError):
    """No reader has that name."""

    code = "unknown_format"

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(name, known)
        self.name = name
        self.known = known

    def __str__(self) -> str:
        return f"There is no format {self.name!r}. Known formats: {', '.join(self.known)}."


class NotARecordingError(UsageError):
    """A file is no recording of a known format, or of the format that was asked for."""

    code = "not_a_recording"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path} is not a recording: {self.reason}"


class SeveralSessionsError(UsageError):
    """A file holds several sessions, and none of them, or one it does not hold, was named."""

    code = "several_sessions"

    def __init__(self, path: str, session_ids: tuple[str, ...]) -> None:
        super().__init__(path, session_ids)
        self.path = path
        self.session_ids = session_ids

    def __str__(self) -> str:
        count = len(self.session_ids)
        shown = ", ".join(self.session_ids[:5])
        more = count - 5
        return (
            f"{self.path} holds {count} session{'' if count == 1 else 's'}; "
            "name one with --session: "
            f"{shown}{f' and {more} more' if more > 0 else ''}."
        )


class UnwritableOutputError(UsageError):
    """An output file cannot stand where it should; no work was done."""

    code = "unwritable_output"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path} cannot be written: {self.reason}."


class WouldOverwriteError(UsageError):
    """An output file exists already, or is the input itself; nothing was written."""

    code = "would_overwrite"

    def __init__(self, path: str, is_input: bool) -> None:
        super().__init__(path, is_input)
        self.path = path
        self.is_input = is_input

    def __str__(self) -> str:
        if self.is_input:
            return f"{self.path} is the recording itself, which is never changed; name another."
        return f"{self.path} exists already; name another file or pass --force."


class RefusalError(PalimpsestError):
    """The operation may not run now; nothing was changed."""

    code = "refused"


class NothingToCompactError(RefusalError):
    """The planner finds no cut."""

    code = "nothing_to_compact"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"Nothing to compact: {self.reason}"


class ContextBudgetExceededError(RefusalError):
    """A request does not fit the model's window; the history is preserved whole.

    Attributes:
        budget: the budget that was exceeded (a value, never shared state).
        estimate_tokens: tokens of the request that was refused.
        estimate_bytes: bytes of the request that was refused.
        fixed_tokens: share of ``estimate_tokens`` that compaction cannot shrink (system and tools).
        cause: why an attempted compaction did not help, or None when none was tried.
    """

    code = "context_budget_exceeded"

    def __init__(
        self,
        budget: Budget,
        estimate_tokens: int,
        estimate_bytes: int,
        fixed_tokens: int,
        cause: str | None = None,
    ) -> None:
        super().__init__(budget, estimate_tokens, estimate_bytes, fixed_tokens, cause)
        self.budget = budget
        self.estimate_tokens = estimate_tokens
        self.estimate_bytes = estimate_bytes
        self.fixed_tokens = fixed_tokens
        self.cause = cause

    def __str__(self) -> str:
        budget = self.budget
        sizes = [
            f"This request needs {self.estimate_tokens:,} tokens; {budget.input_limit:,} fit "
            f"(window {budget.window:,} − {budget.reserved_output:,} answer − "
            f"{budget.safety:,} safety)."
        ]
        if self.estimate_bytes > budget.byte_limit:
            sizes.append(
                f"This request holds {self.estimate_bytes:,} bytes; {budget.byte_limit:,} may be "
                "sent at once."
            )
        history_tokens = max(0, self.estimate_tokens - self.fixed_tokens)
        return " ".join(
            [
                *sizes,
                f"{self.fixed_tokens:,} tokens are system text and tools, which compaction cannot "
                f"shrink; {history_tokens:,} are history.",
                *([f"Compaction did not help: {self.cause}"] if self.cause else []),
                "The history is preserved. A model with a larger window, fewer tools, a smaller "
                "answer reserve or a new session would fit.",
            ]
        )


class FailureError(PalimpsestError):
    """Something broke; what was saved before stays."""

    code = "failed"


class InvalidRecordError(FailureError):
    """A checkpoint, clearing, trim or restore record is not valid; it was not accepted."""

    code = "invalid_record"

    def __init__(self, record: str, field: str, reason: str) -> None:
        super().__init__(record, field, reason)
        self.record = record
        self.field = field
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.record}: {self.field} {self.reason}."


class SummaryRejectedError(FailureError):
    """A generated summary cannot be used; nothing of it was kept."""

    code = "summary_failed"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"The summary was rejected: {self.reason}"


class WorkerLostError(FailureError):
    """A process that shared the work ended by itself; its share was not done."""

    code = "worker_lost"

    def __str__(self) -> str:
        return "A process ended by itself, perhaps for lack of memory. Fewer jobs need less of it."
