"""Rich renderables as text for a terminal: no trailing blanks, no background, no boxes."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.theme import Theme

from palimpsest.cli.chat.blocks import Block
from palimpsest.cli.chat.render import gap_between, render_block

_THEME = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold underline",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.h5": "bold",
        "markdown.h6": "bold",
        "markdown.block_quote": "italic",
        "markdown.item.bullet": "none",
        "markdown.item.number": "none",
        "markdown.link": "underline",
        "markdown.link_url": "dim",
        "markdown.table.header": "bold",
        "markdown.table.border": "dim",
    }
)
"""Only what can be read on light and on dark backgrounds."""

_BLANK = r"(?:\x1b\[[0-9;]*m)*"
_OUTER_BLANK_LINES = re.compile(rf"\A(?:{_BLANK}\n)+|(?:\n{_BLANK})+\Z")
_TRAILING = re.compile(r"[ ]+((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)


def ink(renderable: RenderableType, *, columns: int) -> str:
    """Give a renderable as text with ANSI styles, no blank lines around it; NO_COLOR holds."""
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        width=max(1, columns),
        theme=_THEME,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
    )
    with console.capture() as captured:
        console.print(renderable)
    return _OUTER_BLANK_LINES.sub("", _TRAILING.sub(r"\1", captured.get()))


def ink_blocks(before: Block | None, blocks: Sequence[Block], *, columns: int) -> str:
    """Give blocks as text, an empty line between those that want one, and a newline behind each."""
    lines: list[str] = []
    for block in blocks:
        if gap_between(before, block):
            lines.append("")
        lines.append(ink(render_block(block, columns=columns), columns=columns))
        before = block
    return "".join(f"{line}\n" for line in lines)


def print_blocks(blocks: Sequence[Block], console: Console) -> None:
    """Print blocks on a console of their own: styled on a terminal, plain in a pipe."""
    console.push_theme(_THEME)
    before: Block | None = None
    for block in blocks:
        if gap_between(before, block):
            console.print()
        rendered = render_block(block, columns=console.width)
        console.print(rendered, markup=False, highlight=False, emoji=False)
        before = block
