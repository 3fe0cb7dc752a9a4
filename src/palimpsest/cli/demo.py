"""``palimpsest demo``: a session lives through ten windows, in front of one's eyes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  palimpsest demo
  palimpsest demo --window 32000 --keep
"""


def demo(
    *,
    window: Annotated[
        int,
        typer.Option(min=12_000, max=200_000, metavar="TOKENS", help="Size of the context window."),
    ] = 16_000,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the scratch project and the session's file.")
    ] = False,
) -> None:
    """Watch a session outgrow its window many times. Works offline, without a key.

    A scripted agent mends ten bugs of a scratch project. Its words were written beforehand; its
    tools are real, and so are the prunings, the compactions and the check at the end.
    """
    import asyncio
    from tempfile import mkdtemp

    from palimpsest.cli.demo_text import DemoScreen
    from palimpsest.cli.termination import terminated
    from palimpsest.lab.live import Played, Watcher, play
    from palimpsest.lab.story import load_story

    screen = DemoScreen()
    scratch = Path(mkdtemp(prefix="palimpsest-demo-"))
    project, session_file = scratch / "till", scratch / "session.jsonl"

    async def perform() -> Played:
        with terminated() as came:
            try:
                return await play(
                    load_story(),
                    window=window,
                    project=project,
                    session_file=session_file,
                    watcher=Watcher(on_prompt=screen.prompt, on_event=screen.event),
                )
            except asyncio.CancelledError:
                if came():
                    raise typer.Exit(143) from None
                raise

    try:
        screen.open(window)
        played = asyncio.run(perform())
        screen.close(played)
        if keep:
            screen.kept(project, session_file)
    finally:
        if not keep:
            shutil.rmtree(scratch, ignore_errors=True)
    if played.intact < played.messages:
        raise typer.Exit(1)
