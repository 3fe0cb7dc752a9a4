"""The interactive mode from its beginning to its end."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from palimpsest.cli.chat.chat import Chat
from palimpsest.cli.chat.commands import welcome
from palimpsest.cli.chat.completion import ChatCompleter
from palimpsest.cli.chat.desk import Desk
from palimpsest.cli.chat.terminal import SafeFileHistory, Sights, Terminal
from palimpsest.cli.open import Choices, manager_for
from palimpsest.session.places import data_directory

HISTORY_FILE = "input-history"

SIGNALS = {"SIGTERM": 143, "SIGHUP": 129}
"""Signals that end the program in order, with the exit status that says so."""


async def run_chat(
    choices: Choices, cwd: Path, *, source: Input | None = None, output: Output | None = None
) -> int:
    """Open a session, chat, close it; give the exit status.

    Raises:
        PalimpsestError: the session or its model cannot be had; nothing was shown.
    """
    desk = await Desk.open(await manager_for(choices, cwd), choices)
    chat = Chat(desk)
    terminal = Terminal(
        sights=Sights(screen=lambda: chat.screen, status=chat.status),
        hands=chat,
        completer=ChatCompleter(chat.offers),
        history=SafeFileHistory(data_directory() / HISTORY_FILE),
        source=source,
        output=output,
    )
    chat.connect(terminal)
    terminal.begin_line()
    welcome(chat)
    try:
        with _ending_in_order(chat):
            return await _until_the_end(chat, terminal)
    finally:
        await chat.close()


async def _until_the_end(chat: Chat, terminal: Terminal) -> int:
    try:
        return await terminal.run()
    except EOFError:  # the terminal is gone
        status = SIGNALS["SIGHUP"]
        await chat.terminate(status)
        return status


@contextmanager
def _ending_in_order(chat: Chat) -> Generator[None]:
    """Let the signals that end a process stop the run and close the session first."""
    if sys.platform == "win32":
        yield
        return
    loop = asyncio.get_running_loop()

    def end(status: int) -> None:
        chat.spawn(chat.terminate(status))

    for name, status in SIGNALS.items():
        loop.add_signal_handler(getattr(signal, name), end, status)
    try:
        yield
    finally:
        for name in SIGNALS:
            loop.remove_signal_handler(getattr(signal, name))
