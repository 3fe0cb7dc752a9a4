"""One session file, blocking: opened with its lock, appended to, closed in its canonical layout."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import RLock

from pydantic_ai.messages import ModelMessage

from palimpsest.core.errors import (
    BrokenMessageError,
    SaveFailedError,
    SessionReadOnlyError,
    StoreClosedError,
)
from palimpsest.session.intake import Intake, Prepared
from palimpsest.session.lock import SessionLock
from palimpsest.session.store import Commit, Loaded, TornTail
from palimpsest.storage.canonical import ChangedError, put_in_place, write_canonical
from palimpsest.storage.codec import header_object
from palimpsest.storage.files import Files
from palimpsest.storage.framing import (
    CommitLine,
    MalformedError,
    commit_object,
    decode_message,
    seal,
)
from palimpsest.storage.layout import Layout, Source, add_commit
from palimpsest.storage.pairing import OpenCalls

LARGE_BYTES = 8 << 20
"""Files from this size on keep their commit lines when they are closed, to close quickly."""

MANY_COMMIT_LINES = 1_000
"""But not more than so many: opening reads them all."""


class SessionFile:
    """A session file and what is known of it; every method blocks, one at a time.

    Made by ``opening``.
    """

    def __init__(
        self,
        *,
        path: Path,
        files: Files,
        layout: Layout,
        open_calls: OpenCalls,
        lock: SessionLock | None,
        source: Source | None,
        recovered: TornTail | None,
        is_new: bool,
    ) -> None:
        self._path = path
        self._files = files
        self._layout = layout
        self._lock = lock
        self._source = source
        self._recovered = recovered
        self._is_new = is_new
        self._closed = False
        self._one_at_a_time = RLock()
        self._intake = Intake(
            name=str(path),
            header=layout.header,
            records=layout.records,
            message_count=layout.message_count,
            open_calls=open_calls,
            read_lines=self._read_lines,
            read_originals=self.read_range,
        )

    @property
    def read_only(self) -> bool:
        """Whether commits are refused."""
        return self._source is not None

    # --- reading ---------------------------------------------------------------------------------

    def load_tail(self, first_message_index: int | None) -> Loaded:
        """Load everything but the messages before an index; None is the active cut."""
        with self._in_use():
            start = first_message_index
            start = self._intake.active_cut() if start is None else max(0, start)
            start = min(start, self._layout.message_count)
            return self._intake.loaded(
                self._read_messages(start, self._layout.message_count),
                first_message_index=start,
                recovered=self._recovered,
                read_only=self.read_only,
            )

    def read_range(self, start: int, stop: int) -> list[ModelMessage]:
        """Load a range of messages."""
        with self._in_use():
            return list(self._read_messages(max(0, start), min(stop, self._layout.message_count)))

    def _read_messages(self, start: int, stop: int) -> Iterator[ModelMessage]:
        for index, line in enumerate(self._read_lines(start, stop), start):
            try:
                yield decode_message(line)
            except MalformedError as error:
                reason = f"message {index} cannot be read: it {error}"
                raise BrokenMessageError(str(self._path), index + 2, reason) from error

    def _read_lines(self, start: int, stop: int) -> Iterator[bytes]:
        segments = self._layout.covering(start, stop)
        if not segments:
            return
        with self._reading() as source:
            for segment in segments:
                lines = source.lines(segment.start, segment.stop)
                for index, line in enumerate(lines, segment.first):
                    if start <= index < stop:
                        yield line

    @contextmanager
    def _reading(self) -> Generator[Source]:
        if self._source is not None:
            yield self._source
            return
        with Source(self._files, self._path) as source:
            yield source

    @contextmanager
    def _in_use(self) -> Generator[None]:
        with self._one_at_a_time:
            if self._closed:
                raise StoreClosedError
            yield

    # --- writing ---------------------------------------------------------------------------------

    def commit(self, commit: Commit) -> None:
        """Store a commit whole and durably, or raise and leave everything as it was."""
        with self._in_use():
            if self.read_only:
                raise SessionReadOnlyError(str(self._path))
            with self._saving():
                prepared = self._intake.prepare(commit)
                if prepared.is_empty:
                    return
                self._store(prepared)
            self._intake.accept(prepared)

    def _store(self, prepared: Prepared) -> None:
        if self._is_new:
            self._create(prepared)
            return
        if not self._layout.trusted:
            self._rewrite()
        self._append(prepared)

    @contextmanager
    def _saving(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise SaveFailedError(str(self._path), os_reason(error)) from error
        except ChangedError as error:
            reason = "stored messages are not those that were committed"
            raise SaveFailedError(str(self._path), reason) from error

    def _create(self, prepared: Prepared) -> None:
        files, path = self._files, self._path
        files.make_directory(path.parent)
        if self._lock is None:
            self._lock = SessionLock(path)
        with suppress(FileNotFoundError):
            files.close(files.open(path, "read"))
            raise FileExistsError(0, "there is a file of that name already")
        header = self._intake.header
        line, chained = seal(header_object(header, (), ()), "")
        layout = Layout(
            header=header,
            records=[],
            body_start=len(line),
            stop=len(line),
            hash=chained,
            trusted=True,
        )
        block, commit, commit_line = _framed(prepared, layout)
        put_in_place(files, path, iter((line, block)))
        try:
            files.sync_directory(path.parent)
        except OSError:
            with suppress(OSError):
                files.remove(path)
            raise
        add_commit(layout, commit, commit_line)
        self._layout, self._is_new = layout, False

    def _append(self, prepared: Prepared) -> None:
        files, stop = self._files, self._layout.stop
        block, commit, commit_line = _framed(prepared, self._layout)
        descriptor = files.open(self._path, "update")
        try:
            size = files.size(descriptor)
            if size < stop:
                raise OSError(0, "the file is shorter than what was saved to it")
            if size > stop:  # left by a commit that failed and could not clean up
                files.truncate(descriptor, stop)
            try:
                files.write(descriptor, stop, block)
                files.sync(descriptor)
            except OSError:
                with suppress(OSError):
                    files.truncate(descriptor, stop)
                    files.sync(descriptor)
                raise
        finally:
            files.close(descriptor)
        add_commit(self._layout, commit, commit_line)

    def _rewrite(self) -> None:
        intake = self._intake
        self._layout = write_canonical(
            self._files, self._path, self._layout, intake.header, intake.records
        )
        self._files.sync_directory(self._path.parent)

    # --- closing ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Leave the canonical layout, if that can be done, and give the lock back.

        What was committed is safe before: an operating system that refuses now only leaves the
        commit lines where they are.
        """
        with self._one_at_a_time:
            if self._closed:
                return
            self._closed = True
            try:
                if self._leaves_canonical():
                    with suppress(OSError, ChangedError):
                        self._rewrite()
            finally:
                self.release()

    def release(self) -> None:
        """Give up the lock and the descriptor, and nothing else."""
        self._closed = True
        if self._source is not None:
            self._source.close()
        if self._lock is not None:
            self._lock.release()

    def tidy(self) -> None:
        """Leave the canonical layout now, however large the file is.

        Raises:
            SaveFailedError: the file is unchanged.
        """
        with self._in_use(), self._saving():
            self._rewrite()

    def _leaves_canonical(self) -> bool:
        if self.read_only or self._is_new:
            return False
        if not self._layout.trusted:
            return True
        commits, size = self._layout.commit_lines, self._layout.stop
        return commits > (0 if size < LARGE_BYTES else MANY_COMMIT_LINES)


def _framed(prepared: Prepared, layout: Layout) -> tuple[bytes, CommitLine, bytes]:
    """Give all bytes of a commit, what its line says, and its line."""
    messages = b"".join(prepared.lines)
    start = layout.stop - layout.body_start
    commit = CommitLine(
        start=start,
        bytes=start + len(messages),
        messages=layout.message_count + len(prepared.lines),
        digest=sha256(messages).hexdigest(),
        previous=layout.previous_commit,
        records=list(prepared.records),
        changes=prepared.changes,
    )
    line, _ = seal(commit_object(commit), layout.hash)
    return messages + line, commit, line


def os_reason(error: OSError) -> str:
    """Give the operating system's own words."""
    return error.strerror or type(error).__name__
