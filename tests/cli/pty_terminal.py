"""A real terminal for a real process: a pseudo-terminal, and a screen that reads what it shows."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyte

PATIENCE_S = 40.0
"""A test that waits longer has failed; it waits for output, never for time."""


_IN_ITS_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


class PtyTerminal:
    """A process in a terminal of its own."""

    def __init__(
        self, arguments: list[str], *, cwd: Path, env: Mapping[str, str], columns: int, rows: int
    ) -> None:
        self._master, slave = pty.openpty()
        self._resize(columns, rows)
        self._screen = pyte.HistoryScreen(columns, rows, history=5_000, ratio=0.5)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        self._asked = 0
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _IN_ITS_TERMINAL, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
        )
        self._slave = slave

    def type(self, text: str) -> None:
        data = text.encode("utf-8", "surrogateescape")
        while data:
            _, ready, _ = select.select([], [self._master], [], 0.02)
            if ready:
                data = data[os.write(self._master, data[:4_096]) :]
            self._take(time.monotonic())
        self._answer()

    def enter(self, text: str) -> None:
        """Type a line once the session is idle, and press Enter when it stands in the input."""
        self.wait_for_idle()
        self.enter_now(text)

    def enter_now(self, text: str) -> None:
        """Type a line whatever is under way."""
        self.type(text)
        self.wait_for(f"› {text[:40]}")
        self.type("\r")

    def wait_for(self, text: str, *, gone: bool = False) -> str:
        """Read until a text is on the screen, or no more; give all that is shown."""
        return self.wait(lambda shown: (text in shown) != gone, text)

    def wait_for_idle(self) -> str:
        """Read until the bottom bar is drawn and nothing is under way."""
        return self.wait(lambda _: self._is_idle(), "an idle session")

    def _is_idle(self) -> bool:
        lines = [line for line in self._screen.display if line.strip()]
        return bool(lines) and "% of" in lines[-1] and not any("◌" in line for line in lines)

    def wait(self, holds: Callable[[str], bool], wanted: str) -> str:
        deadline = time.monotonic() + PATIENCE_S
        while not holds(self.shown()):
            if not self._read(deadline):
                raise AssertionError(f"waited in vain for {wanted!r}; shown:\n{self.shown()}")
        return self.shown()

    def exit_status(self) -> int:
        """Read until the process has ended; give its status."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            self._read(min(deadline, time.monotonic() + 0.05))
            assert time.monotonic() < deadline, f"it goes on; shown:\n{self.shown()}"
        while self._read(time.monotonic()):
            pass
        return self.process.returncode

    def shown(self) -> str:
        """Give scrollback and screen as text, lines stripped at their ends."""
        top = self._screen.history.top
        lines = ["".join(line[at].data for at in range(self._screen.columns)) for line in top]
        return "\n".join(line.rstrip() for line in [*lines, *self._screen.display])

    def wait_until_quiet_input(self) -> None:
        """Wait until the process has taken the terminal over, before it shows anything."""
        deadline = time.monotonic() + PATIENCE_S
        while self.is_restored():
            self._read(time.monotonic() + 0.01)
            assert time.monotonic() < deadline

    def resize(self, columns: int, rows: int) -> None:
        self._resize(columns, rows)
        self._screen.resize(rows, columns)
        os.killpg(self.process.pid, signal.SIGWINCH)

    def is_restored(self) -> bool:
        """Whether the terminal has the settings that it had before the process."""
        return termios.tcgetattr(self._slave) == self.before

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)
        os.close(self._slave)

    def _resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self, deadline: float) -> bool:
        taken = self._take(deadline)
        self._answer()
        return taken

    def _take(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._master, 65_536)
        except OSError:
            return False
        self.raw += data
        self._stream.feed(data)
        self._asked += data.count(b"\x1b[6n")
        return True

    def _answer(self) -> None:
        """Tell where the cursor is, as terminals do when asked, never in the midst of typing."""
        while self._asked:
            self._asked -= 1
            cursor = self._screen.cursor
            os.write(self._master, f"\x1b[{cursor.y + 1};{cursor.x + 1}R".encode())


@contextmanager
def terminal(
    *arguments: str,
    cwd: Path,
    env: Mapping[str, str],
    columns: int = 100,
    rows: int = 30,
) -> Iterator[PtyTerminal]:
    """Run ``palimpsest`` with arguments in a terminal."""
    opened = PtyTerminal(
        ["-m", "palimpsest", *arguments],
        cwd=cwd,
        env={**os.environ, "TERM": "xterm-256color", **env},
        columns=columns,
        rows=rows,
    )
    try:
        yield opened
    finally:
        opened.close()
