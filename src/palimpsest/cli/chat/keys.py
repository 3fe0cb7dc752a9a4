"""What keys do."""

from __future__ import annotations

from typing import Protocol

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys


class Hands(Protocol):
    """What the keys ask for; done by the chat."""

    def submit(self, text: str) -> None:
        """A line was sent."""
        ...

    def press_interrupt(self, *, draft: bool) -> bool:
        """Ctrl+C; True asks to clear the draft."""
        ...

    def press_quit(self) -> None:
        """Ctrl+D on an empty line."""
        ...

    def take_back(self) -> str | None:
        """Give the newest queued prompt back, or None if there is none."""
        ...

    def pasted(self, text: str) -> str:
        """Give what stands in the input for a paste."""
        ...

    def paste_image(self) -> str:
        """Give what stands in the input for the clipboard's image; empty if there is none."""
        ...


def key_bindings(hands: Hands, buffer: Buffer) -> KeyBindings:
    """Bind the keys that ``/help`` names; editing keys are prompt_toolkit's own."""
    keys = KeyBindings()
    typing = has_focus(buffer)
    empty = Condition(lambda: not buffer.text)
    completing = Condition(lambda: _chosen(buffer))

    @keys.add("enter", filter=typing & ~completing)
    def _(event: KeyPressEvent) -> None:
        if buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
            return
        text = buffer.text
        buffer.reset()
        hands.submit(text)

    @keys.add("enter", filter=typing & completing)
    def _(event: KeyPressEvent) -> None:
        buffer.complete_state = None

    @keys.add("escape", "enter", filter=typing)
    @keys.add("c-j", filter=typing)
    def _(event: KeyPressEvent) -> None:
        buffer.newline(copy_margin=False)

    @keys.add("c-c")
    @keys.add(Keys.SIGINT)
    def _(event: KeyPressEvent) -> None:
        if hands.press_interrupt(draft=bool(buffer.text)):
            get_app().layout.focus(buffer)
            buffer.reset()

    @keys.add("c-d", filter=typing & empty)
    def _(event: KeyPressEvent) -> None:
        hands.press_quit()

    @keys.add("up", filter=typing & empty)
    def _(event: KeyPressEvent) -> None:
        text = hands.take_back()
        if text is None:
            buffer.auto_up()
        else:
            buffer.insert_text(text)

    @keys.add(Keys.BracketedPaste, filter=typing)
    def _(event: KeyPressEvent) -> None:
        buffer.insert_text(hands.pasted(event.data))

    @keys.add("c-v", filter=typing)
    def _(event: KeyPressEvent) -> None:
        buffer.insert_text(hands.paste_image())

    return keys


def _chosen(buffer: Buffer) -> bool:
    """Whether a completion is selected, so that Enter takes it."""
    state = buffer.complete_state
    return state is not None and state.current_completion is not None
