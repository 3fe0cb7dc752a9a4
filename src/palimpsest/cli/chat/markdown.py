"""Markdown for a terminal: nothing is left out, nothing gets in the way of copying."""

from __future__ import annotations

from typing import ClassVar

from markdown_it import MarkdownIt
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, ListItem, Markdown, MarkdownElement, TableElement
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table

CODE_THEME = "ansi_light"
"""The terminal's own colours, the darker ones: they can be read on light and on dark."""

_PARSER = (
    MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("image")
)
"""Without HTML and images: a tag is text like any other, and an image is a link; both are shown."""


def split_prose(text: str) -> tuple[str, str]:
    """Part markdown that is still being written into what is complete and what may change.

    Complete are all blocks but the last one: a paragraph, list, table or fence may go on.
    """
    blocks = [token for token in _PARSER.parse(text) if token.level == 0 and token.map]
    starts = [token.map[0] for token in blocks if token.map and token.nesting >= 0]
    if len(starts) < 2:
        return "", text
    lines = text.splitlines(keepends=True)
    return "".join(lines[: starts[-1]]), "".join(lines[starts[-1] :])


class _PlainHeading(Heading):
    """Bold, at the left, without a box."""

    LEVEL_ALIGN: ClassVar = {}


class _PlainCode(CodeBlock):
    """Highlighted, without padding or background, so that it can be copied."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Syntax(
            str(self.text).rstrip(),
            self.lexer_name,
            theme=self.theme,
            word_wrap=True,
            background_color="default",
        )


class _PlainTable(TableElement):
    """Columns and one line under the header: no frame."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, style="dim")
        if self.header is not None and self.header.row is not None:
            for cell in self.header.row.cells:
                table.add_column(cell.content, header_style="bold")
        if self.body is not None:
            for row in self.body.rows:
                table.add_row(*(cell.content for cell in row.cells), style="not dim")
        yield table


class _NumberedItem(ListItem):
    """A numbered item with its full stop, as it was written."""

    def render_number(
        self, console: Console, options: ConsoleOptions, number: int, last_number: int
    ) -> RenderResult:
        """Yield the item, its number in front of the first line."""
        numeral = f"{number}. ".rjust(len(str(last_number)) + 2)
        for at, segment in enumerate(super().render_number(console, options, number, last_number)):
            first = at == 0 and isinstance(segment, Segment)
            yield Segment(numeral) if first else segment


class TerminalMarkdown(Markdown):
    """An answer's markdown."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _PlainHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
        "table_open": _PlainTable,
        "list_item_open": _NumberedItem,
    }

    def __init__(self, markup: str) -> None:
        super().__init__(markup, code_theme=CODE_THEME, hyperlinks=False)
        self.parsed = _PARSER.parse(markup)
