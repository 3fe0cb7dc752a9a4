"""``palimpsest show``: one session in the terminal, read only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from palimpsest.cli import suggestions

EXAMPLES = """\b
Examples:
  palimpsest show 1f3a             all turns, compactions as markers
  palimpsest show 1f3a --turn 4    one turn, tool results whole
  palimpsest show 1f3a --receipt   what the newest compaction kept
"""


def show(
    session: Annotated[
        str,
        typer.Argument(
            metavar="SESSION",
            help="Its file, or four characters or more of its id (palimpsest sessions).",
            autocompletion=suggestions.sessions,
        ),
    ],
    *,
    turn: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="One turn in full, by its number.")
    ] = None,
    receipt: Annotated[
        bool, typer.Option("--receipt", help="The newest compaction's receipt.")
    ] = False,
) -> None:
    """Show a session without opening it: nothing is locked, nothing is changed."""
    import asyncio

    from palimpsest.cli.show_text import print_receipt_of, print_session, print_turn
    from palimpsest.session.finding import find_session
    from palimpsest.session.jsonl import JsonlStore

    path = find_session(session, Path.cwd())

    async def load() -> None:
        store = await JsonlStore.open(path, read_only=True)
        try:
            loaded = await store.load()
        finally:
            await store.close()
        if receipt:
            print_receipt_of(loaded)
        elif turn is not None:
            print_turn(loaded, turn)
        else:
            print_session(loaded)

    asyncio.run(load())
