"""``palimpsest sessions``: what is stored, and what becomes of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.cli import export, suggestions
from palimpsest.cli.usage import PlainCommand, PlainGroup

if TYPE_CHECKING:
    from palimpsest.session.listing import Listed

EXAMPLES = """\b
Examples:
  palimpsest sessions                        this project's, newest first
  palimpsest sessions list --all             every project's
  palimpsest sessions search parse_date
  palimpsest sessions delete 1f3a
  palimpsest sessions export 1f3a --format openai
"""

app = typer.Typer(
    cls=PlainGroup,
    rich_markup_mode=None,
    help="List, search, delete and export stored sessions.",
    epilog=EXAMPLES,
    invoke_without_command=True,
)

_All = Annotated[bool, typer.Option("--all", help="Of every project, not only this one.")]


@app.callback()
def sessions(context: typer.Context) -> None:
    """List, search, delete and export stored sessions."""
    if context.invoked_subcommand is None:
        list_them(all_projects=False, as_json=False)


@app.command("list", cls=PlainCommand, epilog=EXAMPLES)
def list_them(
    all_projects: _All = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List sessions, newest first. Broken ones are named with what is wrong."""
    from palimpsest.cli.sessions_text import as_objects, print_sessions

    listed = _listed(all_projects)
    if as_json:
        import json

        typer.echo(json.dumps(as_objects(listed), indent=1))
    else:
        print_sessions(listed, with_folder=all_projects)


@app.command(cls=PlainCommand, epilog=EXAMPLES)
def search(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="Words that stand in a message; case is ignored.")
    ],
    all_projects: _All = False,
) -> None:
    """Find messages by their words. Whole histories are searched, summarised parts included."""
    from palimpsest.cli.sessions_text import print_matches

    if not print_matches(_listed(all_projects), text):
        typer.echo("palimpsest: no message holds that.", err=True)
        raise typer.Exit(1)


@app.command(cls=PlainCommand, epilog=EXAMPLES)
def delete(
    session: Annotated[
        str,
        typer.Argument(
            metavar="SESSION",
            help="Its file, or four characters or more of its id (palimpsest sessions).",
            autocompletion=suggestions.sessions,
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a session for good. It asks first; there is no undo."""
    from palimpsest.session.finding import delete_session, find_session

    path = find_session(session, Path.cwd())
    if not yes:
        if not can_ask():
            raise typer.BadParameter("nobody can be asked here; --yes deletes without asking.")
        if not typer.confirm(f"Delete {path.stem} for good?"):
            raise typer.Exit(1)
    delete_session(path)
    typer.echo(f"deleted {path.stem}")


app.command(
    "export",
    cls=PlainCommand,
    epilog=export.EXAMPLES,
    short_help="Write every message of a session for other programs.",
)(export.export)


def can_ask() -> bool:
    """Whether somebody sits at a terminal."""
    return sys.stdin.isatty()


def _listed(all_projects: bool) -> list[Listed]:
    from palimpsest.session.finding import list_all_sessions
    from palimpsest.session.manager import SessionManager

    return list_all_sessions() if all_projects else SessionManager.list(Path.cwd())
