"""Replays of many files, one session after the other, so that memory does not grow."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from palimpsest.core.errors import NotARecordingError, WorkerLostError
from palimpsest.lab.replay import ReplaySettings, replay
from palimpsest.lab.results import SessionReplay
from palimpsest.transcripts.read import FoundPath, read_recordings


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """How to read and replay files.

    Attributes:
        format: one of ``palimpsest.transcripts.FORMATS``; None tells it from the content.
        replay: what each replay takes.
        jobs: processes; with more than one, each holds one file at a time, and at most
            ``2 * jobs`` files' results wait for their turn.
    """

    format: str | None = None
    replay: ReplaySettings = field(default_factory=ReplaySettings)
    jobs: int = 1


def replay_files(
    files: Iterable[FoundPath],
    settings: StreamSettings,
    *,
    on_skipped: Callable[[NotARecordingError], None],
    on_file: Callable[[FoundPath], None],
) -> Iterator[SessionReplay]:
    """Replay every session of every file, in the files' order.

    With one job a session is replayed when it is asked for, and none is held on to.

    Args:
        files: what to read, as ``expand_paths`` gives it.
        settings: how to read and replay.
        on_skipped: is given each file that no one named and that is no recording.
        on_file: is given each file once all its sessions were taken.

    Raises:
        NotARecordingError: a file asked for by name is no recording.
        UnknownFormatError: there is no such format.
        InvalidSettingError: see ``replay``.
        WorkerLostError: a process ended by itself.
    """
    start = _here if settings.jobs == 1 else partial(_elsewhere, jobs=settings.jobs)
    with start(files, settings) as results:
        for found, sessions in results:
            try:
                yield from sessions()
            except NotARecordingError as error:
                if found.named:
                    raise
                on_skipped(error)
            on_file(found)


_Results = Iterator[tuple[FoundPath, Callable[[], Iterable[SessionReplay]]]]


@contextmanager
def _here(files: Iterable[FoundPath], settings: StreamSettings) -> Generator[_Results, None, None]:
    yield ((found, partial(_sessions, found, settings)) for found in files)


def _sessions(found: FoundPath, settings: StreamSettings) -> Iterator[SessionReplay]:
    for recording in read_recordings(found.path, format=settings.format):
        yield replay(recording, settings.replay)


@contextmanager
def _elsewhere(
    files: Iterable[FoundPath], settings: StreamSettings, *, jobs: int
) -> Generator[_Results, None, None]:
    # Forking a process that draws a progress bar from a thread may hang: start afresh.
    others = multiprocessing.active_children()
    executor = ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
    )
    try:
        yield _in_order(executor, iter(files), settings, ahead=2 * jobs)
    except BrokenProcessPool as error:
        raise WorkerLostError from error
    except BaseException:
        # Whoever stops the stream does not wait for what has been begun.
        for child in multiprocessing.active_children():
            if child not in others:
                child.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _in_order(
    executor: ProcessPoolExecutor,
    files: Iterator[FoundPath],
    settings: StreamSettings,
    *,
    ahead: int,
) -> _Results:
    waiting = deque[tuple[FoundPath, Future[list[SessionReplay]]]]()
    while True:
        for found in islice(files, ahead - len(waiting)):
            with _interrupts_held():  # it may start a process
                waiting.append((found, executor.submit(_all_sessions, found, settings)))
        if not waiting:
            return
        found, future = waiting.popleft()
        yield found, future.result


@contextmanager
def _interrupts_held() -> Generator[None, None, None]:
    """Keep a terminal's Ctrl+C from processes that start here, before they can ignore it.

    They inherit the block; this process takes the interrupt afterwards, and ends them.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _all_sessions(found: FoundPath, settings: StreamSettings) -> list[SessionReplay]:
    return list(_sessions(found, settings))
