"""The ``palimpsest`` command: declares the commands, starts one, ends it with a sentence.

Each command is a function in a module of its own and imports what it needs when it is called.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from palimpsest._version import __version__
from palimpsest.cli import compact, demo, doctor, replay, web
from palimpsest.core.errors import PalimpsestError

_EXAMPLES = """\b
Examples:
  palimpsest demo
  palimpsest replay session.jsonl --html report.html
  palimpsest compact session.jsonl -o compacted.jsonl
  palimpsest --version
"""

app = typer.Typer(
    name="palimpsest",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"palimpsest {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True, epilog=_EXAMPLES)
def palimpsest(
    context: typer.Context,
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Context compaction for LLM agents that never loses a word."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command(epilog=demo.EXAMPLES)(demo.demo)
app.command(epilog=replay.EXAMPLES)(replay.replay)
app.command(epilog=compact.EXAMPLES)(compact.compact)
app.command(epilog=web.EXAMPLES)(web.web)
app.command(epilog=doctor.EXAMPLES)(doctor.doctor)


def run(commands: typer.Typer = app) -> None:
    """Run this process's command line and exit with its status.

    An error of ours, or of the operating system, ends in one sentence on stderr. A reader that
    closed the pipe ends in status 1 and silence, an interrupt in status 130; Typer sees to both.

    Raises:
        SystemExit: always.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        commands()
    except PalimpsestError as error:
        _exit(str(error), error.exit_status)
    except OSError as error:
        _forget_output()
        reason = error.strerror or str(error)
        _exit(reason if error.filename is None else f"{error.filename}: {reason}", 1)


def _forget_output() -> None:
    """Let nothing be written at exit that could not be written before."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit(sentence: str, status: int) -> None:
    """End with one line; names and values in it may come from a recording."""
    from palimpsest.lab.plain import one_line

    typer.echo(f"palimpsest: {one_line(sentence)}", err=True)
    sys.exit(status)
