"""Readers of recorded sessions, one file a format."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palimpsest.transcripts.documents import files_of as files_of
    from palimpsest.transcripts.read import FORMATS as FORMATS
    from palimpsest.transcripts.read import FoundPath as FoundPath
    from palimpsest.transcripts.read import expand_paths as expand_paths
    from palimpsest.transcripts.read import read_paths as read_paths
    from palimpsest.transcripts.read import read_recordings as read_recordings
    from palimpsest.transcripts.recording import Problem as Problem
    from palimpsest.transcripts.recording import RecordedCompaction as RecordedCompaction
    from palimpsest.transcripts.recording import RecordedMessage as RecordedMessage
    from palimpsest.transcripts.recording import Recording as Recording
    from palimpsest.transcripts.recording import RecordingCounts as RecordingCounts
    from palimpsest.transcripts.rewrite import rewrite as rewrite
    from palimpsest.transcripts.view import CompactedView as CompactedView

_HOMES = {
    "CompactedView": "palimpsest.transcripts.view",
    "FORMATS": "palimpsest.transcripts.read",
    "FoundPath": "palimpsest.transcripts.read",
    "Problem": "palimpsest.transcripts.recording",
    "RecordedCompaction": "palimpsest.transcripts.recording",
    "RecordedMessage": "palimpsest.transcripts.recording",
    "Recording": "palimpsest.transcripts.recording",
    "RecordingCounts": "palimpsest.transcripts.recording",
    "expand_paths": "palimpsest.transcripts.read",
    "files_of": "palimpsest.transcripts.documents",
    "read_paths": "palimpsest.transcripts.read",
    "read_recordings": "palimpsest.transcripts.read",
    "rewrite": "palimpsest.transcripts.rewrite",
}

__all__ = [
    "FORMATS",
    "CompactedView",
    "FoundPath",
    "Problem",
    "RecordedCompaction",
    "RecordedMessage",
    "Recording",
    "RecordingCounts",
    "expand_paths",
    "files_of",
    "read_paths",
    "read_recordings",
    "rewrite",
]


def __getattr__(name: str) -> object:
    """Resolve a public name on first use.

    Raises:
        AttributeError: the name is not in ``__all__``.
    """
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
