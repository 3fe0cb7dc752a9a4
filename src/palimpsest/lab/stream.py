"""Replays of many files, one session after the other, so that memory does not grow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from palimpsest.core.errors import NotARecordingError, WorkerLostError
from palimpsest.lab.places import Here, Place, run_at
from palimpsest.lab.replay import ReplaySettings, replay
from palimpsest.lab.results import SessionReplay
from palimpsest.transcripts.read import FoundPath, read_recordings

Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """How to read and replay files.

    Attributes:
        format: one of ``palimpsest.transcripts.FORMATS``; None tells it from the content.
        replay: what each replay takes.
        place: where it is done.
    """

    format: str | None = None
    replay: ReplaySettings = field(default_factory=ReplaySettings)
    place: Place = field(default_factory=Here)


def replay_files(
    files: Iterable[FoundPath],
    settings: StreamSettings,
    *,
    keep: Callable[[SessionReplay], Kept],
    on_skipped: Callable[[NotARecordingError], None],
    on_file: Callable[[FoundPath], None],
) -> Iterator[Kept]:
    """Replay every session of every file, in the files' order.

    In this process a session is replayed when it is asked for, and none is held on to.

    Args:
        files: what to read, as ``expand_paths`` gives it.
        settings: how to read and replay.
        keep: is given each replay where it was made, and returns what is wanted of it.
        on_skipped: is given each file that no one named and that is no recording.
        on_file: is given each file once all its sessions were taken.

    Raises:
        NotARecordingError: a file asked for by name is no recording.
        UnknownFormatError: there is no such format.
        InvalidSettingError: see ``replay``, or no scheduler answers.
        WorkerLostError: a process ended by itself.
        MissingExtraError: see ``run_at``.
    """
    work = partial(replay_file, settings=settings, keep=keep)
    with run_at(settings.place, work, files) as finished:
        for found, sessions in finished:
            try:
                yield from sessions()
            except NotARecordingError as error:
                if found.named:
                    raise
                on_skipped(error)
            except WorkerLostError as error:
                raise WorkerLostError(error.place, str(found.path)) from error
            on_file(found)


def replay_file(
    found: FoundPath, *, settings: StreamSettings, keep: Callable[[SessionReplay], Kept]
) -> Iterator[Kept]:
    """Replay every session of one file; see ``replay_files``."""
    for recording in read_recordings(found.path, format=settings.format):
        yield keep(replay(recording, settings.replay))


def whole(session: SessionReplay) -> SessionReplay:
    """Keep everything of a replay, every request of every policy."""
    return session
