"""``/help``: every command and key; pure."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from palimpsest.cli.chat.lines import COMMANDS

_KEYS = (
    ("Enter", "send; while busy, queue"),
    ("Alt+Enter, Ctrl+J", "a new line; so does \\ at the end of a line"),
    ("Tab", "complete /command, @file, $skill"),
    ("↑ ↓", "earlier prompts; ↑ on an empty line takes a queued prompt back"),
    ("Ctrl+R", "search earlier prompts"),
    ("Ctrl+V", "attach the image on the clipboard; the path of one does it, too"),
    ("Ctrl+C", "stop what is under way; idle: clear the line, then leave"),
    ("Ctrl+D", "leave"),
)


ROOMY_COLUMNS = 100
"""A terminal this wide has room for two columns."""


def help_lines(*, columns: int) -> Iterator[Text]:
    """Yield a line a command and a line a key."""
    yield Text("Commands", style="bold")
    for spec in COMMANDS.values():
        words = f"/{spec.name} {spec.argument}".rstrip()
        yield _row(words, spec.help, columns)
    yield Text("Keys", style="bold")
    for keys, effect in _KEYS:
        yield _row(keys, effect, columns)
    yield Text("A line that begins with // sends a slash.", style="dim")


def _row(name: str, effect: str, columns: int) -> Text:
    """Give a row; a narrow terminal has the effect under the name."""
    if columns < ROOMY_COLUMNS:
        return Text.assemble((f"  {name}\n", "cyan"), f"      {effect}")
    return Text.assemble((f"  {name:<31}", "cyan"), effect)
