"""Everything Palimpsest raises.

::

    PalimpsestError
    ├─ UsageError                     you asked for something that cannot be
    │  ├─ InvalidSettingError         a number or name outside what is allowed
    │  ├─ UnknownFormatError          no reader of that name
    │  ├─ NotARecordingError          the file is no recording of a known format
    │  ├─ SeveralSessionsError        the file holds several sessions; one must be named
    │  ├─ UnwritableOutputError       the output cannot stand where it should
    │  ├─ WouldOverwriteError         the output would replace a file
    │  ├─ UnknownModelError           no provider is known by that name
    │  ├─ MissingKeyError             an environment variable that a provider needs is not set
    │  ├─ MissingExtraError           an optional package is not installed
    │  ├─ BrokenConfigError           the configuration file cannot be used
    │  ├─ NoTerminalError             the interactive mode needs a terminal
    │  ├─ UnknownSkillError           no skill of that name stands in the skill directories
    │  ├─ SessionNotFoundError        there is no session file of that name
    │  │  └─ NoSessionYetError        a project has no session to go on with
    │  ├─ AmbiguousSessionError       several session files match a name
    │  └─ StoreClosedError            the store was closed before
    ├─ RefusalError                   not now; nothing was changed
    │  ├─ NothingToCompactError       the planner finds no cut
    │  ├─ UnknownCheckpointError      no checkpoint of the session has that id
    │  ├─ ForeignStateError           a compaction state belongs to another history
    │  ├─ ContextBudgetExceededError  the request does not fit, and nothing made it fit
    │  ├─ SessionBusyError            an operation of the session is under way
    │  ├─ SessionDisposedError        the session was disposed of
    │  ├─ PendingSaveError            a failed save waits; flush or discard it first
    │  ├─ SessionLockedError          another process works on the session
    │  └─ SessionReadOnlyError        the session was opened for reading only
    └─ FailureError                   something broke; what was saved stays
       ├─ InvalidRecordError          a checkpoint, clearing, trim or restore record is not valid
       ├─ InvalidMessageError         a message cannot stand in the history; it was not accepted
       ├─ SummaryRejectedError        a generated summary cannot be used
       ├─ SummaryTimeoutError         a summary took too long
       ├─ McpServerError              a server of the Model Context Protocol did not start
       ├─ WorkerLostError             a process that shared the work ended by itself
       ├─ SaveFailedError             the operating system refused to store a commit
       └─ SessionFileError            a session file cannot be used as it is; it was not touched
          ├─ UnsupportedSessionError  its format or version is not ours
          ├─ BrokenHeaderError        line 1 cannot be read
          ├─ CopiedSessionError       it is named for another session than it holds
          ├─ BrokenMessageError       a message or commit line cannot be read
          ├─ BrokenRecordError        a stored record is not valid
          ├─ OrphanResultError        a tool result answers no call
          ├─ UnansweredCallError      a tool call before the newest message has no result
          └─ OriginalsChangedError    stored messages are not those that were committed

Every class has a stable ``code``, which HTTP bodies and ``--json`` output carry, and an
``exit_status`` for the command line. Attributes hold the facts; ``str()`` renders the sentence.
Arguments are positional-capable so that every error pickles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from palimpsest.core.wording import count

if TYPE_CHECKING:
    from palimpsest.core.budget import Budget
    from palimpsest.core.records import SummaryUsage


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
    """A file holds several sessions, and none of them, or one it does not hold, was named.

    Attributes:
        named: the id that was asked for; None where none was.
    """

    code = "several_sessions"

    def __init__(self, path: str, session_ids: tuple[str, ...], named: str | None = None) -> None:
        super().__init__(path, session_ids, named)
        self.path = path
        self.session_ids = session_ids
        self.named = named

    def __str__(self) -> str:
        held = count(len(self.session_ids), "session")
        if self.named is not None:
            held = f"no session {self.named!r}, but {held}"
        shown = ", ".join(self.session_ids[:5])
        more = len(self.session_ids) - 5
        return (
            f"{self.path} holds {held}; name one with --session: "
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


class UnknownModelError(UsageError):
    """No provider is known by that name, or the name is not of the form ``provider:model``.

    An empty name means that none was given.

    Attributes:
        suggestion: a name that is close; empty without one.
        source: the variable or file that the name stands in; empty where the caller gave it.
    """

    code = "unknown_model"

    def __init__(self, name: str, suggestion: str = "", source: str = "") -> None:
        super().__init__(name, suggestion, source)
        self.name = name
        self.suggestion = suggestion
        self.source = source

    def __str__(self) -> str:
        if not self.name:
            return "No model is set; name one as provider:model, or set PALIMPSEST_MODEL."
        provider, _, model = self.name.partition(":")
        hint = "write provider:model, as openai:gpt-5."
        if self.suggestion:
            hint = f"did you mean {self.suggestion!r}?"
        elif provider and model:
            hint = f"no provider is called {provider!r}."
        told = f"There is no model {self.name!r}"
        return f"{told}, as {self.source} says; {hint}" if self.source else f"{told}; {hint}"


class MissingKeyError(UsageError):
    """A provider needs an environment variable, mostly a key, that is not set."""

    code = "missing_key"

    def __init__(self, provider: str, variable: str) -> None:
        super().__init__(provider, variable)
        self.provider = provider
        self.variable = variable

    def __str__(self) -> str:
        return f"The provider {self.provider!r} needs the environment variable {self.variable}."


class MissingExtraError(UsageError):
    """An optional package is not installed.

    Attributes:
        needed_by: what needs it, in the words of a sentence's subject.
        requirement: what to hand to pip.
    """

    code = "missing_extra"

    def __init__(self, needed_by: str, requirement: str) -> None:
        super().__init__(needed_by, requirement)
        self.needed_by = needed_by
        self.requirement = requirement

    def __str__(self) -> str:
        needs = f"{self.needed_by} needs an optional package: pip install '{self.requirement}'"
        own, _, extra = self.requirement.partition("[")
        return f"{needs} (in a checkout: '.[{extra}')." if own == "palimpsest-ai" else f"{needs}."


class BrokenConfigError(UsageError):
    """The configuration file cannot be used; it was not touched."""

    code = "broken_config"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class NoTerminalError(UsageError):
    """The interactive mode was started where no terminal is."""

    code = "no_terminal"

    def __str__(self) -> str:
        return 'The interactive mode needs a terminal; palimpsest -p "…" works without one.'


class UnknownSkillError(UsageError):
    """A prompt names a skill that does not stand in the session's skill directories."""

    code = "unknown_skill"

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(name, known)
        self.name = name
        self.known = known

    def __str__(self) -> str:
        known = f"Known skills: {', '.join(self.known)}." if self.known else "None is known."
        return f"There is no skill {self.name!r}. {known}"


class SessionNotFoundError(UsageError):
    """There is no session file of that name."""

    code = "session_not_found"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return (
            f"There is no session {self.path}; name a file, or four characters or more of an id "
            "that palimpsest sessions list --all shows."
        )


class NoSessionYetError(SessionNotFoundError):
    """A project has no session to go on with; ``path`` is the project's folder."""

    code = "no_session_yet"

    def __str__(self) -> str:
        return f"There is no session of {self.path} yet; palimpsest, without a name, begins one."


class AmbiguousSessionError(UsageError):
    """The ids of several sessions begin like the name that was given."""

    code = "ambiguous_session"

    def __init__(self, name: str, session_ids: tuple[str, ...]) -> None:
        super().__init__(name, session_ids)
        self.name = name
        self.session_ids = session_ids

    def __str__(self) -> str:
        return (
            f"{len(self.session_ids)} sessions begin with {self.name!r}; "
            f"name one: {', '.join(self.session_ids[:5])}."
        )


class StoreClosedError(UsageError):
    """A store was used after it was closed."""

    code = "store_closed"

    def __str__(self) -> str:
        return "The session's store is closed."


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


class UnknownCheckpointError(RefusalError):
    """No checkpoint of the session has that id."""

    code = "unknown_checkpoint"

    def __init__(self, checkpoint_id: str) -> None:
        super().__init__(checkpoint_id)
        self.checkpoint_id = checkpoint_id

    def __str__(self) -> str:
        return f"This session has no checkpoint {self.checkpoint_id}."


class ForeignStateError(RefusalError):
    """A compaction state was made with another history; nothing was done.

    Attributes:
        message_index: 0-based index of the first message that differs; None where the state as a
            whole does not fit.
        reason: what differs, a clause.
    """

    code = "foreign_state"

    def __init__(self, message_index: int | None, reason: str) -> None:
        super().__init__(message_index, reason)
        self.message_index = message_index
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"The state belongs to another history: {self.reason}. "
            "Hand over the history that it was made with, or start without a state."
        )


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


class SessionBusyError(RefusalError):
    """An operation of the session is under way; waiting approvals are part of it."""

    code = "session_busy"

    def __init__(self, operation: str) -> None:
        super().__init__(operation)
        self.operation = operation

    def __str__(self) -> str:
        return f"The session is busy ({self.operation}); wait for it or abort it."


class SessionDisposedError(RefusalError):
    """The session was disposed of and does nothing any more."""

    code = "session_disposed"

    def __str__(self) -> str:
        return "The session was disposed of; open it again."


class PendingSaveError(RefusalError):
    """A commit could not be saved and waits; nothing new begins before it is."""

    code = "pending_save"

    def __init__(self, messages: int, records: int) -> None:
        super().__init__(messages, records)
        self.messages = messages
        self.records = records

    def __str__(self) -> str:
        waiting = f"{count(self.messages, 'message')} and {count(self.records, 'record')}"
        return (
            f"Not saved: {waiting}; flush to try again, or dispose with discard_pending=True "
            "to give them up."
        )


class SessionLockedError(RefusalError):
    """Another process, or another store of this one, works on the session.

    Attributes:
        path: the session file; it can still be opened read-only.
        pid: process that holds the lock, or None where it left no name.
        host: the machine it runs on, or empty.
        since: when it took the lock, ISO 8601, or empty.
    """

    code = "session_locked"

    def __init__(self, path: str, pid: int | None, host: str, since: str) -> None:
        super().__init__(path, pid, host, since)
        self.path = path
        self.pid = pid
        self.host = host
        self.since = since

    def __str__(self) -> str:
        holder = "another process"
        if self.pid is not None:
            holder = f"process {self.pid} on {self.host} since {self.since}"
        return f"{self.path} is in use by {holder}; it can be opened read-only."


class SessionReadOnlyError(RefusalError):
    """The session was opened for reading only."""

    code = "session_read_only"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} was opened read-only; nothing was changed."


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


class InvalidMessageError(FailureError):
    """A message cannot stand in the history; its whole commit was not accepted.

    Attributes:
        message_index: 0-based index that the message has, or would have had, in the history.
    """

    code = "invalid_message"

    def __init__(self, message_index: int, reason: str) -> None:
        super().__init__(message_index, reason)
        self.message_index = message_index
        self.reason = reason

    def __str__(self) -> str:
        return f"Message {self.message_index} {self.reason}."


class SummaryRejectedError(FailureError):
    """A generated summary cannot be used; nothing of it was kept.

    Attributes:
        reason: a sentence without its capital letter.
        usage: what the calls before and this one are known to have cost; None if no call reported.
    """

    code = "summary_failed"

    def __init__(self, reason: str, usage: SummaryUsage | None = None) -> None:
        super().__init__(reason, usage)
        self.reason = reason
        self.usage = usage

    def __str__(self) -> str:
        return f"The summary was rejected: {self.reason}"


class SummaryTimeoutError(FailureError):
    """A summary took too long; nothing of it was kept.

    Attributes:
        timeout_s: the limit that was reached, seconds.
        limit: whether it bounds one call or the whole generation.
        usage: what the calls before are known to have cost; None if no call reported.
    """

    code = "summary_timeout"

    def __init__(
        self,
        timeout_s: float,
        limit: Literal["call", "generation"],
        usage: SummaryUsage | None = None,
    ) -> None:
        super().__init__(timeout_s, limit, usage)
        self.timeout_s = timeout_s
        self.limit = limit
        self.usage = usage

    def __str__(self) -> str:
        what = "one call" if self.limit == "call" else "the whole generation"
        return f"The summary timed out: {self.timeout_s:g} s were allowed for {what}."


class McpServerError(FailureError):
    """A server of the Model Context Protocol did not start; the prompt was not accepted."""

    code = "mcp_server_failed"

    def __init__(self, server: str, reason: str) -> None:
        super().__init__(server, reason)
        self.server = server
        self.reason = reason

    def __str__(self) -> str:
        return f"The MCP server {self.server!r} did not start: {self.reason.rstrip('.')}."


class WorkerLostError(FailureError):
    """A process that shared the work ended by itself; its share was not done.

    Attributes:
        place: whose process, as ``the scheduler tcp://host:8786``.
        item: the work whose result is the first that is missing, such as a file; or empty.
    """

    code = "worker_lost"

    def __init__(self, place: str, item: str = "") -> None:
        super().__init__(place, item)
        self.place = place
        self.item = item

    def __str__(self) -> str:
        over = f" before {self.item} was done" if self.item else ""
        return (
            f"A process of {self.place} ended by itself{over}, perhaps for lack of memory. "
            "Fewer jobs need less of it."
        )


class SaveFailedError(FailureError):
    """The operating system refused to store a commit.

    What was stored before is unchanged, and the same commit may be tried again.
    """

    code = "save_failed"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path} could not be saved: {self.reason}. What was saved before is unchanged."


class SessionFileError(FailureError):
    """A session file cannot be used as it is; it was not touched, and can still be examined.

    Attributes:
        line: 1-based line of the file at which it was found.
        reason: what is wrong, without the file's contents.
    """

    code = "session_file"

    def __init__(self, path: str, line: int, reason: str) -> None:
        super().__init__(path, line, reason)
        self.path = path
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.reason}."


class UnsupportedSessionError(SessionFileError):
    """The file's format or version is not ours."""

    code = "unsupported_session"


class BrokenHeaderError(SessionFileError):
    """Line 1 cannot be read."""

    code = "broken_header"


class CopiedSessionError(SessionFileError):
    """The file is not named for the session that it holds: a copy, of which there is one already.

    Attributes:
        session_id: of the session that it holds.
    """

    code = "copied_session"

    def __init__(self, path: str, session_id: str) -> None:
        super().__init__(path, 1, f"a copy of {session_id}; its name is not its id")
        self.args = (path, session_id)
        self.session_id = session_id

    def __str__(self) -> str:
        return f"{super().__str__()[:-1]}: remove it, or move it elsewhere and open it by its path."


class BrokenMessageError(SessionFileError):
    """A message line, or a commit line among them, cannot be read."""

    code = "broken_message"


class BrokenRecordError(SessionFileError):
    """A stored checkpoint, clearing, trim or restore record is not valid."""

    code = "broken_record"


class OrphanResultError(SessionFileError):
    """A tool result answers no call."""

    code = "orphan_result"


class UnansweredCallError(SessionFileError):
    """A tool call before the newest message has no result."""

    code = "unanswered_call"


class OriginalsChangedError(SessionFileError):
    """Stored messages are not those that were committed."""

    code = "originals_changed"
