"""What a reader yields: the messages of a recorded session and what the recording knows of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_ai.messages import ModelMessage

    from palimpsest.core.excerpt import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedMessage:
    """One message of the history, oldest first.

    Provider usage, model name, timestamps and finish reason stand on ``message`` itself, where
    pydantic-ai keeps them. ``usage.input_tokens`` is the whole context of that request, cache
    reads and writes included.

    Attributes:
        message: the message in the native dialect.
        is_prompt: the person typed it, so it starts a turn.
        records: ordinals of the raw records it was made from, ascending: 1-based line numbers for
            line formats, 0-based list positions for list formats.
    """

    message: ModelMessage
    is_prompt: bool
    records: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCompaction:
    """A compaction or clearing that the recording agent itself performed.

    Attributes:
        kind: ``summary`` replaced older messages by text; ``clearing`` blanked tool results.
        message_index: messages of the recording that stand before it.
        first_kept_message_index: the first message before it that stayed in the context verbatim;
            ``message_index`` itself where none did. Meaningless for a clearing.
        trigger: the recording's own word (``auto``, ``manual``), or empty.
        tokens_before: context the recording gives for the moment before it, or None.
        summary: the summary text; empty for a clearing.
        cleared_call_ids: calls whose results a clearing blanked, in the recording's order.
    """

    kind: Literal["summary", "clearing"]
    message_index: int
    first_kept_message_index: int = 0
    trigger: str = ""
    tokens_before: int | None = None
    summary: str = ""
    cleared_call_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something damaged or odd in a recording, and what the reader did about it.

    Attributes:
        path: the file.
        line: 1-based line number, or None for formats without lines.
        what: one sentence: what is wrong and what was done.
        kind: ``lost`` when content could not be read, ``repaired`` when it could after all.
    """

    path: str
    line: int | None
    what: str
    kind: Literal["lost", "repaired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingCounts:
    """Counts in the recording's own terms, as its tools would give them.

    ``messages`` counts model-visible records (one per API response, one per tool result or user
    record as the format stores them) over everything that was recorded, abandoned branches
    included; it may differ from ``len(Recording.messages)``, where all results of one step are
    one message. ``docs/recordings.md`` says how each format counts.
    """

    messages: int
    calls: int
    results: int
    images: int
    interrupted: int


@dataclass(slots=True, kw_only=True)
class Recording:
    """One recorded session.

    Attributes:
        path: the file it was read from.
        format: the reader's name.
        session_id: the recording's own id, or one derived from the file's name and position.
        model: the model named most often by the replies, or None.
        system: system text the recording holds, or empty.
        tools: tool declarations the recording holds ({name, description, parameters}), or empty.
        messages: the whole history in order, originals only: the text of recorded summaries
            stands in ``compactions``, not among the messages.
        set_aside: how many raw records are not part of the history, by reason: a record type that
            never reaches the model, ``abandoned branch``, ``sidechain``, ``summary``, ….
    """

    path: Path
    format: str
    session_id: str
    model: str | None
    system: str
    tools: list[Json]
    messages: list[RecordedMessage]
    compactions: list[RecordedCompaction]
    set_aside: dict[str, int] = field(default_factory=dict[str, int])
    problems: list[Problem] = field(default_factory=list["Problem"])
    counts: RecordingCounts
