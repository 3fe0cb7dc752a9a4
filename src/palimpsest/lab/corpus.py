"""Replays of a corpus into a folder of parts, which can be stopped at any moment and gone on with.

Needs the extra ``corpus``. A part takes its name when it is whole, so that what stands in the
folder is what was done; nothing else is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from palimpsest._version import __version__
from palimpsest.core.errors import NotARecordingError, UnwritableOutputError, WorkerLostError
from palimpsest.lab.parts import (
    CoveredFile,
    MadeWith,
    PartHead,
    file_rows,
    narrow_part,
    read_head,
    read_sessions,
    write_part,
)
from palimpsest.lab.places import run_at
from palimpsest.lab.results import SessionFigures, SessionReplay
from palimpsest.lab.stream import StreamSettings, replay_file
from palimpsest.transcripts.documents import files_of
from palimpsest.transcripts.read import FoundPath

_NUMBERED = re.compile(r"part-\d+\.parquet")

PART_FILES = 250
"""Files after which a part is written."""

PART_BYTES = 64 * 2**20
"""Size of its files from which it is written earlier, so that little is done twice."""


def replay_corpus(
    folder: Path,
    files: Sequence[FoundPath],
    settings: StreamSettings,
    *,
    on_skipped: Callable[[NotARecordingError], None],
    on_file: Callable[[FoundPath], None],
    part_files: int = PART_FILES,
) -> Iterator[SessionFigures]:
    """Replay every session of every file that no part in the folder stands for yet.

    Gives the figures of all sessions: first those that were done, then the new ones. Memory holds
    the names of the files and one part. A file that changed since is replayed anew, and the rows
    of one that is gone are taken away; one that is no recording is looked at every time.

    Args:
        folder: is made if it is missing; it belongs to these files and settings alone.
        files: see ``replay_files``, as are the following and the errors.
        settings: how to read and replay.
        on_skipped: is given each file that no one named and that is no recording.
        on_file: is given each file once all its sessions were taken.
        part_files: files after which a part is written.

    Raises:
        UnwritableOutputError: the folder holds something else, or another replay writes to it.
        OSError: the folder cannot be read or written.
    """
    made_with = _made_with(settings)
    with _locked(folder):
        asked = {str(found.path): found for found in files}
        parts = sorted(folder.glob("part-*.parquet"))
        _check(folder, parts, made_with, asked)
        done = set[str]()
        for path in parts:
            current = _tidied(path, asked, done)
            if current:
                yield from read_sessions(path)
            for name in current:
                on_file(asked[name])
            done.update(current)
        left = (_stamped(found) for found in files if str(found.path) not in done)
        work = partial(_replay, settings=settings)
        with (
            _Writer(folder, made_with, part_files) as writer,
            run_at(settings.place, work, left) as finished,
        ):
            for item, outcome in finished:
                try:
                    sessions = list(outcome())
                except NotARecordingError as error:
                    if item.found.named:
                        raise
                    on_skipped(error)
                except WorkerLostError as error:
                    raise WorkerLostError(error.place, str(item.found.path)) from error
                else:
                    writer.add(item, sessions)
                    yield from sessions
                on_file(item.found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stamped:
    """A file to replay, as it is before it is read."""

    found: FoundPath
    size_bytes: int
    modified_ns: int


def _replay(item: _Stamped, *, settings: StreamSettings) -> Iterator[SessionFigures]:
    return replay_file(item.found, settings=settings, keep=SessionReplay.figures)


class _Writer:
    """Collects the rows of whole files, and writes them as parts.

    Leaving the block writes what is left, also after an error: it was done.
    """

    def __init__(self, folder: Path, made_with: MadeWith, part_files: int) -> None:
        self._folder = folder
        self._part_files = part_files
        self._made_with = made_with
        self._files: list[CoveredFile] = []
        self._rows: list[dict[str, Any]] = []
        names = [path.stem for path in folder.glob("part-*.parquet")]
        self._number = max((int(name.removeprefix("part-")) for name in names), default=0)

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._write()

    def add(self, item: _Stamped, sessions: list[SessionFigures]) -> None:
        rows = file_rows(sessions)
        self._rows += rows
        self._files.append(
            CoveredFile(
                path=str(item.found.path),
                size_bytes=item.size_bytes,
                modified_ns=item.modified_ns,
                rows=len(rows),
            )
        )
        size = sum(file.size_bytes for file in self._files)
        if len(self._files) >= self._part_files or size >= PART_BYTES:
            self._write()

    def _write(self) -> None:
        if not self._files:
            return
        head = PartHead(made_with=self._made_with, files=self._files)
        path = self._folder / f"part-{self._number + 1:06}.parquet"
        write_part(path, head, self._rows)
        self._number += 1
        self._files, self._rows = [], []


def _made_with(settings: StreamSettings) -> MadeWith:
    return {
        "palimpsest": __version__,
        "genai-prices": version("genai-prices"),
        "format": settings.format,
        "model": settings.replay.model,
        "window": settings.replay.window,
    }


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Hold the folder, made if it is missing, against other replays."""
    if folder.exists() and not folder.is_dir():
        raise UnwritableOutputError(str(folder), "it is no folder")
    folder.mkdir(exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=0, thread_local=False):
            for left_over in folder.glob(".palimpsest-*.partial"):
                left_over.unlink()
            yield
    except Timeout as error:
        raise UnwritableOutputError(str(folder), "another replay is writing to it") from error


def _check(
    folder: Path, parts: Sequence[Path], made_with: MadeWith, asked: dict[str, FoundPath]
) -> None:
    """Refuse a folder of other results, or of a corpus that is away, before it is touched."""
    covered = list[CoveredFile]()
    for path in parts:
        if not _NUMBERED.fullmatch(path.name):
            reason = f"{path.name} is no part of a replay; move it away, or name another folder"
            raise UnwritableOutputError(str(folder), reason)
        head = read_head(path)
        for name, value in made_with.items():
            if (other := head.made_with.get(name)) != value:
                reason = f"it was made with {name} {other}, not {value}; name another folder"
                raise UnwritableOutputError(str(folder), reason)
        covered += head.files
    for file in covered:
        if file.path not in asked and Path(file.path).exists():
            reason = f"it is about other files too, as {file.path}; name another folder"
            raise UnwritableOutputError(str(folder), reason)
    if covered and not any(file.path in asked for file in covered):
        reason = (
            f"none of the {len(covered):,} files it is about is there; mount them, or put them "
            "back where they were, or name another folder"
        )
        raise UnwritableOutputError(str(folder), reason)


def _tidied(path: Path, asked: dict[str, FoundPath], done: set[str]) -> set[str]:
    """Take the rows of files that changed or are gone away, and give the names of the others."""
    head = read_head(path)
    current = {
        file.path
        for file in head.files
        if file.path in asked
        and file.path not in done
        and _stamp(Path(file.path)) == (file.size_bytes, file.modified_ns)
    }
    if not current:
        path.unlink()
    elif len(current) < len(head.files):
        narrow_part(path, head, current)
    return current


def _stamped(found: FoundPath) -> _Stamped:
    size_bytes, modified_ns = _stamp(found.path)
    return _Stamped(found=found, size_bytes=size_bytes, modified_ns=modified_ns)


def _stamp(path: Path) -> tuple[int, int]:
    """Size and time of the last change, of all files it is read from; zeros of nothing."""
    try:
        found = [one.stat() for one in files_of(path)]
    except OSError:
        return 0, 0
    return sum(one.st_size for one in found), max((one.st_mtime_ns for one in found), default=0)
