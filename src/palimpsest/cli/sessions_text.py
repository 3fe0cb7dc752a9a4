"""What ``palimpsest sessions`` prints."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from palimpsest.cli.turns import session_title
from palimpsest.cli.words import when
from palimpsest.core.wording import count
from palimpsest.formats.prompts import starts_turn
from palimpsest.lab.plain import one_line
from palimpsest.session.doctor import export_messages
from palimpsest.session.listing import Listed, ListedSession
from palimpsest.session.prompt_words import excerpts_of

MATCHES_PER_SESSION = 5
"""Matches of one session that are printed; the rest are counted."""

_AROUND = 60


def print_sessions(listed: Sequence[Listed], *, with_folder: bool) -> None:
    """Print a line or two a session."""
    console = _console()
    if not listed:
        console.print(Text("No session is stored for this project yet.", style="dim"))
    for item in listed:
        if item.kind == "broken":
            line = Text.assemble((f"{item.path.stem[:8]}  ", "bold red"), one_line(item.reason))
            console.print(line)
            continue
        console.print(_session(item))
        if with_folder:
            console.print(Text(f"          {one_line(item.header.cwd)}", style="dim"))


def as_objects(listed: Iterable[Listed]) -> list[dict[str, object]]:
    """Give what is listed as JSON objects."""
    return [_object(item) for item in listed]


def print_matches(listed: Iterable[Listed], text: str) -> bool:
    """Print the messages that hold a text; tell whether there was one."""
    console = _console()
    found = False
    for item in listed:
        matches = list(_matches(item, text))
        if not matches:
            continue
        found = True
        title = session_title(item) if item.kind == "session" else item.path.name
        console.print(Text.assemble((item.path.stem[:8], "bold"), f"  {title}"))
        for turn, words in matches[:MATCHES_PER_SESSION]:
            line = Text.assemble((f"    turn {turn}  ", "dim"), words)
            if console.is_terminal:
                line.truncate(max(1, console.width), overflow="ellipsis")
            console.print(line)
        more = len(matches) - MATCHES_PER_SESSION
        if more > 0:
            console.print(Text(f"    … {more:,} more", style="dim"))
    return found


def _console() -> Console:
    """Give the output; a program that reads it gets whole lines, however long."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def _matches(item: Listed, text: str) -> Iterator[tuple[int, str]]:
    wanted, turn = text.casefold(), 0
    for message in export_messages(item.path):
        turn += starts_turn(message)
        for row in excerpts_of(message):
            words = getattr(row, "text", "")
            at = words.casefold().find(wanted)
            if at >= 0:
                yield turn, one_line(words[max(0, at - _AROUND) : at + len(text) + _AROUND])


def _session(item: ListedSession) -> Text:
    about = [when(item.header.updated), count(item.message_count, "message")]
    if item.compactions:
        about.append(count(item.compactions, "compaction"))
    return Text.assemble(
        (f"{item.header.id[:8]}  ", "bold"), session_title(item), (f"  {' · '.join(about)}", "dim")
    )


def _object(item: Listed) -> dict[str, object]:
    if item.kind == "broken":
        return {"path": str(item.path), "code": item.code, "reason": item.reason}
    return {
        "id": item.header.id,
        "path": str(item.path),
        "cwd": item.header.cwd,
        "title": session_title(item),
        "model": item.header.model,
        "created": item.header.created,
        "updated": item.header.updated,
        "messages": item.message_count,
        "compactions": item.compactions,
        "bytes": item.bytes,
    }
