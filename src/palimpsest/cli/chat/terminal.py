"""The terminal: scrollback above, what is alive and the input below. prompt_toolkit draws it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import ThreadedCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar
from rich.console import Group, RenderableType
from rich.text import Text

from palimpsest.cli.chat.blocks import Block
from palimpsest.cli.chat.completion import ChatCompleter
from palimpsest.cli.chat.ink import ink, ink_blocks
from palimpsest.cli.chat.keys import Hands, key_bindings
from palimpsest.cli.chat.markdown import TerminalMarkdown
from palimpsest.cli.chat.render import render_live
from palimpsest.cli.chat.screen import Screen
from palimpsest.lab.plain import plain

REFRESH_S = 0.5
"""How often elapsed times move on."""

_STYLE = Style.from_dict(
    {
        "rule": "ansibrightblack",
        "completion-menu": "noreverse bg:default",
        "completion-menu.completion": "noreverse bg:default fg:default",
        "completion-menu.completion.current": "reverse",
        "completion-menu.meta.completion": "noreverse bg:default fg:ansibrightblack",
        "completion-menu.meta.completion.current": "reverse",
        "scrollbar.background": "bg:default",
        "scrollbar.button": "reverse",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sights:
    """What the terminal shows besides what is printed; asked for whenever it draws."""

    screen: Callable[[], Screen]
    status: Callable[[int], Text]


class Terminal:
    """Draws a chat, and hands over what is typed.

    Nothing is drawn before ``run``.
    """

    def __init__(
        self,
        *,
        sights: Sights,
        hands: Hands,
        completer: ChatCompleter,
        history: History | None = None,
        source: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._sights = sights
        self._last: Block | None = None
        self.buffer = Buffer(
            multiline=True,
            completer=ThreadedCompleter(completer),
            complete_while_typing=True,
            history=history or InMemoryHistory(),
        )
        search = SearchToolbar(ignore_case=True)
        self.app: Application[int] = Application(
            layout=self._layout(search),
            key_bindings=key_bindings(hands, self.buffer),
            style=_STYLE,
            erase_when_done=True,
            mouse_support=False,
            refresh_interval=REFRESH_S,
            input=source,
            output=output,
        )
        self.app.ttimeoutlen = 0.05

    async def run(self) -> int:
        """Show the terminal until ``leave``; give the exit status.

        Raises:
            EOFError: the terminal is gone.
        """
        return await self.app.run_async(set_exception_handler=False)

    def begin_line(self) -> None:
        """Take away what the terminal echoed before it was ours; it comes again, in the input."""
        self.app.output.write_raw("\r")
        self.app.output.erase_end_of_line()

    def leave(self, status: int) -> None:
        """End ``run`` with that status."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit(result=status)

    def fail(self, error: BaseException) -> None:
        """End ``run`` by raising that."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit(exception=error)

    @property
    def columns(self) -> int:
        """How wide the terminal is now."""
        return max(1, self.app.output.get_size().columns)

    def show(self, *blocks: Block) -> None:
        """Print blocks above the live part.

        The terminal stays in raw mode: what is typed in this moment must reach the input as it is.
        """
        if not blocks:
            return
        text = ink_blocks(self._last, blocks, columns=self.columns).replace("\n", "\r\n")
        self._last = blocks[-1]
        drawn = self.app.is_running and not self.app.is_done
        if drawn:
            self.app.renderer.erase()
        self.app.output.write_raw(text)
        self.app.output.flush()
        if drawn:
            self.app.renderer.request_absolute_cursor_position()
            self.app.invalidate()

    def remember(self, line: str) -> None:
        """Put a line into the history of the input."""
        self.buffer.history.append_string(line)

    def put_back(self, text: str) -> None:
        """Put a line that could not be sent back into the input."""
        if not self.buffer.text:
            self.buffer.insert_text(text)

    def refresh(self) -> None:
        """Draw the live part anew."""
        self.app.invalidate()

    # --- layout ------------------------------------------------------------------------------

    def _layout(self, search: SearchToolbar) -> Layout:
        live = Window(
            FormattedTextControl(self._live),
            dont_extend_height=True,
            wrap_lines=False,
        )
        control = BufferControl(self.buffer, search_buffer_control=search.control)
        entry = Window(
            control,
            height=self._entry_height,
            dont_extend_height=True,
            wrap_lines=True,
            get_line_prefix=_line_prefix,
        )
        return Layout(
            HSplit(
                [
                    ConditionalContainer(live, Condition(self._has_live)),
                    Window(height=1, char="─", style="class:rule"),
                    entry,
                    search,
                    CompletionsMenu(max_height=8, scroll_offset=1),
                    Window(FormattedTextControl(self._status), height=1, wrap_lines=False),
                ],
                align=VerticalAlign.TOP,
            ),
            focused_element=entry,
        )

    def _entry_height(self) -> Dimension:
        rows = self.app.output.get_size().rows
        return Dimension(min=1, max=max(1, rows * 2 // 5))

    def _has_live(self) -> bool:
        screen = self._sights.screen()
        return bool(screen.operation or screen.queue or screen.prose)

    def _live(self) -> AnyFormattedText:
        columns, rows = self.columns, self.app.output.get_size().rows
        room = max(1, rows // 2 - 2)
        screen = self._sights.screen()
        now_ms = int(time.time() * 1000)
        lines: list[RenderableType] = list(
            render_live(screen, now_ms=now_ms, columns=columns, rows=room)
        )
        below = ink(Group(*lines), columns=columns).splitlines() if lines else []
        above: list[str] = []
        if screen.prose.strip():
            prose = ink(TerminalMarkdown(plain(screen.prose)), columns=columns)
            above = ["", *prose.splitlines()][-room:]
        return ANSI("\n".join([*above, *below]))

    def _status(self) -> AnyFormattedText:
        columns = self.columns
        return ANSI(ink(self._sights.status(columns), columns=columns))


def _line_prefix(line: int, wrapped: int) -> AnyFormattedText:
    return [("bold fg:ansiblue", "› ")] if line == 0 and wrapped == 0 else "  "


class SafeFileHistory(InMemoryHistory):
    """Typed prompts, kept in a file of the person's own; a disk that refuses is no error.

    Entries are separated by NUL, oldest first.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(_read(path))
        self._path = path

    def store_string(self, string: str) -> None:
        """Put an entry behind the others."""
        super().store_string(string)
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            with self._path.open("ab") as file:
                file.write(string.encode("utf-8", "replace") + b"\0")
        except OSError:
            return


MOST_REMEMBERED = 1_000
"""Entries that are read back."""


def _read(path: Path) -> Sequence[str]:
    try:
        data = path.read_bytes()
    except OSError:
        return ()
    entries = data.decode("utf-8", "replace").split("\0")
    return [entry for entry in entries if entry][-MOST_REMEMBERED:]
