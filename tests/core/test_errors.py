from __future__ import annotations

import pickle
import re
from collections.abc import Iterator

import pytest

from palimpsest.core import errors
from palimpsest.core.budget import Budget
from palimpsest.core.errors import (
    AmbiguousSessionError,
    BrokenConfigError,
    ContextBudgetExceededError,
    FailureError,
    InvalidMessageError,
    InvalidRecordError,
    InvalidSettingError,
    McpServerError,
    MissingExtraError,
    MissingKeyError,
    NotARecordingError,
    NoTerminalError,
    NothingToCompactError,
    PalimpsestError,
    RefusalError,
    SaveFailedError,
    SessionLockedError,
    SessionNotFoundError,
    SessionReadOnlyError,
    StoreClosedError,
    SummaryRejectedError,
    SummaryTimeoutError,
    UnansweredCallError,
    UnknownFormatError,
    UnknownModelError,
    UsageError,
)
from palimpsest.core.records import SummaryUsage

BUDGET = Budget(window=32_000, reserved_output=1_000, byte_limit=5_000)


def _family(root: type[PalimpsestError]) -> Iterator[type[PalimpsestError]]:
    yield root
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from _family(child)


def _drawn(cls: type[PalimpsestError]) -> str:
    depth = len(cls.__mro__) - len(PalimpsestError.__mro__)
    branch = rf"(?:[│ ]  ){{{depth - 1}}}[├└]─ " if depth else ""
    return rf"^ {{4}}{branch}{cls.__name__}\b"


@pytest.mark.parametrize("cls", list(_family(PalimpsestError)))
def test_every_class_stands_in_the_drawn_tree(cls: type[PalimpsestError]) -> None:
    assert re.search(_drawn(cls), str(errors.__doc__), re.MULTILINE)


def test_codes_are_unique() -> None:
    codes = [cls.code for cls in _family(PalimpsestError)]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize(
    ("error", "family", "status", "text"),
    [
        (
            InvalidSettingError("window", -1, "a positive integer"),
            UsageError,
            2,
            "window must be a positive integer, not -1.",
        ),
        (
            UnknownFormatError("xml", ("kimi", "pi")),
            UsageError,
            2,
            "There is no format 'xml'. Known formats: kimi, pi.",
        ),
        (
            NotARecordingError("notes.txt", "no line is JSON."),
            UsageError,
            2,
            "notes.txt is not a recording: no line is JSON.",
        ),
        (
            NothingToCompactError("this conversation has one turn."),
            RefusalError,
            1,
            "Nothing to compact: this conversation has one turn.",
        ),
        (
            InvalidRecordError("checkpoint", "summary", "is blank"),
            FailureError,
            1,
            "checkpoint: summary is blank.",
        ),
        (
            SessionNotFoundError("a.jsonl"),
            UsageError,
            2,
            "There is no session a.jsonl; name a file, or four characters or more of an id that "
            "palimpsest sessions list --all shows.",
        ),
        (
            AmbiguousSessionError("1f", ("1f3a", "1f3b")),
            UsageError,
            2,
            "2 sessions begin with '1f'; name one: 1f3a, 1f3b.",
        ),
        (BrokenConfigError("a.toml", "no."), UsageError, 2, "a.toml: no."),
        (
            NoTerminalError(),
            UsageError,
            2,
            'The interactive mode needs a terminal; palimpsest -p "…" works without one.',
        ),
        (StoreClosedError(), UsageError, 2, "The session's store is closed."),
        (
            SessionLockedError("a.jsonl", 12, "box", "2026-01-01T00:00:00+00:00"),
            RefusalError,
            1,
            "a.jsonl is in use by process 12 on box since 2026-01-01T00:00:00+00:00; it can be "
            "opened read-only.",
        ),
        (
            SessionReadOnlyError("a.jsonl"),
            RefusalError,
            1,
            "a.jsonl was opened read-only; nothing was changed.",
        ),
        (
            InvalidMessageError(3, "holds a tool call that has no result"),
            FailureError,
            1,
            "Message 3 holds a tool call that has no result.",
        ),
        (
            SaveFailedError("a.jsonl", "No space left on device"),
            FailureError,
            1,
            "a.jsonl could not be saved: No space left on device. What was saved before is "
            "unchanged.",
        ),
        (
            UnansweredCallError("a.jsonl", 4, "the message holds a tool call that has no result"),
            FailureError,
            1,
            "a.jsonl, line 4: the message holds a tool call that has no result.",
        ),
        (
            SummaryRejectedError("the reply was cut off."),
            FailureError,
            1,
            "The summary was rejected: the reply was cut off.",
        ),
        (
            SummaryTimeoutError(120, "call", SummaryUsage(input=3)),
            FailureError,
            1,
            "The summary timed out: 120 s were allowed for one call.",
        ),
        (
            SummaryTimeoutError(300.5, "generation"),
            FailureError,
            1,
            "The summary timed out: 300.5 s were allowed for the whole generation.",
        ),
        (
            UnknownModelError("gpt-5", "openai:gpt-5"),
            UsageError,
            2,
            "There is no model 'gpt-5'; did you mean 'openai:gpt-5'?",
        ),
        (
            UnknownModelError(""),
            UsageError,
            2,
            "No model is set; name one as provider:model, or set PALIMPSEST_MODEL.",
        ),
        (
            UnknownModelError("nope"),
            UsageError,
            2,
            "There is no model 'nope'; write provider:model, as openai:gpt-5.",
        ),
        (
            UnknownModelError("nope:x", "", "PALIMPSEST_MODEL"),
            UsageError,
            2,
            "There is no model 'nope:x', as PALIMPSEST_MODEL says; no provider is called 'nope'.",
        ),
        (
            MissingKeyError("openai", "OPENAI_API_KEY"),
            UsageError,
            2,
            "The provider 'openai' needs the environment variable OPENAI_API_KEY.",
        ),
        (
            MissingExtraError("The provider 'groq'", "palimpsest-ai[groq]"),
            UsageError,
            2,
            "The provider 'groq' needs an optional package: pip install 'palimpsest-ai[groq]' "
            "(in a checkout: '.[groq]').",
        ),
        (
            McpServerError("files", "No such file."),
            FailureError,
            1,
            "The MCP server 'files' did not start: No such file.",
        ),
    ],
)
def test_an_error_carries_facts_and_says_one_sentence(
    error: PalimpsestError, family: type[PalimpsestError], status: int, text: str
) -> None:
    assert isinstance(error, family)
    assert error.exit_status == status
    assert str(error) == text
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), vars(copy), str(copy)) == (type(error), vars(error), text)


def test_an_exceeded_token_budget_says_what_needs_what() -> None:
    error = ContextBudgetExceededError(BUDGET, 31_200, 4_000, 24_000)
    assert str(error).startswith(
        "This request needs 31,200 tokens; 29,400 fit (window 32,000 − 1,000 answer − 1,600 "
        "safety). 24,000 tokens are system text and tools, which compaction cannot shrink; "
        "7,200 are history. The history is preserved."
    )
    assert "bytes" not in str(error)


def test_an_exceeded_byte_budget_and_the_cause_are_named() -> None:
    error = ContextBudgetExceededError(BUDGET, 100, 9_000, 200, "The summary timed out.")
    text = str(error)
    assert text.startswith("This request needs 100 tokens; 29,400 fit (window 32,000 − ")
    assert "This request holds 9,000 bytes; 5,000 may be sent at once. 200 " in text
    assert "0 are history. Compaction did not help: The summary timed out." in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
